import {
  CreateTopics,
  errorCodes,
  type CreateTopicsRequest,
  type CreateTopicsResponse,
  type Encodable,
  ZERO_UUID,
} from '@millrace/protocol';
import { PARTITIONS_PER_REQUEST } from '../limits.ts';
import type { BrokerServices } from '../services.ts';
import type { NewTopic } from '../topics/registry.ts';
import {
  applyConfigChanges,
  ConfigOperation,
  describeTopicConfig,
} from '../topics/topic-config.ts';
import { TopicError } from '../topics/topic-error.ts';
import { checkAssignment } from './replica-assignment.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type TopicRequest = CreateTopicsRequest['topics'][number];
type TopicResponse = Encodable<CreateTopicsResponse['topics'][number]>;

/** Reserved for the metadata of a KRaft quorum. */
const CLUSTER_METADATA_TOPIC = '__cluster_metadata';

/**
 * CreateTopics, versions 2 to 7. -1 asks for num.partitions and for the one replica there is (KIP-464;
 * older versions may say so too, as kafkajs does). An assignment by hand must put every partition on
 * this node. The answer tells count and configuration from version 5 (KIP-525), the id from 7
 * (KIP-516). Validate-only does all the checks. A topic is durable before it is acknowledged.
 */
export const createTopicsHandler: Handler<CreateTopicsRequest, CreateTopicsResponse> = {
  api: CreateTopics,
  minVersion: 2,
  maxVersion: 7,
  handle(
    request: CreateTopicsRequest,
    { broker }: RequestContext,
  ): HandlerResult<CreateTopicsResponse> {
    const excess = excessivePartitions(request, broker);
    if (excess !== null) return { topics: request.topics.map((topic) => refuse(topic, excess)) };
    const counts = new Map<string, number>();
    for (const { name } of request.topics) counts.set(name, (counts.get(name) ?? 0) + 1);
    // One answer a name: a duplicate is refused as a whole.
    const answers = [...new Map(request.topics.map((topic) => [topic.name, topic])).values()].map(
      (topic) =>
        (counts.get(topic.name) as number) > 1
          ? Promise.resolve(
              refuse(topic, new TopicError('INVALID_REQUEST', 'Duplicate topic name.')),
            )
          : createOne(topic, request.validateOnly, broker),
    );
    return Promise.all(answers).then((topics) => ({ topics }));
  },
};

/** One request could make the broker run out of files: Kafka's bound, over all its topics together. */
function excessivePartitions(
  { topics }: CreateTopicsRequest,
  { config }: BrokerServices,
): TopicError | null {
  let count = 0;
  for (const { assignments, numPartitions } of topics) {
    if (assignments.length > 0) count += assignments.length;
    else count += numPartitions === -1 ? config['num.partitions'] : Math.max(0, numPartitions);
  }
  if (count <= PARTITIONS_PER_REQUEST) return null;
  return new TopicError(
    'POLICY_VIOLATION',
    `Excessively large number of partitions per request: ${count}, at most ${PARTITIONS_PER_REQUEST} are allowed.`,
  );
}

function refuse({ name }: TopicRequest, error: TopicError): TopicResponse {
  return {
    name,
    errorCode: error.errorCode,
    errorMessage: error.message,
    numPartitions: -1,
    replicationFactor: -1,
    configs: [],
  };
}

async function createOne(
  requested: TopicRequest,
  validateOnly: boolean,
  broker: BrokerServices,
): Promise<TopicResponse> {
  try {
    const topic = newTopic(requested, broker);
    broker.topics.check(topic);
    const topicId = validateOnly ? ZERO_UUID : (await broker.topics.create(topic)).topicId;
    return {
      name: topic.name,
      topicId,
      errorCode: errorCodes.NONE,
      errorMessage: null,
      numPartitions: topic.partitionCount,
      replicationFactor: 1,
      configs: describeTopicConfig(topic.configs, broker.configs),
    };
  } catch (error) {
    if (!(error instanceof TopicError)) throw error;
    return refuse(requested, error);
  }
}

function newTopic(requested: TopicRequest, broker: BrokerServices): NewTopic {
  const { name, assignments } = requested;
  if (name === CLUSTER_METADATA_TOPIC) {
    throw new TopicError('INVALID_REQUEST', `Creation of internal topic ${name} is prohibited.`);
  }
  broker.topics.checkName(name);
  const configs = requestedConfigs(requested, broker);
  const partitionCount =
    assignments.length > 0
      ? assignedPartitionCount(requested, broker.node.nodeId)
      : requestedPartitionCount(requested, broker);
  return { name, partitionCount, configs };
}

/** Of a key that is given twice the last value counts. */
function requestedConfigs(
  { configs }: TopicRequest,
  broker: BrokerServices,
): ReadonlyMap<string, string> {
  const missing = configs.filter(({ value }) => value === null);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(', ');
    throw new TopicError('INVALID_CONFIG', `Null value not supported for topic configs: ${names}`);
  }
  const last = new Map(configs.map((config) => [config.name, config]));
  const changes = [...last.values()].map((config) => ({
    ...config,
    configOperation: ConfigOperation.set,
  }));
  const applied = applyConfigChanges(new Map(), changes, broker.configs.effective);
  broker.topics.logConfig(applied);
  return applied;
}

function requestedPartitionCount(requested: TopicRequest, broker: BrokerServices): number {
  const { numPartitions, replicationFactor } = requested;
  if (replicationFactor === 0 || replicationFactor < -1) {
    throw new TopicError('INVALID_REPLICATION_FACTOR', 'Replication factor must be larger than 0.');
  }
  if (replicationFactor > 1) {
    throw new TopicError(
      'INVALID_REPLICATION_FACTOR',
      `Unable to replicate the partition ${replicationFactor} time(s): the target replication factor ` +
        'cannot be reached because there is one broker.',
    );
  }
  if (numPartitions === 0 || numPartitions < -1) {
    throw new TopicError(
      'INVALID_PARTITIONS',
      'Number of partitions was set to an invalid non-positive value.',
    );
  }
  return numPartitions === -1 ? broker.config['num.partitions'] : numPartitions;
}

function assignedPartitionCount(requested: TopicRequest, nodeId: number): number {
  const { assignments, numPartitions, replicationFactor } = requested;
  if (numPartitions !== -1 || replicationFactor !== -1) {
    throw new TopicError(
      'INVALID_REQUEST',
      'A manual partition assignment was specified, but number of partitions and replication factor were not -1.',
    );
  }
  const indexes = new Set<number>();
  for (const { partitionIndex, brokerIds } of assignments) {
    if (indexes.has(partitionIndex)) {
      throw new TopicError(
        'INVALID_REPLICA_ASSIGNMENT',
        `Found multiple manual partition assignments for partition ${partitionIndex}`,
      );
    }
    indexes.add(partitionIndex);
    checkAssignment(brokerIds, nodeId, `partition ${partitionIndex}`);
  }
  for (let index = 0; index < indexes.size; index++) {
    if (indexes.has(index)) continue;
    throw new TopicError(
      'INVALID_REPLICA_ASSIGNMENT',
      'Partitions should be a consecutive 0-based integer sequence.',
    );
  }
  return assignments.length;
}
