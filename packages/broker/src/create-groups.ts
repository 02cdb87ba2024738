import { ZERO_UUID } from '@millrace/protocol';
import type { Clock } from '@millrace/compaction';
import type { Logger } from 'pino';
import type { BrokerConfig } from './config.ts';
import { GroupCoordinator } from './groups/coordinator.ts';
import type { GroupService } from './groups/group-service.ts';
import type { TopicRegistry } from './topics/registry.ts';
import { CONSUMER_OFFSETS_TOPIC } from './topics/topic.ts';

const MINUTE_MS = 60_000;

/** The group coordinator over the registry's `__consumer_offsets`. */
export function createGroups(
  topics: TopicRegistry,
  config: BrokerConfig,
  clock: Clock,
  logger: Logger,
  newUuid: () => string,
): GroupService {
  return new GroupCoordinator({
    clock,
    logger,
    newUuid,
    config: {
      minSessionTimeoutMs: config['group.min.session.timeout.ms'],
      maxSessionTimeoutMs: config['group.max.session.timeout.ms'],
      initialRebalanceDelayMs: config['group.initial.rebalance.delay.ms'],
      maxSize: config['group.max.size'],
      offsetMetadataMaxBytes: config['offset.metadata.max.bytes'],
      offsetsRetentionMs: config['offsets.retention.minutes'] * MINUTE_MS,
      offsetsRetentionCheckIntervalMs: config['offsets.retention.check.interval.ms'],
      offsetsLoadBufferBytes: config['offsets.load.buffer.size'],
    },
    topics: {
      hasPartition: (topic, partition) => topics.partition(topic, partition) !== undefined,
      topicId: (topic) => topics.get(topic)?.topicId ?? ZERO_UUID,
    },
    offsetsTopic: {
      get partitionCount() {
        return topics.get(CONSUMER_OFFSETS_TOPIC)?.partitions.length ?? 0;
      },
      partition: (index) => topics.partition(CONSUMER_OFFSETS_TOPIC, index),
    },
  });
}
