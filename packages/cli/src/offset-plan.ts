import {
  BrokerError,
  StreamsError,
  topicPartitionKey,
  type ClusterAdmin,
  type OffsetSpec,
  type TopicPartition,
  type TopicPartitionKey,
} from '@millrace/runtime/cluster';
import { CommandError } from './errors.ts';
import { resetOffset, type ResetTarget } from './reset-target.ts';
import { counted } from './table.ts';

export interface PlannedOffset extends TopicPartition {
  readonly committedOffset: bigint | null;
  readonly newOffset: bigint;
  readonly logStartOffset: bigint;
  readonly endOffset: bigint;
  /** What the committed offset had. */
  readonly metadata: string;
}

/** Or each partition to an offset of its own. */
export type PlanTarget =
  ResetTarget | { readonly kind: 'each'; readonly offsets: ReadonlyMap<TopicPartitionKey, bigint> };

export type CommittedOffsets = Awaited<ReturnType<ClusterAdmin['groups']['offsets']>>;

/** Where each partition goes, by topic and partition. @throws CommandError */
export async function planOffsets(
  cluster: ClusterAdmin,
  target: PlanTarget,
  partitions: readonly TopicPartition[],
  committed: CommittedOffsets,
): Promise<PlannedOffset[]> {
  const ask = (at: OffsetSpec): Promise<ReadonlyMap<string, bigint>> =>
    offsetsAt(cluster, partitions, at);
  const starts = await ask('earliest');
  const ends = await ask('latest');
  const times = target.kind === 'time' ? await ask(target.timestampMs) : new Map<string, bigint>();
  const unshiftable: string[] = [];
  const plan: PlannedOffset[] = [];
  for (const { topic, partition } of partitions) {
    const key = topicPartitionKey(topic, partition);
    const own = committed.get(key);
    const atTime = times.get(key) ?? -1n;
    const state = {
      committedOffset: own?.offset ?? null,
      logStartOffset: starts.get(key) ?? 0n,
      endOffset: ends.get(key) ?? 0n,
    };
    const offsetAtTime = atTime < 0n ? null : atTime;
    const newOffset = resetOffset(targetFor(target, key), { ...state, offsetAtTime });
    if (newOffset === null) {
      unshiftable.push(key);
    } else {
      plan.push({ topic, partition, ...state, newOffset, metadata: own?.metadata ?? '' });
    }
  }
  if (unshiftable.length > 0) {
    throw new CommandError(
      'COMMAND_REFUSED',
      `There is no committed offset to shift from for ${unshiftable.join(', ')}; give --to-offset or another target.`,
    );
  }
  return plan.sort((a, b) =>
    a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition,
  );
}

/** @throws CommandError for a partition without an offset of its own */
function targetFor(target: PlanTarget, key: TopicPartitionKey): ResetTarget {
  if (target.kind !== 'each') return target;
  const offset = target.offsets.get(key);
  if (offset !== undefined) return { kind: 'offset', offset };
  throw new CommandError('COMMAND_REFUSED', `No offset is given for ${key}.`);
}

async function offsetsAt(
  cluster: ClusterAdmin,
  partitions: readonly TopicPartition[],
  at: OffsetSpec,
): Promise<ReadonlyMap<string, bigint>> {
  const found = await cluster.offsets.list(partitions.map((each) => ({ ...each, at })));
  const offsets = new Map<string, bigint>();
  for (const [key, offset] of found) {
    if (offset instanceof StreamsError) throw offset;
    offsets.set(key, offset);
  }
  return offsets;
}

/**
 * Commits the plan for a group without members.
 *
 * @param active the error if it has some again: one that joined since the plan was made makes the
 *   brokers refuse it
 */
export async function commitPlan(
  cluster: ClusterAdmin,
  groupId: string,
  plan: readonly PlannedOffset[],
  active: () => CommandError,
): Promise<void> {
  const outcomes = await cluster.groups.alterOffsets(
    groupId,
    plan.map(({ topic, partition, newOffset, metadata }) => ({
      topic,
      partition,
      offset: newOffset,
      metadata,
    })),
  );
  const failures = [...outcomes.values()].filter((error) => error !== null);
  if (failures.length === 0) return;
  const isActive = failures.some(
    (error) => error instanceof BrokerError && error.kafkaName === 'UNKNOWN_MEMBER_ID',
  );
  if (isActive) throw active();
  const lines = failures.map((error) => error.message);
  throw new CommandError(
    'COMMAND_REFUSED',
    `${counted(failures.length, 'offset')} of ${plan.length} could not be set:\n${lines.join('\n')}`,
  );
}
