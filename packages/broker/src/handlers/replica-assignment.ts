import { TopicError } from '../topics/topic-error.ts';

/** Throws TopicError unless the partition is put on this node and no other. */
export function checkAssignment(brokerIds: readonly number[], nodeId: number, what: string): void {
  if (brokerIds.length === 1 && brokerIds[0] === nodeId) return;
  const problem =
    brokerIds.length === 0
      ? 'includes an empty replica list'
      : `names brokers ${brokerIds.slice(0, 10).join(', ')}, only broker ${nodeId} is there`;
  throw new TopicError(
    'INVALID_REPLICA_ASSIGNMENT',
    `The manual assignment of ${what} ${problem}.`,
  );
}
