import type { FetchPort, GroupPort, TopicPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { decodePartitionMetadata, unknownPartitionMetadata } from '../commit/offsets-metadata.ts';
import { NoOffsetError } from '../errors.ts';
import type { OffsetReset } from '../topology/built-topology.ts';
import type { InputPosition } from './stream-task.ts';

/** The reset policy of a topic: the source's own, else `auto.offset.reset`. */
export type ResetPolicy = (topic: string) => OffsetReset;

/** Where the partitions start: at the committed offset, else where the reset policy says. */
export async function findInputPositions(
  partitions: readonly TopicPartition[],
  group: GroupPort,
  fetcher: FetchPort,
  resetPolicy: ResetPolicy,
): Promise<InputPosition[]> {
  const committed = await group.committed(partitions, { requireStable: false });
  const missing = partitions.filter(
    (tp) => !committed.has(topicPartitionKey(tp.topic, tp.partition)),
  );
  const resets = await resetOffsets(missing, fetcher, resetPolicy);
  return partitions.map(({ topic, partition }) => {
    const key = topicPartitionKey(topic, partition);
    const known = committed.get(key);
    return known === undefined
      ? {
          topic,
          partition,
          offset: resets.get(key) as bigint,
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
  resetPolicy: ResetPolicy,
): Promise<ReadonlyMap<string, bigint>> {
  if (partitions.length === 0) return new Map();
  const of = (policy: OffsetReset): TopicPartition[] =>
    partitions.filter(({ topic }) => resetPolicy(topic) === policy);
  const [refused] = of('none');
  if (refused !== undefined) {
    throw new NoOffsetError(
      `No valid offset is known for ${refused.topic}-${String(refused.partition)}, and its reset policy is none. ` +
        'Set auto.offset.reset or the reset policy of its source, or reset the offsets of the group',
      { context: { topic: refused.topic, partition: refused.partition } },
    );
  }
  const earliest = of('earliest');
  const latest = of('latest');
  const [beginnings, ends] = await Promise.all([
    earliest.length === 0 ? new Map<string, bigint>() : fetcher.beginningOffsets(earliest),
    latest.length === 0
      ? new Map<string, bigint>()
      : fetcher.endOffsets(latest, 'read_uncommitted'),
  ]);
  return new Map([...beginnings, ...ends]);
}
