// Everything for testing topologies without a broker: `@millrace/runtime/testing`.
export { TestDriverError } from './testing/test-driver-error.ts';
export { TestInputTopic } from './testing/test-input-topic.ts';
export { TestOutputTopic } from './testing/test-output-topic.ts';
export type {
  InputTopicOptions,
  PipedRecord,
  PipeOptions,
  TestRecord,
  TopicSerdes,
} from './testing/test-record.ts';
export {
  TopologyTestDriver,
  type TopologyTestDriverOptions,
} from './testing/topology-test-driver.ts';
