import {
  topicPartitionKey,
  type ClusterAdmin,
  type GroupMemberDescription,
  type TopicPartition,
} from '@millrace/runtime/cluster';

export interface GroupPartition extends TopicPartition {
  /** The next offset to read; null if none is committed. */
  readonly committedOffset: bigint | null;
  /** Null if the topic is gone or has no leader. */
  readonly logStartOffset: bigint | null;
  readonly endOffset: bigint | null;
  /** Records to go, those of open transactions included; null if one of the two is not known. */
  readonly lag: bigint | null;
  readonly metadata: string | null;
  readonly memberId: string | null;
}

/** What is committed or assigned, by topic and partition. */
export async function groupPartitions(
  cluster: ClusterAdmin,
  groupId: string,
  members: readonly GroupMemberDescription[],
): Promise<GroupPartition[]> {
  const committed = await cluster.groups.offsets(groupId);
  const owners = new Map<string, string>();
  const partitions = new Map<string, TopicPartition>();
  for (const [key, { topic, partition }] of committed) partitions.set(key, { topic, partition });
  for (const { memberId, partitions: assigned } of members) {
    for (const each of assigned ?? []) {
      const key = topicPartitionKey(each.topic, each.partition);
      partitions.set(key, each);
      owners.set(key, memberId);
    }
  }
  const all = [...partitions.values()].sort(
    (a, b) => compare(a.topic, b.topic) || a.partition - b.partition,
  );
  const starts = await cluster.offsets.list(all.map((each) => ({ ...each, at: 'earliest' })));
  const ends = await cluster.offsets.list(all.map((each) => ({ ...each, at: 'latest' })));
  return all.map(({ topic, partition }) => {
    const key = topicPartitionKey(topic, partition);
    const start = starts.get(key);
    const end = ends.get(key);
    const own = committed.get(key);
    const committedOffset = own?.offset ?? null;
    const endOffset = typeof end === 'bigint' ? end : null;
    return {
      topic,
      partition,
      committedOffset,
      logStartOffset: typeof start === 'bigint' ? start : null,
      endOffset,
      lag: committedOffset === null || endOffset === null ? null : endOffset - committedOffset,
      metadata: own?.metadata ?? null,
      memberId: owners.get(key) ?? null,
    };
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
