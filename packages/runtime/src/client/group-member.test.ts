import { describe, expect, it } from 'vitest';
import {
  ConsumerProtocolAssignment,
  FindCoordinator,
  Heartbeat,
  JoinGroup,
  LeaveGroup,
  OffsetCommit,
  OffsetFetch,
  SyncGroup,
  encodeVersioned,
  errorCodes,
} from '@millrace/protocol';
import type { JoinGroupRequest, OffsetFetchRequest } from '@millrace/protocol';
import {
  AssignmentVersionError,
  InvariantError,
  RebalanceInProgressError,
  TaskMigratedError,
  TimeoutError,
} from '../errors.ts';
import { silentLogger } from '../logging/logger.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { ConnectionError } from './errors.ts';
import { GroupMember } from './group-member.ts';
import { memberTransitions } from './group-states.ts';
import type { GroupOptions } from './ports.ts';
import { FakeTransport } from './testing-support/fake-transport.ts';

const offset = { topic: 'in', partition: 0, offset: 42n, metadata: 'm' };
const offsets = new Map([['in-0', offset]]);

interface Coordinator {
  generation: number;
  memberId: string;
  /** Codes to answer with, in turn; then 0. */
  readonly join: number[];
  readonly sync: number[];
  readonly heartbeat: number[];
  readonly commit: number[];
  readonly find: number[];
  readonly fetch: number[];
  nodeId: number;
}

function setUp(options: Partial<GroupOptions> = {}) {
  const clock = new FakeClock();
  const transport = new FakeTransport();
  const coordinator: Coordinator = {
    generation: 0,
    memberId: 'member-1',
    join: [],
    sync: [],
    heartbeat: [],
    commit: [],
    find: [],
    fetch: [],
    nodeId: 1,
  };
  transport.on(FindCoordinator, () => ({
    errorCode: coordinator.find.shift() ?? 0,
    nodeId: coordinator.nodeId,
    host: 'fake',
    port: coordinator.nodeId,
  }));
  transport.on(JoinGroup, ({ body }) => {
    if (body.memberId === '' && body.groupInstanceId === null) {
      return { errorCode: errorCodes.MEMBER_ID_REQUIRED, memberId: coordinator.memberId };
    }
    const errorCode = coordinator.join.shift() ?? 0;
    if (errorCode !== 0) return { errorCode };
    const memberId = body.memberId === '' ? coordinator.memberId : body.memberId;
    const metadata = body.protocols[0]?.metadata ?? Buffer.alloc(0);
    return {
      errorCode,
      generationId: ++coordinator.generation,
      protocolName: 'millrace',
      leader: memberId,
      memberId,
      members: [{ memberId, groupInstanceId: body.groupInstanceId, metadata }],
    };
  });
  transport.on(SyncGroup, ({ body }) => ({
    errorCode: coordinator.sync.shift() ?? 0,
    assignment: body.assignments[0]?.assignment ?? Buffer.alloc(0),
  }));
  transport.on(Heartbeat, () => ({ errorCode: coordinator.heartbeat.shift() ?? 0 }));
  transport.on(LeaveGroup, () => ({ errorCode: 0 }));
  transport.on(OffsetCommit, ({ body }) => ({
    topics: body.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode: coordinator.commit.shift() ?? 0,
      })),
    })),
  }));
  transport.on(OffsetFetch, ({ body }) => ({
    topics: (body.topics ?? []).map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map((partitionIndex) => ({
        partitionIndex,
        committedOffset: partitionIndex === 0 ? 9_007_199_254_740_994n : -1n,
        metadata: 'm',
        errorCode: coordinator.fetch.shift() ?? 0,
      })),
    })),
  }));
  const member = new GroupMember(
    { transport, clock, random: () => 0.5, logger: silentLogger(), requestTimeoutMs: 1_000 },
    {
      groupId: 'app',
      groupInstanceId: null,
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 1_000,
      rebalanceTimeoutMs: 10_000,
      protocolName: 'millrace',
      ...options,
    },
  );
  const events: string[] = [];
  const pending: Record<string, Promise<void>> = {};
  let fatal: Error | null = null;
  const during: Record<string, () => Promise<void>> = {};
  const handle = async (name: string, text: string): Promise<void> => {
    events.push(text);
    await pending[name];
    await during[name]?.();
  };
  const handler = {
    subscription: () => ({ topics: ['in'], userData: Buffer.from('mine') }),
    assign: async (members: readonly { memberId: string; userData: Buffer }[]) =>
      new Map(
        members.map(({ memberId, userData }) => [
          memberId,
          {
            partitions: [{ topic: 'in', partition: 0 }],
            userData: Buffer.concat([userData, Buffer.from('+yours')]),
          },
        ]),
      ),
    onRebalance: () => handle('onRebalance', 'rebalance'),
    onAssigned: (
      { partitions, userData }: { partitions: readonly { partition: number }[]; userData: Buffer },
      { generation }: { generation: number },
    ) =>
      handle(
        'onAssigned',
        `assigned ${partitions.map(({ partition }) => partition).join()} ${userData.toString()} ${generation}`,
      ),
    onLost: (error: Error) =>
      handle('onLost', `lost ${error.message.match(/[A-Z_]{8,}/)?.[0] ?? error.message}`),
    onFatal: (error: Error) => {
      fatal = error;
      events.push('fatal');
    },
  };
  const joined = async (): Promise<void> => {
    member.join(handler);
    await clock.advance(10);
  };
  return {
    clock,
    transport,
    coordinator,
    member,
    handler,
    events,
    pending,
    during,
    joined,
    fatal: () => fatal,
  };
}

function never(): Promise<void> {
  return new Promise(() => undefined);
}

describe('GroupMember', () => {
  it('joins with a member id it was given, with user data both ways', async () => {
    const { transport, member, events, joined } = setUp();
    await joined();
    expect(events).toEqual(['assigned 0 mine+yours 1']);
    expect(member.metadata).toEqual({
      groupId: 'app',
      generation: 1,
      memberId: 'member-1',
      groupInstanceId: null,
    });
    expect(transport.count(JoinGroup)).toBe(2);
    const lanes = transport.sent.map(({ apiName, lane }) => `${apiName} ${lane}`);
    expect(lanes).toContain('JoinGroup parked');
    expect(lanes).toContain('FindCoordinator main');
    expect(() => member.join({} as never)).toThrow(InvariantError);
  });

  it('152: sends heartbeats by a timer of its own, also while a handler works (kafkajs#387)', async () => {
    const { clock, transport, pending, joined, events } = setUp();
    pending['onAssigned'] = never();
    await joined();
    await clock.advance(5_000);
    expect(transport.count(Heartbeat)).toBe(5);
    expect(events).toEqual(['assigned 0 mine+yours 1']);
  });

  it('waits for onRebalance before it joins again; a commit is possible meanwhile', async () => {
    const { clock, transport, coordinator, during, joined, events, member } = setUp();
    await joined();
    during['onRebalance'] = () => member.commit(offsets);
    coordinator.heartbeat.push(errorCodes.REBALANCE_IN_PROGRESS);
    await clock.advance(1_500);
    expect(events.slice(1)).toEqual(['rebalance', 'assigned 0 mine+yours 2']);
    const order = transport.sent.map(({ apiName }) => apiName);
    expect(order.indexOf('OffsetCommit')).toBeLessThan(order.lastIndexOf('JoinGroup'));
  });

  it('goes on without the assignment when onRebalance takes longer than the rebalance timeout', async () => {
    const { clock, coordinator, pending, joined, events, transport } = setUp();
    await joined();
    pending['onRebalance'] = never();
    coordinator.heartbeat.push(errorCodes.REBALANCE_IN_PROGRESS);
    await clock.advance(10_500);
    expect(events.slice(1)).toEqual(['rebalance']);
    expect(transport.count(Heartbeat)).toBeGreaterThan(8);
    await clock.advance(1_000);
    expect(events[2]).toMatch(
      /^lost .*onRebalance was not done within the rebalance timeout of 10000 ms/,
    );
    expect(events[3]).toBe('assigned 0 mine+yours 2');
  });

  it('ends when not even onLost returns', async () => {
    const { clock, coordinator, pending, joined, fatal } = setUp();
    await joined();
    pending['onLost'] = never();
    coordinator.heartbeat.push(errorCodes.UNKNOWN_MEMBER_ID);
    await clock.advance(12_000);
    expect(fatal()).toBeInstanceOf(TimeoutError);
  });

  it.each([errorCodes.UNKNOWN_MEMBER_ID, errorCodes.ILLEGAL_GENERATION])(
    'loses its assignment and joins anew when a heartbeat is answered with %i',
    async (code) => {
      const { clock, coordinator, joined, events, member } = setUp();
      await joined();
      coordinator.memberId = 'member-2';
      coordinator.heartbeat.push(code);
      await clock.advance(1_500);
      expect(events[1]).toMatch(/^lost/);
      expect(events[2]).toBe('assigned 0 mine+yours 2');
      const isUnknown = code === errorCodes.UNKNOWN_MEMBER_ID;
      expect(member.metadata.memberId).toBe(isUnknown ? 'member-2' : 'member-1');
    },
  );

  it('loses its assignment when it is found out only by joining again', async () => {
    const { clock, coordinator, joined, events, member } = setUp();
    await joined();
    coordinator.join.push(errorCodes.UNKNOWN_MEMBER_ID);
    member.rejoin('test');
    await clock.advance(1_000);
    expect(events.slice(1)).toEqual([
      'rebalance',
      'lost UNKNOWN_MEMBER_ID',
      'assigned 0 mine+yours 2',
    ]);
  });

  it('ends when another process took its instance id', async () => {
    const { clock, coordinator, joined, events, fatal, transport } = setUp({
      groupInstanceId: 'i',
    });
    await joined();
    expect(events).toEqual(['assigned 0 mine+yours 1']);
    coordinator.heartbeat.push(errorCodes.FENCED_INSTANCE_ID);
    await clock.advance(1_500);
    expect(events.slice(1)).toEqual(['lost FENCED_INSTANCE_ID', 'fatal']);
    expect(fatal()?.message).toContain('FENCED_INSTANCE_ID');
    const count = transport.sent.length;
    await clock.advance(60_000);
    expect(transport.sent).toHaveLength(count);
    expect(clock.timerCount).toBe(0);
  });

  it.each([
    errorCodes.COORDINATOR_LOAD_IN_PROGRESS,
    errorCodes.NOT_COORDINATOR,
    errorCodes.COORDINATOR_NOT_AVAILABLE,
    errorCodes.REBALANCE_IN_PROGRESS,
  ])('waits and tries again when joining is answered with %i', async (code) => {
    const { clock, coordinator, joined, events, transport } = setUp();
    coordinator.join.push(code, code);
    await joined();
    expect(events).toEqual([]);
    expect(transport.count(JoinGroup)).toBe(2);
    coordinator.nodeId = 2;
    await clock.advance(2_000);
    expect(events).toEqual(['assigned 0 mine+yours 1']);
    const hasMoved =
      code === errorCodes.NOT_COORDINATOR || code === errorCodes.COORDINATOR_NOT_AVAILABLE;
    expect(transport.sent.findLast(({ apiName }) => apiName === 'JoinGroup')?.nodeId).toBe(
      hasMoved ? 2 : 1,
    );
  });

  it('joins again when a rebalance began while it synced, without a second onRebalance', async () => {
    const { coordinator, joined, events } = setUp();
    coordinator.sync.push(errorCodes.REBALANCE_IN_PROGRESS, errorCodes.ILLEGAL_GENERATION);
    await joined();
    expect(events).toEqual(['assigned 0 mine+yours 3']);
  });

  it.each([
    errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    errorCodes.GROUP_AUTHORIZATION_FAILED,
    errorCodes.INVALID_SESSION_TIMEOUT,
    errorCodes.GROUP_MAX_SIZE_REACHED,
  ])('ends with a clear error when joining is refused with %i', async (code) => {
    const { coordinator, joined, events, fatal } = setUp();
    coordinator.join.push(code);
    await joined();
    expect(events).toEqual(['fatal']);
    expect(fatal()?.message).toMatch(/^Group app does not let us join: [A-Z_]+ \(\d+\)/);
  });

  it('says what to do where the group has members of another kind', async () => {
    const { coordinator, joined, fatal } = setUp();
    coordinator.join.push(errorCodes.INCONSISTENT_GROUP_PROTOCOL);
    await joined();
    expect(fatal()).toBeInstanceOf(AssignmentVersionError);
    expect(fatal()?.message).toMatch(/Kafka Streams in Java.*another application\.id/);
  });

  it('finds the coordinator again when it moved or its connection broke', async () => {
    const { clock, coordinator, joined, transport, events } = setUp();
    await joined();
    coordinator.nodeId = 2;
    coordinator.heartbeat.push(errorCodes.NOT_COORDINATOR);
    await clock.advance(2_500);
    expect(transport.sent.at(-1)).toMatchObject({ apiName: 'Heartbeat', nodeId: 2 });
    let failures = 2;
    transport.on(Heartbeat, () => {
      if (failures-- > 0) throw new ConnectionError('broken');
      return { errorCode: 0 };
    });
    coordinator.nodeId = 3;
    await clock.advance(4_000);
    expect(transport.sent.at(-1)).toMatchObject({ apiName: 'Heartbeat', nodeId: 3 });
    expect(events).toHaveLength(1);
  });

  it('176: gives up on a coordinator that is never found (quix-streams#1082)', async () => {
    const { clock, transport, joined, fatal } = setUp();
    transport.on(FindCoordinator, () => {
      throw new ConnectionError('refused');
    });
    await joined();
    await clock.advance(590_000);
    expect(fatal()).toBeNull();
    await clock.advance(20_000);
    expect(fatal()).toBeInstanceOf(ConnectionError);
    expect(transport.sent.length).toBeLessThan(650);
  }, 60_000);

  it('commits the next offset with metadata, as the member of its generation', async () => {
    const { joined, member, transport } = setUp();
    await joined();
    await member.commit(offsets);
    expect(transport.sent.at(-1)?.body).toMatchObject({
      groupId: 'app',
      generationIdOrMemberEpoch: 1,
      memberId: 'member-1',
      topics: [
        {
          name: 'in',
          partitions: [{ partitionIndex: 0, committedOffset: 42n, committedMetadata: 'm' }],
        },
      ],
    });
    const count = transport.sent.length;
    await member.commit(new Map());
    expect(transport.sent).toHaveLength(count);
  });

  it('157: commits nothing during a rebalance and joins again (librdkafka#2933, kafkajs#1474)', async () => {
    const { clock, coordinator, joined, member, events } = setUp();
    await joined();
    coordinator.commit.push(errorCodes.REBALANCE_IN_PROGRESS);
    await expect(member.commit(offsets)).rejects.toThrow(RebalanceInProgressError);
    await clock.advance(100);
    expect(events.slice(1)).toEqual(['rebalance', 'assigned 0 mine+yours 2']);
  });

  it.each([
    errorCodes.ILLEGAL_GENERATION,
    errorCodes.UNKNOWN_MEMBER_ID,
    errorCodes.FENCED_INSTANCE_ID,
  ])('157: takes a commit refused with %i for a migrated task (librdkafka#2933)', async (code) => {
    const { coordinator, joined, member, clock, events } = setUp();
    await joined();
    coordinator.commit.push(code);
    await expect(member.commit(offsets)).rejects.toThrow(TaskMigratedError);
    await clock.advance(100);
    expect(events[1]).toMatch(/^lost/);
  });

  it('tries a commit again while the coordinator moves or loads, and ends in time', async () => {
    const { clock, coordinator, joined, member, transport } = setUp();
    await joined();
    coordinator.commit.push(errorCodes.NOT_COORDINATOR, errorCodes.COORDINATOR_LOAD_IN_PROGRESS);
    const committed = member.commit(offsets);
    await clock.advance(1_000);
    await committed;
    transport.on(OffsetCommit, () => {
      throw new TimeoutError('no answer');
    });
    const rejected = expect(member.commit(offsets)).rejects.toThrow(/within 60000 ms/);
    await clock.advance(70_000);
    await rejected;
  });

  it('waits for a topic that the coordinator does not know as long as it may be new, and names it', async () => {
    const { clock, coordinator, joined, member } = setUp();
    await joined();
    coordinator.commit.push(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    const committed = member.commit(offsets);
    await clock.advance(1_000);
    await committed;
    for (let i = 0; i < 50; i++) coordinator.commit.push(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
    const rejected = expect(member.commit(offsets)).rejects.toThrow(
      /offset of in-0 was not committed .*there is no such topic/u,
    );
    await clock.advance(7_000);
    await rejected;
    coordinator.commit.length = 0;
  });

  it('reads stable committed offsets, waiting for pending transactions', async () => {
    const { clock, coordinator, member, transport } = setUp();
    coordinator.fetch.push(errorCodes.UNSTABLE_OFFSET_COMMIT);
    const read = member.committed(
      [
        { topic: 'in', partition: 0 },
        { topic: 'in', partition: 1 },
      ],
      { requireStable: true },
    );
    await clock.advance(1_000);
    expect([...(await read)]).toEqual([
      ['in-0', { offset: 9_007_199_254_740_994n, metadata: 'm' }],
    ]);
    expect((transport.sent.at(-1)?.body as OffsetFetchRequest).requireStable).toBe(true);
  });

  it('leaves with its member id, and a static member without a word', async () => {
    const dynamic = setUp();
    await dynamic.joined();
    await dynamic.member.leave(1_000);
    expect(dynamic.transport.sent.at(-1)).toMatchObject({
      apiName: 'LeaveGroup',
      body: { members: [{ memberId: 'member-1' }] },
    });
    expect(dynamic.clock.timerCount).toBe(0);
    expect(dynamic.transport.isClosed).toBe(true);
    await dynamic.member.leave(1_000);
    const fixed = setUp({ groupInstanceId: 'i' });
    await fixed.joined();
    await fixed.member.leave(1_000);
    expect(fixed.transport.count(LeaveGroup)).toBe(0);
    const gone = setUp({ groupInstanceId: 'i' });
    await gone.joined();
    await gone.member.leave(1_000, true);
    expect(gone.transport.sent.at(-1)).toMatchObject({
      apiName: 'LeaveGroup',
      body: { members: [{ memberId: 'member-1', groupInstanceId: 'i' }] },
    });
  });

  it.each(['joining', 'syncing', 'onAssigned', 'onRebalance', 'before anything'])(
    'leaves in time from the middle of %s',
    async (point) => {
      const { clock, transport, coordinator, pending, joined, member, events } = setUp();
      if (point === 'joining') transport.on(FindCoordinator, () => new Promise(() => undefined));
      if (point === 'syncing') transport.on(SyncGroup, () => new Promise(() => undefined));
      if (point.startsWith('on')) pending[point] = never();
      if (point === 'onRebalance') coordinator.heartbeat.push(errorCodes.REBALANCE_IN_PROGRESS);
      if (point !== 'before anything') await joined();
      await clock.advance(1_500);
      let hasLeft = false;
      void member.leave(2_000).then(() => (hasLeft = true));
      await clock.advance(2_100);
      expect(hasLeft).toBe(true);
      expect(clock.timerCount).toBe(0);
      expect(events).not.toContain('fatal');
      await expect(member.commit(offsets)).rejects.toThrow(/has left/);
    },
  );

  it('survives hostile assignments and subscriptions with an error, not a hang', async () => {
    const { transport, joined, fatal } = setUp();
    transport.on(SyncGroup, () => ({ errorCode: 0, assignment: Buffer.from([0, 0, 255, 255]) }));
    await joined();
    expect(fatal()?.message).toMatch(/ConsumerProtocolAssignment/);
  });

  it('takes an empty assignment for none, and a newer version as far as it is known', async () => {
    const { transport, joined, events } = setUp();
    const newer = encodeVersioned(ConsumerProtocolAssignment, 3, {
      assignedPartitions: [{ topic: 'in', partitions: [5] }],
      userData: null,
    });
    newer.writeInt16BE(9, 0);
    transport.on(SyncGroup, () => ({ errorCode: 0, assignment: newer }));
    await joined();
    expect(events).toEqual(['assigned 5  1']);
  });

  it('passes the timeouts and its protocol on', async () => {
    const { transport, joined } = setUp();
    await joined();
    const join = transport.sent.find(({ apiName }) => apiName === 'JoinGroup')
      ?.body as JoinGroupRequest;
    expect(join).toMatchObject({
      sessionTimeoutMs: 6_000,
      rebalanceTimeoutMs: 10_000,
      protocolType: 'consumer',
    });
    expect(join.protocols[0]?.name).toBe('millrace');
  });
});

describe('memberTransitions', () => {
  it('lead from every state to left, and from left nowhere', () => {
    for (const [state, next] of Object.entries(memberTransitions)) {
      if (state === 'left') expect(next).toEqual([]);
      else if (state === 'leaving') expect(next).toEqual(['left']);
      else expect(next).toContain('leaving');
      for (const each of next) expect(Object.keys(memberTransitions)).toContain(each);
    }
  });
});
