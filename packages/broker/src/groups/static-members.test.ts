import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import type { JoinRequest } from './group-service.ts';
import {
  GroupFixture,
  REBALANCE_MS,
  SESSION_MS,
  TestClient,
  subscriptionTo,
} from './test-support/group-fixture.ts';

/** Two static members, `one` the leader, in generation 1. */
async function stableStatic(group: GroupFixture, overrides: Partial<JoinRequest> = {}) {
  const joins = ['one', 'two'].map((groupInstanceId) =>
    group.join({ groupInstanceId, ...overrides }),
  );
  group.clock.advance(0);
  await group.settle();
  const [one = '', two = ''] = joins.map(({ result }) => result?.memberId);
  const assignments = [one, two].map((memberId, index) => ({
    memberId,
    assignment: Buffer.from(`share ${index}`),
  }));
  group.sync({ memberId: two, groupInstanceId: 'two' });
  group.sync({ memberId: one, groupInstanceId: 'one', assignments });
  await group.settle();
  expect(group.state()).toBe('Stable');
  return { one, two };
}

describe('static members (KIP-345)', () => {
  it('gets its id at once, made from the instance id', () => {
    const group = new GroupFixture();
    group.join({ groupInstanceId: 'pod-0' });
    group.clock.advance(0);
    expect(group.coordinator.describeGroup('g')?.members[0]).toMatchObject({
      memberId: 'pod-0-uuid-1',
      groupInstanceId: 'pod-0',
    });
  });

  it('comes back without a rebalance and gets its old assignment', async () => {
    const group = new GroupFixture();
    const { two } = await stableStatic(group);
    const batches = group.log.batches.length;
    const back = group.join({ groupInstanceId: 'two' }, new TestClient('restarted'));
    expect(back.result).toMatchObject({
      errorCode: 0,
      generationId: 1,
      skipAssignment: false,
      members: [],
    });
    const memberId = back.result?.memberId ?? '';
    expect(memberId).not.toBe(two);
    expect(group.state()).toBe('Stable');
    expect(group.log.batches).toHaveLength(batches + 1);
    const synced = group.sync({ memberId, groupInstanceId: 'two' });
    expect(synced.result?.assignment).toEqual(Buffer.from('share 1'));
    expect(group.heartbeat(memberId, 1, 'two')).toBe(0);
  });

  it('fences whoever still uses the old member id', async () => {
    const group = new GroupFixture();
    const { two } = await stableStatic(group);
    group.join({ groupInstanceId: 'two' });
    const fenced = errorCodes.FENCED_INSTANCE_ID;
    expect(group.heartbeat(two, 1, 'two')).toBe(fenced);
    expect(group.sync({ memberId: two, groupInstanceId: 'two' }).result?.errorCode).toBe(fenced);
    expect(group.join({ memberId: two, groupInstanceId: 'two' }).result?.errorCode).toBe(fenced);
    expect(group.commit({ memberId: two, groupInstanceId: 'two', generationId: 1 })).toEqual([
      fenced,
    ]);
    const left = group.coordinator.leaveGroup('g', [
      { memberId: two, groupInstanceId: 'two', reason: null },
    ]);
    expect(left.members[0]?.errorCode).toBe(fenced);
    // Without the instance id it is merely unknown.
    expect(group.heartbeat(two, 1)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
  });

  it('fences a parked join of the old one', async () => {
    const group = new GroupFixture();
    const { two } = await stableStatic(group);
    group.join({ groupInstanceId: 'three' });
    const parked = group.join({ memberId: two, groupInstanceId: 'two' });
    const successor = group.join({ groupInstanceId: 'two' });
    await group.settle();
    expect(parked.result).toMatchObject({
      errorCode: errorCodes.FENCED_INSTANCE_ID,
      memberId: two,
    });
    expect(successor.result).toBeUndefined();
  });

  it('tells a returning leader to skip the assignment, with all members (KIP-814)', async () => {
    const group = new GroupFixture();
    const { one } = await stableStatic(group);
    const back = group.join({ groupInstanceId: 'one' });
    expect(back.result).toMatchObject({ skipAssignment: true, leader: back.result?.memberId });
    expect(back.result?.members).toHaveLength(2);
    const older = group.join({ groupInstanceId: 'one', supportsSkippingAssignment: false });
    expect(older.result).toMatchObject({
      skipAssignment: false,
      leader: back.result?.memberId,
      members: [],
    });
    expect(older.result?.memberId).not.toBe(one);
  });

  it('rebalances when it comes back while the assignment is computed', async () => {
    const group = new GroupFixture();
    group.join({ groupInstanceId: 'one' });
    group.clock.advance(0);
    expect(group.state()).toBe('CompletingRebalance');
    const back = group.join({ groupInstanceId: 'one' });
    await group.settle();
    expect(back.result).toMatchObject({ errorCode: 0, generationId: 2 });
  });

  it('rebalances when it comes back with a change that alters the protocol', async () => {
    const group = new GroupFixture();
    const metadata = subscriptionTo('orders');
    const both = [
      { name: 'range', metadata },
      { name: 'sticky', metadata },
    ];
    await stableStatic(group, { protocols: both });
    group.join({ groupInstanceId: 'two', protocols: [{ name: 'sticky', metadata }] });
    expect(group.state()).toBe('PreparingRebalance');
  });

  it('is not removed by a rebalance timeout, only by its session (KAFKA-8220)', async () => {
    const group = new GroupFixture();
    const { one, two } = await stableStatic(group, {
      sessionTimeoutMs: 300_000,
      rebalanceTimeoutMs: 20_000,
    });
    const rejoin = group.join({
      memberId: one,
      groupInstanceId: 'one',
      sessionTimeoutMs: 300_000,
      rebalanceTimeoutMs: 20_000,
    });
    group.clock.advance(20_000);
    await group.settle();
    expect(rejoin.result).toMatchObject({ generationId: 2, leader: one });
    expect(rejoin.result?.members.map(({ memberId }) => memberId)).toEqual([one, two]);
    group.sync({
      memberId: one,
      groupInstanceId: 'one',
      generationId: 2,
      assignments: [{ memberId: two, assignment: Buffer.from('kept for two') }],
    });
    // Neither the sync timeout nor anything else but the session ends it.
    for (let waited = 0; waited < 270_000; waited += 10_000) {
      group.heartbeat(one, 2, 'one');
      group.clock.advance(10_000);
    }
    const back = group.join({ groupInstanceId: 'two', sessionTimeoutMs: 300_000 });
    expect(back.result).toMatchObject({ errorCode: 0, generationId: 2 });
    const synced = group.sync({
      memberId: back.result?.memberId ?? '',
      groupInstanceId: 'two',
      generationId: 2,
    });
    expect(synced.result?.assignment).toEqual(Buffer.from('kept for two'));
  });

  it('uses the timeouts of the request it came back with (KAFKA-14009)', async () => {
    const group = new GroupFixture();
    const { one } = await stableStatic(group, { sessionTimeoutMs: 10_000 });
    const back = group.join({ groupInstanceId: 'two', sessionTimeoutMs: 60_000 });
    for (let waited = 0; waited < 59_000; waited += 1_000) {
      group.heartbeat(one, 1, 'one');
      group.clock.advance(1_000);
    }
    expect(group.state()).toBe('Stable');
    expect(group.heartbeat(back.result?.memberId ?? '', 1, 'two')).toBe(0);

    const shorter = new GroupFixture();
    await stableStatic(shorter, { sessionTimeoutMs: 60_000 });
    shorter.join({ groupInstanceId: 'two', sessionTimeoutMs: 7_000 });
    shorter.clock.advance(7_000);
    expect(shorter.state()).toBe('PreparingRebalance');
  });

  it('keeps the old member when the new one cannot be stored', async () => {
    const group = new GroupFixture();
    const { one, two } = await stableStatic(group);
    group.log.failure = new Error('disk gone');
    const back = group.join({ groupInstanceId: 'two' });
    expect(back.result).toMatchObject({
      errorCode: errorCodes.UNKNOWN_SERVER_ERROR,
      memberId: '',
    });
    expect(group.heartbeat(two, 1, 'two')).toBe(0);
    group.clock.advance(SESSION_MS - 1);
    group.heartbeat(one, 1, 'one');
    group.clock.advance(1);
    expect(group.heartbeat(two, 1, 'two')).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    expect(group.state()).toBe('PreparingRebalance');
  });

  it('is removed by an administrator through its instance id alone', async () => {
    const group = new GroupFixture();
    await stableStatic(group);
    const left = group.coordinator.leaveGroup('g', [
      { memberId: '', groupInstanceId: 'two', reason: 'scaled in' },
      { memberId: '', groupInstanceId: 'nobody', reason: null },
    ]);
    expect(left.members).toEqual([
      { memberId: '', groupInstanceId: 'two', errorCode: 0 },
      { memberId: '', groupInstanceId: 'nobody', errorCode: errorCodes.UNKNOWN_MEMBER_ID },
    ]);
    expect(group.coordinator.describeGroup('g')?.members).toHaveLength(1);
    expect(group.state()).toBe('PreparingRebalance');
  });

  it('waits for static members when none of them has joined, without turning in circles', async () => {
    const group = new GroupFixture();
    const terms = { sessionTimeoutMs: 300_000, rebalanceTimeoutMs: 1 };
    await stableStatic(group, terms);
    const joined = group.join({ groupInstanceId: 'three', ...terms });
    group.coordinator.leaveGroup('g', [{ memberId: '', groupInstanceId: 'three', reason: null }]);
    group.clock.advance(REBALANCE_MS);
    await group.settle();
    expect(joined.result?.errorCode).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    expect(group.coordinator.describeGroup('g')?.members).toHaveLength(2);
    expect(group.state()).toBe('PreparingRebalance');
  });
});
