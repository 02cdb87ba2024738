import {
  errorCodes,
  Metadata,
  type Encodable,
  type MetadataRequest,
  type MetadataResponse,
  ZERO_UUID,
} from '@millrace/protocol';
import {
  CLUSTER_OPERATIONS,
  OPERATIONS_NOT_ASKED,
  TOPIC_OPERATIONS,
} from '../authorized-operations.ts';
import type { BrokerServices } from '../services.ts';
import { isInternalTopic, type Topic } from '../topics/topic.ts';
import { TopicError } from '../topics/topic-error.ts';
import { topicNameProblem } from '../topics/topic-names.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type TopicRequest = NonNullable<MetadataRequest['topics']>[number];
type TopicResponse = Encodable<MetadataResponse['topics'][number]>;
type TopicAnswer = TopicResponse | Promise<TopicResponse>;

const IDS_FROM_VERSION = 12;

/**
 * Metadata, versions 0 to 13.
 *
 * Null topics ask for all (in version 0 an empty list does), an empty list for none. A topic that is
 * not there is created if both auto.create.topics.enable and the client allow it (the client may say so
 * from version 4, KIP-361 names the consumer's side); the answer waits for it, so that the first
 * metadata already tells the leader. Topics may be asked for by id from version 12 (KIP-516).
 */
export const metadataHandler: Handler<MetadataRequest, MetadataResponse> = {
  api: Metadata,
  minVersion: 0,
  maxVersion: 13,
  handle(request: MetadataRequest, context: RequestContext): HandlerResult<MetadataResponse> {
    if (context.apiVersion < IDS_FROM_VERSION && request.topics?.some(isById) === true) {
      return refuse(request);
    }
    const answers = topicAnswers(request, context);
    const isReady = (answer: TopicAnswer): answer is TopicResponse => !(answer instanceof Promise);
    if (answers.every(isReady)) return response(request, context, answers);
    return Promise.all(answers.map(async (answer) => answer)).then((topics) =>
      response(request, context, topics),
    );
  },
};

function isById({ name, topicId }: TopicRequest): boolean {
  return name === null || topicId !== ZERO_UUID;
}

/** Fields for ids were there before they could be used. */
function refuse({ topics }: MetadataRequest): Encodable<MetadataResponse> {
  return {
    brokers: [],
    clusterId: null,
    controllerId: -1,
    topics: topics?.map(({ name, topicId }) => ({
      errorCode: errorCodes.INVALID_REQUEST,
      name: name ?? '',
      topicId,
    })),
  };
}

function response(
  request: MetadataRequest,
  { broker }: RequestContext,
  topics: TopicResponse[],
): Encodable<MetadataResponse> {
  const { nodeId, host, port, clusterId } = broker.node;
  return {
    brokers: [{ nodeId, host, port }],
    clusterId,
    controllerId: nodeId,
    topics,
    clusterAuthorizedOperations: request.includeClusterAuthorizedOperations
      ? CLUSTER_OPERATIONS
      : OPERATIONS_NOT_ASKED,
  };
}

function topicAnswers(
  request: MetadataRequest,
  { apiVersion, broker }: RequestContext,
): TopicAnswer[] {
  const operations = request.includeTopicAuthorizedOperations
    ? TOPIC_OPERATIONS
    : OPERATIONS_NOT_ASKED;
  const describe = (topic: Topic): TopicResponse => describeTopic(topic, broker, operations);
  const wantsAll = request.topics === null || (apiVersion === 0 && request.topics.length === 0);
  if (wantsAll) return [...broker.topics.all()].map(describe);

  const canCreate = broker.config['auto.create.topics.enable'] && request.allowAutoTopicCreation;
  const requested = request.topics ?? [];
  // One id, and all go by id: what has only a name is left out then.
  const usesIds = requested.some(({ topicId }) => topicId !== ZERO_UUID);
  const seen = new Set<string>();
  const answers: TopicAnswer[] = [];
  for (const { name, topicId } of requested) {
    if (usesIds && topicId === ZERO_UUID) continue;
    const key = usesIds || name === null ? topicId : name;
    if (seen.has(key)) continue;
    seen.add(key);
    if (usesIds || name === null) {
      const topic = broker.topics.getById(topicId);
      answers.push(
        topic === undefined
          ? { errorCode: errorCodes.UNKNOWN_TOPIC_ID, name: null, topicId }
          : describe(topic),
      );
    } else {
      const refuseName = (errorCode: number): TopicResponse => ({
        errorCode,
        name,
        topicAuthorizedOperations: operations,
      });
      const topic = broker.topics.get(name);
      if (topic !== undefined) answers.push(describe(topic));
      else if (topicNameProblem(name) !== undefined) {
        answers.push(refuseName(errorCodes.INVALID_TOPIC_EXCEPTION));
      } else if (canCreate) {
        answers.push(
          autoCreate(name, broker).then((made) =>
            made instanceof TopicError
              ? { ...refuseName(made.errorCode), isInternal: isInternalTopic(name) }
              : describe(made),
          ),
        );
      } else {
        answers.push(refuseName(errorCodes.UNKNOWN_TOPIC_OR_PARTITION));
      }
    }
  }
  return answers;
}

function describeTopic(
  topic: Topic,
  broker: BrokerServices,
  topicAuthorizedOperations: number,
): TopicResponse {
  const nodes = [broker.node.nodeId];
  return {
    name: topic.name,
    topicId: topic.topicId,
    isInternal: topic.isInternal,
    partitions: topic.partitions.map(({ index, leaderEpoch }) => ({
      partitionIndex: index,
      leaderId: broker.node.nodeId,
      leaderEpoch,
      replicaNodes: nodes,
      isrNodes: nodes,
    })),
    topicAuthorizedOperations,
  };
}

async function autoCreate(name: string, broker: BrokerServices): Promise<Topic | TopicError> {
  try {
    if (isInternalTopic(name)) return await broker.topics.ensureInternal(name);
    return await broker.topics.create({
      name,
      partitionCount: broker.config['num.partitions'],
      configs: new Map(),
    });
  } catch (error) {
    if (!(error instanceof TopicError)) throw error;
    // Another client's request for the same topic was faster, or is about to be done: ask again.
    if (error.errorCode === errorCodes.TOPIC_ALREADY_EXISTS) {
      return broker.topics.get(name) ?? new TopicError('LEADER_NOT_AVAILABLE', error.message);
    }
    return error;
  }
}
