import { BrokerInvariantError } from '../errors.ts';

/**
 * Life of a classic group, under the names that DescribeGroups and ListGroups show:
 *
 *                          rebalance
 *        ┌───────┐ ──────────────────────▶ ┌────────────────────┐ ◀──────────────┐
 *   ────▶│ Empty │                         │ PreparingRebalance │                │
 *        └───────┘ ◀────────────────────── └────────────────────┘                │
 *            │             emptied             │      ▲       │                  │
 *            │                          joined │      │       │                  │
 *            │                                 ▼      │ rebalance                │ rebalance
 *            │                        ┌─────────────────────┐ │                  │
 *            │                        │ CompletingRebalance │ │                  │
 *            │                        └─────────────────────┘ │                  │
 *            │                                 │      │       │                  │
 *            │                        assigned │      │       │                  │
 *            │                                 ▼      │       │                  │
 *            │                             ┌────────┐ │       │                  │
 *            │                             │ Stable │─┼───────┼──────────────────┘
 *            │                             └────────┘ │       │
 *            │ removed                         │      │       │   removed (from every state)
 *            ▼                                 ▼      ▼       ▼
 *        ┌──────────────────────────────────────────────────────┐
 *        │                         Dead                         │
 *        └──────────────────────────────────────────────────────┘
 *
 * Empty: no members; its offsets live on until they expire. PreparingRebalance: joins are parked until
 * all members have come or the rebalance timeout is over. CompletingRebalance: the leader computes the
 * assignment, SyncGroups are parked. Stable: everyone works. Dead: forgotten; final.
 */
export const groupStates = [
  'Empty',
  'PreparingRebalance',
  'CompletingRebalance',
  'Stable',
  'Dead',
] as const;
export type GroupState = (typeof groupStates)[number];

/**
 * rebalance: members or their metadata have changed, joins are wanted. joined: the join phase ended with
 * members. emptied: it ended without any. assigned: the leader's assignment is stored. removed: the group
 * was deleted or has expired.
 */
export const groupEvents = ['rebalance', 'joined', 'emptied', 'assigned', 'removed'] as const;
export type GroupEvent = (typeof groupEvents)[number];

/** What is not listed must not happen. */
export const groupTransitions: Readonly<
  Record<GroupState, Readonly<Partial<Record<GroupEvent, GroupState>>>>
> = {
  Empty: { rebalance: 'PreparingRebalance', removed: 'Dead' },
  PreparingRebalance: { joined: 'CompletingRebalance', emptied: 'Empty', removed: 'Dead' },
  CompletingRebalance: { rebalance: 'PreparingRebalance', assigned: 'Stable', removed: 'Dead' },
  Stable: { rebalance: 'PreparingRebalance', removed: 'Dead' },
  Dead: {},
};

export function canHappen(state: GroupState, event: GroupEvent): boolean {
  return groupTransitions[state][event] !== undefined;
}

/** Throws BrokerInvariantError where the table has no such transition. */
export function nextState(groupId: string, state: GroupState, event: GroupEvent): GroupState {
  const next = groupTransitions[state][event];
  if (next === undefined) {
    throw new BrokerInvariantError(`group ${groupId}: '${event}' cannot happen in state ${state}`);
  }
  return next;
}
