import {
  CreatePartitions,
  errorCodes,
  type CreatePartitionsRequest,
  type CreatePartitionsResponse,
  type Encodable,
} from '@millrace/protocol';
import { PARTITIONS_PER_REQUEST } from '../limits.ts';
import type { BrokerServices } from '../services.ts';
import { TopicError } from '../topics/topic-error.ts';
import { checkAssignment } from './replica-assignment.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type TopicRequest = CreatePartitionsRequest['topics'][number];
type Result = Encodable<CreatePartitionsResponse['results'][number]>;

/**
 * CreatePartitions, versions 0 to 3 (KIP-195): `count` is the new total. Partitions cannot be taken
 * away. An assignment by hand names this node for each new partition. The partitions of internal topics
 * are not changed: the coordinators find their groups by their number.
 */
export const createPartitionsHandler: Handler<CreatePartitionsRequest, CreatePartitionsResponse> = {
  api: CreatePartitions,
  minVersion: 0,
  maxVersion: 3,
  handle(
    request: CreatePartitionsRequest,
    { broker }: RequestContext,
  ): HandlerResult<CreatePartitionsResponse> {
    const counts = new Map<string, number>();
    for (const { name } of request.topics) counts.set(name, (counts.get(name) ?? 0) + 1);
    const answers = [...new Map(request.topics.map((topic) => [topic.name, topic])).values()].map(
      (topic) =>
        extend(topic, (counts.get(topic.name) as number) > 1, request.validateOnly, broker),
    );
    return Promise.all(answers).then((results) => ({ results }));
  },
};

async function extend(
  requested: TopicRequest,
  isDuplicate: boolean,
  validateOnly: boolean,
  broker: BrokerServices,
): Promise<Result> {
  const { name, count } = requested;
  try {
    if (isDuplicate) throw new TopicError('INVALID_REQUEST', 'Duplicate topic name.');
    const topic = broker.topics.get(name);
    if (topic === undefined) {
      throw new TopicError('UNKNOWN_TOPIC_OR_PARTITION', `Topic '${name}' does not exist.`);
    }
    if (topic.isInternal) {
      throw new TopicError('INVALID_TOPIC_EXCEPTION', `Topic '${name}' is internal.`);
    }
    checkCount(requested, topic.partitions.length, broker.node.nodeId);
    if (!validateOnly) await broker.topics.addPartitions(topic, count);
    return { name, errorCode: errorCodes.NONE };
  } catch (error) {
    if (!(error instanceof TopicError)) throw error;
    return { name, errorCode: error.errorCode, errorMessage: error.message };
  }
}

function checkCount(
  { name, count, assignments }: TopicRequest,
  current: number,
  nodeId: number,
): void {
  if (count === current) {
    throw new TopicError('INVALID_PARTITIONS', `Topic already has ${current} partition(s).`);
  }
  if (count < current) {
    throw new TopicError(
      'INVALID_PARTITIONS',
      `The topic ${name} currently has ${current} partition(s); ${count} would not be an increase.`,
    );
  }
  if (count > PARTITIONS_PER_REQUEST) {
    throw new TopicError(
      'POLICY_VIOLATION',
      `The topic ${name} would have ${count} partitions, at most ${PARTITIONS_PER_REQUEST} are allowed.`,
    );
  }
  if (assignments === null) return;
  if (assignments.length !== count - current) {
    throw new TopicError(
      'INVALID_REPLICA_ASSIGNMENT',
      `Attempted to add ${count - current} additional partition(s), but only ${assignments.length} assignment(s) were specified.`,
    );
  }
  assignments.forEach(({ brokerIds }, index) => {
    checkAssignment(brokerIds, nodeId, `partition ${current + index}`);
  });
}
