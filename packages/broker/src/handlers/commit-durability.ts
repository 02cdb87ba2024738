import { errorCodes } from '@millrace/protocol';
import type { GroupService, TopicResult } from '../groups/group-service.ts';

interface CommitAnswer {
  readonly topics: readonly TopicResult[];
}

/** A commit's answer; with flush.messages reached it waits until the commit is on disk. */
export function whenDurable(
  groups: GroupService,
  groupId: string,
  topics: readonly TopicResult[],
): CommitAnswer | Promise<CommitAnswer> {
  const isAnyCommitted = topics.some(({ partitions }) =>
    partitions.some(({ errorCode }) => errorCode === errorCodes.NONE),
  );
  const flushed = isAnyCommitted ? groups.flushIfDue(groupId) : undefined;
  if (flushed === undefined) return { topics };
  return flushed.then((flushError) => ({
    topics: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex, errorCode }) => ({
        partitionIndex,
        errorCode: errorCode === errorCodes.NONE ? flushError : errorCode,
      })),
    })),
  }));
}
