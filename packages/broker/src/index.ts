export { type BrokerConfigInput } from './config.ts';
export type { BrokerMetric, EmbeddedBroker } from './embedded-broker.ts';
export {
  BrokerCrashedError,
  BrokerError,
  BrokerInvariantError,
  BrokerStartError,
  BrokerStoppedError,
  ConfigError,
} from './errors.ts';
export { adminRequest, AdminRequestError } from './server/admin-client.ts';
export { startBroker, type StartBrokerOptions } from './start-broker.ts';
export { TopicsFile, type StoredTopic } from './topics/topics-file.ts';
export type { CleanedPartition, CleanerStatus, CleaningDescription } from '@millrace/compaction';
