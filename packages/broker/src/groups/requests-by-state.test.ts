import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import type { GroupState } from './states.ts';
import { GroupFixture, TestClient } from './test-support/group-fixture.ts';

interface Situation {
  readonly group: GroupFixture;
  /** A member that is known, where there is one, and its generation. */
  readonly memberId: string;
  readonly generationId: number;
}

const situations: Record<GroupState, () => Promise<Situation>> = {
  async Empty() {
    const group = new GroupFixture();
    const [memberId = ''] = await group.stable('a');
    group.coordinator.leaveGroup('g', [{ memberId, groupInstanceId: null, reason: null }]);
    return { group, memberId, generationId: 2 };
  },
  async PreparingRebalance() {
    const group = new GroupFixture();
    const [, memberId = ''] = await group.stable('a', 'b');
    group.join({ requiresKnownMemberId: false }, new TestClient('c'));
    return { group, memberId, generationId: 1 };
  },
  async CompletingRebalance() {
    const group = new GroupFixture();
    const joins = ['a', 'b'].map(() => group.join({ requiresKnownMemberId: false }));
    group.clock.advance(0);
    await group.settle();
    return { group, memberId: joins[1]?.result?.memberId ?? '', generationId: 1 };
  },
  async Stable() {
    const group = new GroupFixture();
    const [, memberId = ''] = await group.stable('a', 'b');
    return { group, memberId, generationId: 1 };
  },
  async Dead() {
    const group = new GroupFixture();
    const [memberId = ''] = await group.stable('a');
    group.coordinator.leaveGroup('g', [{ memberId, groupInstanceId: null, reason: null }]);
    group.coordinator.deleteGroups(['g']);
    return { group, memberId, generationId: 2 };
  },
};

type Outcome = number | 'parked';

const requests: Record<string, (situation: Situation) => Promise<Outcome>> = {
  async joinAsMember({ group, memberId }) {
    const join = group.join({ memberId });
    await group.settle();
    return join.result?.errorCode ?? 'parked';
  },
  async joinAsNew({ group }) {
    const join = group.join({ requiresKnownMemberId: false });
    await group.settle();
    return join.result?.errorCode ?? 'parked';
  },
  async joinWithoutId({ group }) {
    return Promise.resolve(group.join().result?.errorCode ?? 'parked');
  },
  async sync({ group, memberId, generationId }) {
    const sync = group.sync({ memberId, generationId });
    await group.settle();
    return sync.result?.errorCode ?? 'parked';
  },
  heartbeat: ({ group, memberId, generationId }) =>
    Promise.resolve(group.heartbeat(memberId, generationId)),
  heartbeatOfAnEarlierGeneration: ({ group, memberId, generationId }) =>
    Promise.resolve(group.heartbeat(memberId, generationId - 1)),
  commitAsMember: ({ group, memberId, generationId }) =>
    Promise.resolve(group.commit({ memberId, generationId })[0] ?? NaN),
  commitAsAdministrator: ({ group }) => Promise.resolve(group.commit()[0] ?? NaN),
  leave: ({ group, memberId }) =>
    Promise.resolve(
      group.coordinator.leaveGroup('g', [{ memberId, groupInstanceId: null, reason: null }])
        .members[0]?.errorCode ?? NaN,
    ),
  deleteGroup: ({ group }) =>
    Promise.resolve(group.coordinator.deleteGroups(['g'])[0]?.errorCode ?? NaN),
  deleteOffsets: ({ group }) => Promise.resolve(group.coordinator.deleteOffsets('g', []).errorCode),
};

const {
  ILLEGAL_GENERATION: oldGeneration,
  MEMBER_ID_REQUIRED: idRequired,
  NON_EMPTY_GROUP: nonEmpty,
  REBALANCE_IN_PROGRESS: rebalancing,
  UNKNOWN_MEMBER_ID: unknown,
  GROUP_ID_NOT_FOUND: notFound,
} = errorCodes;

/** Kafka's answers, by request and by the group's state. */
const expected: Record<string, Record<GroupState, Outcome>> = {
  joinAsMember: row(unknown, 'parked', 0, 0, unknown),
  joinAsNew: row('parked', 'parked', 'parked', 'parked', 'parked'),
  joinWithoutId: row(idRequired, idRequired, idRequired, idRequired, idRequired),
  sync: row(unknown, rebalancing, 'parked', 0, unknown),
  heartbeat: row(unknown, rebalancing, 0, 0, unknown),
  heartbeatOfAnEarlierGeneration: row(
    unknown,
    oldGeneration,
    oldGeneration,
    oldGeneration,
    unknown,
  ),
  commitAsMember: row(unknown, 0, rebalancing, 0, oldGeneration),
  commitAsAdministrator: row(0, unknown, unknown, unknown, 0),
  leave: row(unknown, 0, 0, 0, unknown),
  deleteGroup: row(0, nonEmpty, nonEmpty, nonEmpty, notFound),
  deleteOffsets: row(0, 0, 0, 0, notFound),
};

function row(
  Empty: Outcome,
  PreparingRebalance: Outcome,
  CompletingRebalance: Outcome,
  Stable: Outcome,
  Dead: Outcome,
): Record<GroupState, Outcome> {
  return { Empty, PreparingRebalance, CompletingRebalance, Stable, Dead };
}

describe('every request in every state', () => {
  const cells = Object.keys(requests).flatMap((request) =>
    (Object.keys(situations) as GroupState[]).map((state) => ({ request, state })),
  );
  it.each(cells)('$request × $state', async ({ request, state }) => {
    const situation = await situations[state]();
    expect(situation.group.state()).toBe(state === 'Dead' ? undefined : state);
    expect(await requests[request]?.(situation)).toBe(expected[request]?.[state]);
  });
});
