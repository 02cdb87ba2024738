/**
 * What tools ask of a cluster, without the runtime of stream applications: its topics, configs,
 * offsets and groups, records written and read beside an application, and its local state.
 */
export { connect, type ConnectOptions } from './topics/connect.ts';
export type { KafkaClient } from './client/kafkajs/kafkajs-client.ts';
export type {
  ClusterAdmin,
  ClusterBroker,
  ClusterDescription,
} from './client/cluster/cluster-admin.ts';
export type { TopicConfigChange, TopicConfigEntry } from './client/cluster/cluster-configs.ts';
export type {
  GroupDescription,
  GroupListing,
  GroupMemberDescription,
} from './client/cluster/cluster-groups.ts';
export type { OffsetSpec, OffsetSpecs } from './client/cluster/cluster-offsets.ts';
export type {
  ClusterPartition,
  ClusterTopic,
  TopicOutcomes,
} from './client/cluster/cluster-topics.ts';
export {
  applicationMember,
  type ApplicationMember,
  type AssignedTask,
} from './assignment/application-member.ts';
export {
  describeLocalState,
  holdLocalState,
  type HeldLocalState,
  type LocalState,
  type LocalTaskState,
} from './state/directory/local-state.ts';
export { BrokerError, ConnectionError, MissingTopicError } from './client/errors.ts';
export type {
  AcknowledgedBatch,
  IsolationLevel,
  NewTopic,
  TopicPartition,
  TopicPartitionKey,
  UndeliveredBatch,
} from './client/ports.ts';
export { topicPartitionKey } from './client/ports.ts';
export { StreamsError, TimeoutError, ConfigError } from './errors.ts';
export { createLogger } from './logging/logger.ts';
export { serdes } from './serdes/serdes.ts';
export type { RecordSerde, Serde } from './serdes/serde.ts';
export {
  readTopic,
  type ReadFrom,
  type ReadRecord,
  type ReadTo,
  type TopicReaderOptions,
} from './topics/topic-reader.ts';
export { TopicWriter, type TopicWriterOptions, type WrittenRecord } from './topics/topic-writer.ts';
export { parseDurationMs, type Duration } from './duration.ts';
