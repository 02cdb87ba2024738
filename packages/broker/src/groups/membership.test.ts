import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { NEW_MEMBER_JOIN_TIMEOUT_MS } from './limits.ts';
import {
  GroupFixture,
  REBALANCE_MS,
  SESSION_MS,
  subscriptionTo,
  TestClient,
} from './test-support/group-fixture.ts';

const metadata = subscriptionTo('orders');

describe('joining', () => {
  it('sends a dynamic member back with an id from v4 on', async () => {
    const group = new GroupFixture();
    const first = group.join({}, new TestClient('app'));
    expect(first.result).toMatchObject({
      errorCode: errorCodes.MEMBER_ID_REQUIRED,
      memberId: 'app-uuid-1',
      generationId: -1,
      members: [],
    });
    expect(group.state()).toBe('Empty');
    const second = group.join({ memberId: 'app-uuid-1' });
    group.clock.advance(0);
    await group.settle();
    expect(second.result).toEqual({
      errorCode: errorCodes.NONE,
      generationId: 1,
      protocolType: 'consumer',
      protocolName: 'range',
      leader: 'app-uuid-1',
      skipAssignment: false,
      memberId: 'app-uuid-1',
      members: [{ memberId: 'app-uuid-1', groupInstanceId: null, metadata }],
    });
  });

  it('takes a member without an id at once before v4', async () => {
    const group = new GroupFixture();
    const joined = group.join({ requiresKnownMemberId: false });
    group.clock.advance(0);
    await group.settle();
    expect(joined.result).toMatchObject({ errorCode: 0, memberId: 'client-uuid-1' });
  });

  it('refuses what cannot be', () => {
    const group = new GroupFixture();
    expect(group.join({ groupId: '' }).result?.errorCode).toBe(errorCodes.INVALID_GROUP_ID);
    for (const sessionTimeoutMs of [5_999, 1_800_001, -1]) {
      expect(group.join({ sessionTimeoutMs }).result?.errorCode).toBe(
        errorCodes.INVALID_SESSION_TIMEOUT,
      );
    }
    expect(group.join({ memberId: 'nobody' }).result).toMatchObject({
      errorCode: errorCodes.UNKNOWN_MEMBER_ID,
      memberId: 'nobody',
    });
    expect(group.join({ protocols: [] }).result?.errorCode).toBe(
      errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    );
    expect(group.join({ protocolType: '' }).result?.errorCode).toBe(
      errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    );
  });

  it('refuses another protocol type, and protocols that are not shared', async () => {
    const group = new GroupFixture();
    await group.stable('a');
    expect(group.join({ protocolType: 'connect' }).result?.errorCode).toBe(
      errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    );
    expect(group.join({ protocols: [{ name: 'sticky', metadata }] }).result?.errorCode).toBe(
      errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    );
    expect(group.state()).toBe('Stable');
  });

  it('elects the protocol with most votes among those that all share', async () => {
    const group = new GroupFixture();
    const protocols = (...names: string[]) => names.map((name) => ({ name, metadata }));
    const joins = [protocols('a', 'b', 'c'), protocols('b', 'c'), protocols('c', 'b')].map(
      (offered) => group.join({ requiresKnownMemberId: false, protocols: offered }),
    );
    group.clock.advance(0);
    await group.settle();
    expect(joins.map(({ result }) => result?.protocolName)).toEqual(['b', 'b', 'b']);
  });

  it('keeps empty metadata as it is', async () => {
    const group = new GroupFixture();
    const empty = Buffer.alloc(0);
    const joined = group.join({
      requiresKnownMemberId: false,
      protocols: [{ name: 'range', metadata: empty }],
    });
    group.clock.advance(0);
    await group.settle();
    expect(joined.result?.members[0]?.metadata).toEqual(empty);
  });

  it('does not keep a request alive through the metadata', async () => {
    const group = new GroupFixture();
    const frame = Buffer.alloc(1_000, 7);
    const joined = group.join({
      requiresKnownMemberId: false,
      protocols: [{ name: 'range', metadata: frame.subarray(10, 20) }],
    });
    group.clock.advance(0);
    await group.settle();
    frame.fill(9);
    expect(joined.result?.members[0]?.metadata).toEqual(Buffer.alloc(10, 7));
  });

  it('waits for further members as long as they keep coming, up to the rebalance timeout', async () => {
    const group = new GroupFixture({ initialRebalanceDelayMs: 3_000 });
    const first = group.join({ requiresKnownMemberId: false, rebalanceTimeoutMs: 10_000 });
    group.clock.advance(2_000);
    const second = group.join({ requiresKnownMemberId: false, rebalanceTimeoutMs: 10_000 });
    group.clock.advance(1_000);
    await group.settle();
    expect(first.result).toBeUndefined();
    group.clock.advance(3_000);
    await group.settle();
    expect(first.result?.members).toHaveLength(2);
    expect(second.result).toMatchObject({ generationId: 1, members: [] });
  });

  it('keeps to group.max.size, in every state', async () => {
    const group = new GroupFixture({ maxSize: 2 });
    const [a = '', b = ''] = await group.stable('a', 'b');
    const third = group.join({ requiresKnownMemberId: false });
    expect(third.result).toMatchObject({
      errorCode: errorCodes.GROUP_MAX_SIZE_REACHED,
      memberId: '',
    });
    group.join({ memberId: a });
    expect(group.state()).toBe('PreparingRebalance');
    group.join({ memberId: b });
    await group.settle();
    expect(group.join({ requiresKnownMemberId: false }).result?.errorCode).toBe(
      errorCodes.GROUP_MAX_SIZE_REACHED,
    );
  });

  it('forgets an id that nobody comes back with', async () => {
    const group = new GroupFixture();
    const { result } = group.join();
    group.clock.advance(SESSION_MS);
    expect(group.join({ memberId: result?.memberId ?? '' }).result?.errorCode).toBe(
      errorCodes.UNKNOWN_MEMBER_ID,
    );
  });

  it('waits in a rebalance for those that were promised an id, until their session is over', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a');
    const pending = group.join();
    const rejoin = group.join({ memberId: a });
    await group.settle();
    expect(rejoin.result).toBeUndefined();
    group.clock.advance(SESSION_MS);
    await group.settle();
    expect(pending.result?.errorCode).toBe(errorCodes.MEMBER_ID_REQUIRED);
    expect(rejoin.result).toMatchObject({ errorCode: 0, generationId: 2 });
  });
});

describe('rebalancing', () => {
  it('lets a member join, moves the generation on and keeps the leader', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a');
    expect(group.state()).toBe('Stable');
    const b = group.join({ requiresKnownMemberId: false }, new TestClient('b'));
    expect(group.state()).toBe('PreparingRebalance');
    expect(group.heartbeat(a, 1)).toBe(errorCodes.REBALANCE_IN_PROGRESS);
    const again = group.join({ memberId: a });
    await group.settle();
    expect(again.result).toMatchObject({ generationId: 2, leader: a });
    expect(again.result?.members).toHaveLength(2);
    expect(b.result).toMatchObject({ generationId: 2, leader: a, members: [] });
    expect(group.heartbeat(a, 1)).toBe(errorCodes.ILLEGAL_GENERATION);
    expect(group.heartbeat(a, 2)).toBe(errorCodes.NONE);
  });

  it('answers a follower that joins with the same metadata without a rebalance, but not the leader', async () => {
    const group = new GroupFixture();
    const [a = '', b = ''] = await group.stable('a', 'b');
    expect(group.join({ memberId: b }).result).toMatchObject({
      errorCode: 0,
      generationId: 1,
      leader: a,
      members: [],
    });
    expect(group.state()).toBe('Stable');
    group.join({ memberId: a });
    expect(group.state()).toBe('PreparingRebalance');
  });

  it('rebalances when a follower changes its metadata', async () => {
    const group = new GroupFixture();
    const [, b = ''] = await group.stable('a', 'b');
    group.join({ memberId: b, protocols: [{ name: 'range', metadata: subscriptionTo('other') }] });
    expect(group.state()).toBe('PreparingRebalance');
  });

  it('repeats its answer to a member that missed it, while the assignment is computed', async () => {
    const group = new GroupFixture();
    const joined = group.join({ requiresKnownMemberId: false });
    group.clock.advance(0);
    await group.settle();
    const memberId = joined.result?.memberId ?? '';
    expect(group.state()).toBe('CompletingRebalance');
    expect(group.join({ memberId }).result).toEqual(joined.result);
    expect(group.state()).toBe('CompletingRebalance');
  });

  it('removes members that do not join in time, and elects a new leader', async () => {
    const group = new GroupFixture();
    const [a = '', b = ''] = await group.stable('a', 'b');
    const rejoin = group.join({
      memberId: b,
      protocols: [{ name: 'range', metadata: Buffer.alloc(3) }],
    });
    for (let waited = 0; waited < REBALANCE_MS; waited += 5_000) {
      expect(group.heartbeat(a, 1)).toBe(errorCodes.REBALANCE_IN_PROGRESS);
      group.clock.advance(5_000);
    }
    await group.settle();
    expect(rejoin.result).toMatchObject({ generationId: 2, leader: b, memberId: b });
    expect(rejoin.result?.members).toHaveLength(1);
    expect(group.heartbeat(a, 1)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
  });

  it('gives up a new member that waits for ever, so that a client that is still there asks again', async () => {
    const group = new GroupFixture({ initialRebalanceDelayMs: 2_000_000 });
    const joined = group.join({ requiresKnownMemberId: false, rebalanceTimeoutMs: 2_100_000 });
    group.clock.advance(NEW_MEMBER_JOIN_TIMEOUT_MS);
    await group.settle();
    expect(joined.result).toMatchObject({ errorCode: errorCodes.UNKNOWN_MEMBER_ID, memberId: '' });
    expect(group.state()).toBe('Empty');
  });

  it('ends empty when the last member leaves, and begins a new generation after it', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a');
    const left = group.coordinator.leaveGroup('g', [
      { memberId: a, groupInstanceId: null, reason: 'done' },
    ]);
    expect(left.members).toEqual([{ memberId: a, groupInstanceId: null, errorCode: 0 }]);
    expect(group.state()).toBe('Empty');
    const joined = group.join({ requiresKnownMemberId: false });
    group.clock.advance(0);
    await group.settle();
    expect(joined.result?.generationId).toBe(3);
  });

  it('leaves in a batch: one answer each, one rebalance', async () => {
    const group = new GroupFixture();
    const [a = '', b = '', c = ''] = await group.stable('a', 'b', 'c');
    const leaving = [a, 'nobody', b].map((memberId) => ({
      memberId,
      groupInstanceId: null,
      reason: null,
    }));
    const left = group.coordinator.leaveGroup('g', leaving);
    expect(left.members.map(({ errorCode }) => errorCode)).toEqual([
      0,
      errorCodes.UNKNOWN_MEMBER_ID,
      0,
    ]);
    expect(group.heartbeat(c, 1)).toBe(errorCodes.REBALANCE_IN_PROGRESS);
    expect(group.coordinator.describeGroup('g')?.members).toHaveLength(1);
  });

  it('does not rebalance because someone leaves who has only been promised an id', async () => {
    const group = new GroupFixture();
    await group.stable('a');
    const memberId = group.join().result?.memberId ?? '';
    const left = group.coordinator.leaveGroup('g', [
      { memberId, groupInstanceId: null, reason: null },
    ]);
    expect(left.members[0]?.errorCode).toBe(0);
    expect(group.state()).toBe('Stable');
  });

  it('answers whoever leaves a group that is not there', () => {
    const group = new GroupFixture();
    const left = group.coordinator.leaveGroup('none', [
      { memberId: 'm', groupInstanceId: null, reason: null },
    ]);
    expect(left.members[0]?.errorCode).toBe(errorCodes.UNKNOWN_MEMBER_ID);
  });
});

describe('sessions', () => {
  it('removes a member after its session timeout and rebalances the rest', async () => {
    const group = new GroupFixture();
    const [a = '', b = ''] = await group.stable('a', 'b');
    group.clock.advance(SESSION_MS - 1);
    expect(group.heartbeat(a, 1)).toBe(0);
    group.clock.advance(1);
    expect(group.state()).toBe('PreparingRebalance');
    expect(group.heartbeat(b, 1)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    expect(group.heartbeat(a, 1)).toBe(errorCodes.REBALANCE_IN_PROGRESS);
  });

  it('lives on heartbeats and on commits', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a');
    for (let round = 0; round < 10; round += 1) {
      group.clock.advance(SESSION_MS - 1);
      if (round % 2 === 0) expect(group.heartbeat(a, 1)).toBe(0);
      else expect(group.commit({ memberId: a, generationId: 1 })).toEqual([0]);
    }
    expect(group.state()).toBe('Stable');
  });

  it('needs no heartbeats while it waits in a rebalance', async () => {
    const group = new GroupFixture();
    const [a = '', b = ''] = await group.stable('a', 'b');
    const waiting = group.join({ memberId: a });
    for (let waited = 0; waited < 5 * SESSION_MS; waited += 5_000) {
      group.heartbeat(b, 1);
      group.clock.advance(5_000);
    }
    expect(waiting.result).toBeUndefined();
    expect(group.coordinator.describeGroup('g')?.members).toHaveLength(2);
  });
});

describe('syncing', () => {
  it('holds followers until the leader brings the assignment, which is stored first', async () => {
    const group = new GroupFixture();
    const joins = ['a', 'b'].map((name) =>
      group.join({ requiresKnownMemberId: false }, new TestClient(name)),
    );
    group.clock.advance(0);
    await group.settle();
    const [a = '', b = ''] = joins.map(({ result }) => result?.memberId);
    const follower = group.sync({ memberId: b });
    await group.settle();
    expect(follower.result).toBeUndefined();
    const stored = group.log.batches.length;
    const assignments = [a, b].map((memberId) => ({ memberId, assignment: Buffer.from(memberId) }));
    const leader = group.sync({ memberId: a, assignments });
    expect(group.log.batches).toHaveLength(stored + 1);
    await group.settle();
    expect(leader.result).toEqual({
      errorCode: 0,
      protocolType: 'consumer',
      protocolName: 'range',
      assignment: Buffer.from(a),
    });
    expect(follower.result?.assignment).toEqual(Buffer.from(b));
    expect(group.sync({ memberId: b }).result?.assignment).toEqual(Buffer.from(b));
  });

  it('gives an empty assignment to members that the leader left out', async () => {
    const group = new GroupFixture();
    const joined = group.join({ requiresKnownMemberId: false });
    group.clock.advance(0);
    await group.settle();
    const memberId = joined.result?.memberId ?? '';
    const synced = group.sync({ memberId, assignments: [] });
    await group.settle();
    expect(synced.result).toMatchObject({ errorCode: 0, assignment: Buffer.alloc(0) });
  });

  it('refuses a wrong member, generation or protocol', async () => {
    const group = new GroupFixture();
    expect(group.sync({ memberId: 'm' }).result?.errorCode).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    const [a = ''] = await group.stable('a');
    expect(group.sync({ memberId: 'm' }).result?.errorCode).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    expect(group.sync({ memberId: a, generationId: 7 }).result?.errorCode).toBe(
      errorCodes.ILLEGAL_GENERATION,
    );
    expect(group.sync({ memberId: a, protocolName: 'sticky' }).result?.errorCode).toBe(
      errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    );
    expect(group.sync({ memberId: a, protocolType: 'connect' }).result?.errorCode).toBe(
      errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    );
    expect(group.sync({ groupId: '' }).result?.errorCode).toBe(errorCodes.INVALID_GROUP_ID);
  });

  it('sends waiting members back when a rebalance begins', async () => {
    const group = new GroupFixture();
    const joins = ['a', 'b'].map((name) =>
      group.join({ requiresKnownMemberId: false }, new TestClient(name)),
    );
    group.clock.advance(0);
    await group.settle();
    const waiting = group.sync({ memberId: joins[1]?.result?.memberId ?? '' });
    group.join({ requiresKnownMemberId: false }, new TestClient('c'));
    await group.settle();
    expect(waiting.result?.errorCode).toBe(errorCodes.REBALANCE_IN_PROGRESS);
  });

  it('removes members that join but never sync, after the rebalance timeout (KAFKA-12890)', async () => {
    const group = new GroupFixture();
    const joins = ['a', 'b'].map((name) =>
      group.join({ requiresKnownMemberId: false }, new TestClient(name)),
    );
    group.clock.advance(0);
    await group.settle();
    const [a = '', b = ''] = joins.map(({ result }) => result?.memberId);
    // The leader a heartbeats, so its session never ends, but it brings no assignment.
    const waiting = group.sync({ memberId: b });
    for (let waited = 0; waited < REBALANCE_MS; waited += 5_000) {
      expect(group.heartbeat(a, 1)).toBe(0);
      group.clock.advance(5_000);
    }
    await group.settle();
    expect(waiting.result?.errorCode).toBe(errorCodes.REBALANCE_IN_PROGRESS);
    expect(group.heartbeat(a, 1)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    const rejoin = group.join({ memberId: b });
    await group.settle();
    expect(rejoin.result).toMatchObject({ generationId: 2, leader: b });
  });

  it('removes a follower of a stable group that never syncs', async () => {
    const group = new GroupFixture();
    const joins = ['a', 'b'].map((name) =>
      group.join({ requiresKnownMemberId: false }, new TestClient(name)),
    );
    group.clock.advance(0);
    await group.settle();
    const [a = '', b = ''] = joins.map(({ result }) => result?.memberId);
    group.sync({ memberId: a });
    expect(group.state()).toBe('Stable');
    for (let waited = 0; waited < REBALANCE_MS; waited += 5_000) {
      group.heartbeat(a, 1);
      group.heartbeat(b, 1);
      group.clock.advance(5_000);
    }
    expect(group.heartbeat(b, 1)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    expect(group.state()).toBe('PreparingRebalance');
  });

  it('tells everyone, and rebalances, when the assignment cannot be stored', async () => {
    const group = new GroupFixture();
    const joined = group.join({ requiresKnownMemberId: false });
    group.clock.advance(0);
    await group.settle();
    group.log.failure = new Error('disk gone');
    const memberId = joined.result?.memberId ?? '';
    const synced = group.sync({
      memberId,
      assignments: [{ memberId, assignment: Buffer.from('x') }],
    });
    await group.settle();
    expect(synced.result).toMatchObject({
      errorCode: errorCodes.UNKNOWN_SERVER_ERROR,
      assignment: Buffer.alloc(0),
    });
    expect(group.state()).toBe('PreparingRebalance');
  });
});

describe('connections that close', () => {
  it('no longer counts a member whose join was parked, and takes it back under its id', async () => {
    const group = new GroupFixture();
    const [a = '', b = ''] = await group.stable('a', 'b');
    const connection = new TestClient('b');
    const parked = group.join(
      { memberId: b, protocols: [{ name: 'range', metadata: Buffer.alloc(1) }] },
      connection,
    );
    connection.close();
    await group.settle();
    expect(parked.result?.errorCode).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    const leader = group.join({ memberId: a });
    await group.settle();
    expect(leader.result).toBeUndefined();
    const back = group.join({ memberId: b });
    await group.settle();
    expect(back.result).toMatchObject({ errorCode: 0, generationId: 2 });
    expect(leader.result?.members).toHaveLength(2);
  });

  it('lets the others go on after its session if it does not come back', async () => {
    const group = new GroupFixture();
    const [a = '', b = ''] = await group.stable('a', 'b');
    const connection = new TestClient('b');
    const protocols = [{ name: 'range', metadata: Buffer.alloc(1) }];
    group.join({ memberId: b, protocols }, connection);
    connection.close();
    const next = group.join({ memberId: a });
    await group.settle();
    expect(next.result).toBeUndefined();
    group.clock.advance(SESSION_MS);
    await group.settle();
    expect(next.result?.members).toHaveLength(1);
  });

  it('drops one that was never told its id', async () => {
    const group = new GroupFixture();
    const connection = new TestClient();
    group.join({ requiresKnownMemberId: false }, connection);
    connection.close();
    group.clock.advance(0);
    expect(group.state()).toBe('Empty');
    expect(group.coordinator.describeGroup('g')?.members).toEqual([]);
  });

  it('does not let a client in that is gone already', async () => {
    const group = new GroupFixture();
    const gone = new TestClient();
    gone.close();
    const joined = group.join({ requiresKnownMemberId: false }, gone);
    expect(joined.result?.errorCode).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    expect(group.coordinator.describeGroup('g')).toBeUndefined();
    const [a = ''] = await group.stable('a');
    expect(group.sync({ memberId: a }, gone).result?.errorCode).toBe(errorCodes.UNKNOWN_MEMBER_ID);
  });

  it('leaves no listeners on connections that live on', async () => {
    const group = new GroupFixture();
    const joined = group.join({ requiresKnownMemberId: false });
    expect(group.client.listenerCount).toBe(1);
    group.clock.advance(0);
    await group.settle();
    group.sync({ memberId: joined.result?.memberId ?? '' });
    await group.settle();
    expect(group.client.listenerCount).toBe(0);
  });

  it('ends a sync whose connection is gone, and the member with its session', async () => {
    const group = new GroupFixture();
    const joins = ['a', 'b'].map((name) =>
      group.join({ requiresKnownMemberId: false }, new TestClient(name)),
    );
    group.clock.advance(0);
    await group.settle();
    const [a = '', b = ''] = joins.map(({ result }) => result?.memberId);
    const connection = new TestClient();
    group.sync({ memberId: b }, connection);
    connection.close();
    group.clock.advance(SESSION_MS - 1);
    group.heartbeat(a, 1);
    group.clock.advance(1);
    expect(group.heartbeat(b, 1)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
  });
});

describe('closing', () => {
  it('answers whoever waits and leaves no timer', async () => {
    const group = new GroupFixture({ initialRebalanceDelayMs: 3_000 });
    const joined = group.join({ requiresKnownMemberId: false });
    group.join();
    group.coordinator.close();
    await group.settle();
    expect(joined.result?.errorCode).toBe(errorCodes.COORDINATOR_NOT_AVAILABLE);
    expect(group.join().result?.errorCode).toBe(errorCodes.COORDINATOR_NOT_AVAILABLE);
    expect(group.clock.timerCount).toBe(0);
  });
});
