import type { BrokerConfig } from '../config.ts';
import { BrokerInvariantError } from '../errors.ts';
import { LEAST_SEGMENT_BYTES } from '../limits.ts';
import type { NewTopic } from './registry.ts';
import { CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC } from './topic.ts';

/** The internal topics with the configuration that Kafka gives them. */
export function internalTopic(name: string, config: BrokerConfig): NewTopic {
  switch (name) {
    case CONSUMER_OFFSETS_TOPIC:
      return {
        name,
        partitionCount: config['offsets.topic.num.partitions'],
        configs: new Map([
          ['cleanup.policy', 'compact'],
          ['compression.type', 'producer'],
          segmentBytes(config['offsets.topic.segment.bytes']),
        ]),
      };
    case TRANSACTION_STATE_TOPIC:
      return {
        name,
        partitionCount: config['transaction.state.log.num.partitions'],
        configs: new Map([
          ['cleanup.policy', 'compact'],
          ['compression.type', 'uncompressed'],
          ['min.insync.replicas', '1'],
          ['unclean.leader.election.enable', 'false'],
          segmentBytes(config['transaction.state.log.segment.bytes']),
        ]),
      };
    default:
      throw new BrokerInvariantError(`${name} is no internal topic`);
  }
}

/** Small segments, as tests want them, are not for `segment.bytes`. */
function segmentBytes(bytes: number): [string, string] {
  const name = bytes < LEAST_SEGMENT_BYTES ? 'internal.segment.bytes' : 'segment.bytes';
  return [name, String(bytes)];
}
