import type { AdminPort, FetchPort, TopicPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { MissingSourceTopicError } from '../errors.ts';
import type { GlobalTopology } from '../topology/built-topology.ts';

/** A partition of a global topic, as it was when it was looked up. */
export interface GlobalPartition extends TopicPartition {
  readonly storeName: string;
  readonly topicId: string | null;
  readonly beginning: bigint;
  /** What may be read ends here: for a reader of committed records this may lie before the log's end. */
  readonly end: bigint;
  readonly logEnd: bigint;
}

/** @throws MissingSourceTopicError naming all topics that are not there */
export async function lookUpGlobalTopics(
  { storeOfTopic }: GlobalTopology,
  admin: AdminPort,
  fetcher: FetchPort,
  isolationLevel: 'read_committed' | 'read_uncommitted',
): Promise<readonly GlobalPartition[]> {
  const known = await admin.describeTopics([...storeOfTopic.keys()]);
  const missing = [...storeOfTopic].filter(([topic]) => !known.has(topic));
  if (missing.length > 0) {
    const names = missing.map(([topic, store]) => `${topic} (for the global store ${store})`);
    throw new MissingSourceTopicError(
      `These topics of global stores do not exist: ${names.join(', ')}. Create them before the application starts`,
      { context: { topics: missing.map(([topic]) => topic).join(',') } },
    );
  }
  const partitions = [...known.values()].flatMap(({ topic, topicId, partitionCount }) =>
    Array.from({ length: partitionCount }, (_, partition) => ({
      topic,
      topicId,
      partition,
      storeName: storeOfTopic.get(topic) as string,
    })),
  );
  const logEnding = fetcher.endOffsets(partitions, 'read_uncommitted');
  const [beginnings, logEnds, ends] = await Promise.all([
    fetcher.beginningOffsets(partitions),
    logEnding,
    isolationLevel === 'read_uncommitted'
      ? logEnding
      : fetcher.endOffsets(partitions, isolationLevel),
  ]);
  return partitions.map((partition) => {
    const key = topicPartitionKey(partition.topic, partition.partition);
    return {
      ...partition,
      beginning: beginnings.get(key) ?? 0n,
      end: ends.get(key) ?? 0n,
      logEnd: logEnds.get(key) ?? 0n,
    };
  });
}
