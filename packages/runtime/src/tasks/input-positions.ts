import type { FetchPort, GroupPort, TopicPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { decodePartitionMetadata, unknownPartitionMetadata } from '../commit/offsets-metadata.ts';
import { NoOffsetError } from '../errors.ts';
import type { OffsetReset } from '../topology/built-topology.ts';
import type { InputPosition } from './stream-task.ts';

/** Where partitions begin without a committed offset. */
export interface Resets {
  /** The source's own policy, else `auto.offset.reset`. */
  policy(topic: string): OffsetReset;
  /** Epoch ms, which durations are counted back from. */
  nowMs(): number;
}

/** Where the partitions start: at the committed offset, else where the reset policy says. */
export async function findInputPositions(
  partitions: readonly TopicPartition[],
  group: GroupPort,
  fetcher: FetchPort,
  resets: Resets,
  /** Exactly once: while a transaction holds an offset, it is waited for. */
  requireStable: boolean,
): Promise<InputPosition[]> {
  const committed = await group.committed(partitions, { requireStable });
  const missing = partitions.filter(
    (tp) => !committed.has(topicPartitionKey(tp.topic, tp.partition)),
  );
  const starts = await resetOffsets(missing, fetcher, resets);
  return partitions.map(({ topic, partition }) => {
    const key = topicPartitionKey(topic, partition);
    const known = committed.get(key);
    return known === undefined
      ? {
          topic,
          partition,
          offset: starts.get(key) as bigint,
          committed: null,
          metadata: unknownPartitionMetadata,
        }
      : {
          topic,
          partition,
          offset: known.offset,
          committed: known.offset,
          metadata: decodePartitionMetadata(known.metadata),
        };
  });
}

/** Offsets by the reset policy; `none` is an error that names the partition. */
export async function resetOffsets(
  partitions: readonly TopicPartition[],
  fetcher: FetchPort,
  resets: Resets,
): Promise<ReadonlyMap<string, bigint>> {
  if (partitions.length === 0) return new Map();
  const of = (policy: OffsetReset): TopicPartition[] =>
    partitions.filter(({ topic }) => resets.policy(topic) === policy);
  const [refused] = of('none');
  if (refused !== undefined) {
    throw new NoOffsetError(
      `No valid offset is known for ${refused.topic}-${String(refused.partition)}, and its reset policy is none. ` +
        'Set auto.offset.reset or the reset policy of its source, or reset the offsets of the group',
      { context: { topic: refused.topic, partition: refused.partition } },
    );
  }
  const earliest = of('earliest');
  const byTime = await offsetsByTime(partitions, fetcher, resets);
  const latest = [
    ...of('latest'),
    ...partitions.filter(({ topic, partition }) => {
      const isByTime = typeof resets.policy(topic) !== 'string';
      return isByTime && !byTime.has(topicPartitionKey(topic, partition));
    }),
  ];
  const [beginnings, ends] = await Promise.all([
    earliest.length === 0 ? new Map<string, bigint>() : fetcher.beginningOffsets(earliest),
    latest.length === 0
      ? new Map<string, bigint>()
      : fetcher.endOffsets(latest, 'read_uncommitted'),
  ]);
  return new Map([...beginnings, ...ends, ...byTime]);
}

/** Where a policy goes by time and the partition has a record that is young enough. */
async function offsetsByTime(
  partitions: readonly TopicPartition[],
  fetcher: FetchPort,
  resets: Resets,
): Promise<ReadonlyMap<string, bigint>> {
  const nowMs = resets.nowMs();
  const queries = partitions.flatMap(({ topic, partition }) => {
    const policy = resets.policy(topic);
    if (typeof policy === 'string') return [];
    return [{ topic, partition, timestampMs: Math.max(nowMs - policy.byDurationMs, 0) }];
  });
  return queries.length === 0 ? new Map() : await fetcher.offsetsForTimestamps(queries);
}
