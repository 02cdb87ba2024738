import { randomUUID } from 'node:crypto';
import { ZERO_UUID } from '@millrace/protocol';
import type { BrokerConfig } from '../config.ts';
import type { BrokerServices } from '../services.ts';
import { CONSUMER_OFFSETS_TOPIC } from '../topics/topic.ts';
import { GroupCoordinator } from './coordinator.ts';
import type { GroupConfig } from './group-config.ts';
import type { GroupService } from './group-service.ts';

const MINUTE_MS = 60_000;

/**
 * The group service of a broker, over its topics. `load()` is to be called once the logs are open and
 * before clients are let in, `close()` before the logs are closed.
 */
export function createGroupService(
  broker: Pick<BrokerServices, 'clock' | 'logger' | 'config' | 'topics'>,
): GroupService {
  const { clock, logger, config, topics } = broker;
  const coordinator = new GroupCoordinator({
    clock,
    logger,
    config: groupConfig(config),
    topics: {
      hasPartition: (topic, partition) => topics.partition(topic, partition) !== undefined,
      topicId: (topic) => topics.get(topic)?.topicId ?? ZERO_UUID,
    },
    offsetsTopic: {
      get partitionCount() {
        return topics.get(CONSUMER_OFFSETS_TOPIC)?.partitions.length ?? 0;
      },
      log: (partition) => topics.partition(CONSUMER_OFFSETS_TOPIC, partition)?.log,
    },
    newUuid: randomUUID,
  });
  topics.onDeleted(({ name }) => {
    coordinator.onTopicDeleted(name);
  });
  return coordinator;
}

function groupConfig(config: BrokerConfig): GroupConfig {
  return {
    minSessionTimeoutMs: config['group.min.session.timeout.ms'],
    maxSessionTimeoutMs: config['group.max.session.timeout.ms'],
    initialRebalanceDelayMs: config['group.initial.rebalance.delay.ms'],
    maxSize: config['group.max.size'],
    offsetMetadataMaxBytes: config['offset.metadata.max.bytes'],
    offsetsRetentionMs: config['offsets.retention.minutes'] * MINUTE_MS,
    offsetsRetentionCheckIntervalMs: config['offsets.retention.check.interval.ms'],
    offsetsLoadBufferBytes: config['offsets.load.buffer.size'],
  };
}
