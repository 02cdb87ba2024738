import {
  DeleteTopics,
  errorCodes,
  type DeleteTopicsRequest,
  type DeleteTopicsResponse,
  type Encodable,
  ZERO_UUID,
} from '@millrace/protocol';
import type { Topic } from '../topics/topic.ts';
import { TopicError } from '../topics/topic-error.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type TopicResponse = Encodable<DeleteTopicsResponse['responses'][number]>;

interface Requested {
  readonly name: string | null;
  readonly topicId: string;
}

const TOPICS_BY_ID_FROM_VERSION = 6;
const DELETION_DISABLED_FROM_VERSION = 3;

/**
 * DeleteTopics, versions 1 to 6. By name, or from version 6 by name or id (KIP-516). A topic is gone
 * for everyone before it is acknowledged, and durably so; its files follow after file.delete.delay.ms.
 * Internal topics are kept: the coordinators live in them.
 */
export const deleteTopicsHandler: Handler<DeleteTopicsRequest, DeleteTopicsResponse> = {
  api: DeleteTopics,
  minVersion: 1,
  maxVersion: 6,
  handle(
    request: DeleteTopicsRequest,
    context: RequestContext,
  ): HandlerResult<DeleteTopicsResponse> {
    const requested: Requested[] =
      context.apiVersion >= TOPICS_BY_ID_FROM_VERSION
        ? request.topics
        : request.topicNames.map((name) => ({ name, topicId: ZERO_UUID }));
    const counts = new Map<string, number>();
    for (const one of requested) {
      const key = keyOf(one, context);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    // One answer a topic: a duplicate is refused as a whole.
    const distinct = new Map(requested.map((one) => [keyOf(one, context), one]));
    const answers = [...distinct.values()].map((one) =>
      (counts.get(keyOf(one, context)) as number) > 1
        ? Promise.resolve(refuse(one, errorCodes.INVALID_REQUEST, 'Duplicate topic.'))
        : deleteOne(one, context),
    );
    return Promise.all(answers).then((responses) => ({ responses }));
  },
};

/** Name and id of one topic count as the same request. */
function keyOf({ name, topicId }: Requested, { broker }: RequestContext): string {
  return name ?? broker.topics.getById(topicId)?.name ?? topicId;
}

function refuse(one: Requested, errorCode: number, errorMessage: string): TopicResponse {
  return { ...one, errorCode, errorMessage };
}

async function deleteOne(one: Requested, context: RequestContext): Promise<TopicResponse> {
  const { apiVersion, broker } = context;
  const { name, topicId } = one;
  if (name !== null && topicId !== ZERO_UUID) {
    return refuse(
      one,
      errorCodes.INVALID_REQUEST,
      'You may not specify both topic name and topic id.',
    );
  }
  if (name === null && topicId === ZERO_UUID) {
    return refuse(one, errorCodes.INVALID_REQUEST, 'Neither topic name nor id were specified.');
  }
  if (!broker.config['delete.topic.enable']) {
    const code =
      apiVersion < DELETION_DISABLED_FROM_VERSION
        ? errorCodes.INVALID_REQUEST
        : errorCodes.TOPIC_DELETION_DISABLED;
    return refuse(one, code, 'Topic deletion is disabled (delete.topic.enable).');
  }
  const topic: Topic | undefined =
    name === null ? broker.topics.getById(topicId) : broker.topics.get(name);
  if (topic === undefined) {
    return name === null
      ? refuse(one, errorCodes.UNKNOWN_TOPIC_ID, 'This server does not host this topic ID.')
      : refuse(one, errorCodes.UNKNOWN_TOPIC_OR_PARTITION, `Topic '${name}' does not exist.`);
  }
  if (topic.isInternal) {
    return refuse(one, errorCodes.INVALID_TOPIC_EXCEPTION, `Topic '${topic.name}' is internal.`);
  }
  try {
    await broker.topics.delete(topic);
    return { name: topic.name, topicId: topic.topicId };
  } catch (error) {
    if (!(error instanceof TopicError)) throw error;
    return refuse(one, error.errorCode, error.message);
  }
}
