import { errorCodes } from '@millrace/protocol';
import type { GroupAdministration } from './administration.ts';
import type { Group } from './group.ts';
import type { GroupContext } from './group-context.ts';
import type { GroupTable } from './group-table.ts';
import { EXPIRY_SLICE_GROUPS } from './limits.ts';
import type { OffsetOperations } from './offset-operations.ts';
import { Delay } from '../timers.ts';
import type { GroupConfig } from './group-config.ts';
import type { CommittedOffset, OffsetStore } from './offsets.ts';

/**
 * When a group's offsets begin to age: an empty group's all together, from the time it became empty
 * (from its last commit where that is not known); a simple group's each from its commit; a stable
 * consumer group's, for topics it no longer asks for, each from its commit. null: not now.
 */
function agesSince(group: Group): ((committed: CommittedOffset) => number) | null {
  if (group.protocolType === null) return ({ commitTimestamp }) => commitTimestamp;
  if (group.state === 'Empty') {
    const { stateTimestamp } = group;
    return ({ commitTimestamp }) => (stateTimestamp === -1 ? commitTimestamp : stateTimestamp);
  }
  if (group.state === 'Stable' && group.usesConsumerProtocol && group.subscribedTopics !== null) {
    return ({ commitTimestamp }) => commitTimestamp;
  }
  return null;
}

interface Expired {
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[];
  /** Nothing is left then, so an empty group can go, too. */
  readonly isAll: boolean;
}

/** What of a group's offsets is older than `offsets.retention.minutes` (KIP-211). */
function findExpired(
  group: Group,
  offsets: OffsetStore,
  config: GroupConfig,
  now: number,
): Expired {
  const { groupId } = group;
  const committed = offsets.ofGroup(groupId);
  const hasOpenTransaction = offsets.hasOpenTransaction(groupId);
  if (committed === undefined) return { partitions: [], isAll: !hasOpenTransaction };
  const since = agesSince(group);
  if (since === null) return { partitions: [], isAll: false };
  const partitions: { topic: string; partition: number }[] = [];
  let isAll = !hasOpenTransaction;
  for (const [topic, partition, offset] of committed.partitions()) {
    const isExpired =
      offset.expireTimestamp === -1
        ? now - since(offset) >= config.offsetsRetentionMs
        : now >= offset.expireTimestamp;
    if (
      isExpired &&
      !group.isSubscribedTo(topic) &&
      !offsets.hasPending(groupId, topic, partition)
    ) {
      partitions.push({ topic, partition });
    } else {
      isAll = false;
    }
  }
  return { partitions, isAll };
}

/** Looks for expired offsets every `offsets.retention.check.interval.ms`, some groups per turn of the loop. */
export class OffsetExpiry {
  readonly #context: GroupContext;
  readonly #groups: GroupTable;
  readonly #offsets: OffsetStore;
  readonly #operations: OffsetOperations;
  readonly #administration: GroupAdministration;
  readonly #delay: Delay;

  constructor(
    context: GroupContext,
    groups: GroupTable,
    offsets: OffsetStore,
    operations: OffsetOperations,
    administration: GroupAdministration,
  ) {
    this.#context = context;
    this.#groups = groups;
    this.#offsets = offsets;
    this.#operations = operations;
    this.#administration = administration;
    this.#delay = new Delay(context.clock);
  }

  start(): void {
    this.#delay.start(this.#context.config.offsetsRetentionCheckIntervalMs, () => {
      this.#pass([...this.#groups.all()], 0);
    });
  }

  stop(): void {
    this.#delay.cancel();
  }

  #pass(groups: readonly Group[], start: number): void {
    const end = Math.min(start + EXPIRY_SLICE_GROUPS, groups.length);
    for (const group of groups.slice(start, end)) this.#expire(group);
    if (end === groups.length) {
      this.start();
      return;
    }
    this.#delay.start(0, () => {
      this.#pass(groups, end);
    });
  }

  #expire(group: Group): void {
    const { config, clock, logger } = this.#context;
    const { groupId } = group;
    if (this.#groups.get(groupId) !== group) return;
    const { partitions, isAll } = findExpired(group, this.#offsets, config, clock.now());
    if (partitions.length > 0) {
      const errorCode = this.#operations.deletePartitions(groupId, partitions);
      if (errorCode !== errorCodes.NONE) return;
      logger.info({ groupId, offsets: partitions.length }, 'offsets have expired');
    }
    // Someone who was given a member id is about to come back with it.
    if (isAll && group.state === 'Empty' && group.pendingMembers.size === 0) {
      this.#administration.deleteEmpty(group);
    }
  }
}
