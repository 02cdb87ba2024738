import type { Group } from './group.ts';
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

export interface Expiry {
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[];
  /** Nothing is left then, so an empty group can go, too. */
  readonly isAll: boolean;
}

/** What of a group's offsets is older than `offsets.retention.minutes` (KIP-211). */
export function findExpired(
  group: Group,
  offsets: OffsetStore,
  config: GroupConfig,
  now: number,
): Expiry {
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
