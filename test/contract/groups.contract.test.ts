/** Classic consumer groups, request by request, so that exact codes are seen. */
import {
  CreateTopics,
  DeleteGroups,
  DescribeGroups,
  errorCodes,
  FindCoordinator,
  Heartbeat,
  JoinGroup,
  LeaveGroup,
  ListGroups,
  OffsetCommit,
  OffsetDelete,
  OffsetFetch,
  SyncGroup,
} from '@millrace/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { RawClient } from '../support/raw-client.ts';

describeOnBothBrokers('a classic group', (broker) => {
  const clients: RawClient[] = [];
  let client: RawClient;
  let topic: string;

  /** A connection serves one request at a time, and a join may be parked: one for each member. */
  async function connection(): Promise<RawClient> {
    const opened = await RawClient.connect(broker().bootstrapServers);
    clients.push(opened);
    return opened;
  }

  beforeAll(async () => {
    client = await connection();
    topic = unique('groups');
    await client.send(CreateTopics, 5, {
      topics: [{ name: topic, numPartitions: 2, replicationFactor: 1, configs: [] }],
      timeoutMs: 10_000,
    });
    await coordinatorIsReady();
  });
  afterAll(() => {
    for (const opened of clients) opened.close();
  });

  /** Kafka creates __consumer_offsets at the first question. */
  async function coordinatorIsReady(): Promise<void> {
    for (let i = 0; i < 200; i++) {
      const { coordinators } = await client.send(FindCoordinator, 4, {
        keyType: 0,
        coordinatorKeys: ['warm-up'],
      });
      const heartbeat = await client.send(Heartbeat, 4, {
        groupId: 'warm-up',
        generationId: 1,
        memberId: 'nobody',
      });
      if (
        coordinators[0]?.errorCode === 0 &&
        heartbeat.errorCode === errorCodes.UNKNOWN_MEMBER_ID
      ) {
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error('no coordinator');
  }

  interface Join {
    readonly groupId: string;
    readonly memberId?: string;
    readonly groupInstanceId?: string | null;
    readonly protocols?: readonly (readonly [string, string])[];
    readonly sessionTimeoutMs?: number;
    readonly protocolType?: string;
  }

  function join(through: RawClient, options: Join) {
    return through.send(JoinGroup, 9, {
      groupId: options.groupId,
      sessionTimeoutMs: options.sessionTimeoutMs ?? 10_000,
      rebalanceTimeoutMs: 10_000,
      memberId: options.memberId ?? '',
      groupInstanceId: options.groupInstanceId ?? null,
      protocolType: options.protocolType ?? 'consumer',
      protocols: (options.protocols ?? [['range', 'meta']]).map(([name, metadata]) => ({
        name,
        metadata: Buffer.from(metadata),
      })),
      reason: null,
    });
  }

  async function joinAsNew(through: RawClient, options: Join) {
    const first = await join(through, options);
    expect(first.errorCode).toBe(errorCodes.MEMBER_ID_REQUIRED);
    expect(first.memberId).not.toBe('');
    return join(through, { ...options, memberId: first.memberId });
  }

  function sync(
    through: RawClient,
    groupId: string,
    generationId: number,
    memberId: string,
    assignments: Record<string, string> = {},
    groupInstanceId: string | null = null,
  ) {
    return through.send(SyncGroup, 5, {
      groupId,
      generationId,
      memberId,
      groupInstanceId,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: Object.entries(assignments).map(([id, assignment]) => ({
        memberId: id,
        assignment: Buffer.from(assignment),
      })),
    });
  }

  async function heartbeat(
    groupId: string,
    generationId: number,
    memberId: string,
    groupInstanceId: string | null = null,
  ): Promise<number> {
    return (await client.send(Heartbeat, 4, { groupId, generationId, memberId, groupInstanceId }))
      .errorCode;
  }

  async function commit(
    groupId: string,
    offsets: Record<number, bigint>,
    member: { generation?: number; memberId?: string } = {},
    metadata = '',
  ) {
    const { topics } = await client.send(OffsetCommit, 8, {
      groupId,
      generationIdOrMemberEpoch: member.generation ?? -1,
      memberId: member.memberId ?? '',
      topics: [
        {
          name: topic,
          partitions: Object.entries(offsets).map(([partition, committedOffset]) => ({
            partitionIndex: Number(partition),
            committedOffset,
            committedMetadata: metadata,
          })),
        },
      ],
    });
    return topics[0]?.partitions.map((partition) => partition.errorCode);
  }

  async function committed(groupId: string, partitionIndexes: number[] | null = [0, 1]) {
    const { groups } = await client.send(OffsetFetch, 8, {
      groups: [
        {
          groupId,
          topics: partitionIndexes === null ? null : [{ name: topic, partitionIndexes }],
        },
      ],
      requireStable: true,
    });
    expect(groups[0]?.errorCode).toBe(0);
    return groups[0]?.topics.flatMap((entry) =>
      entry.partitions.map((p) => [p.partitionIndex, p.committedOffset, p.metadata] as const),
    );
  }

  it('takes one member through join, sync, heartbeat, commit and leave', async () => {
    const groupId = unique('group');
    const joined = await joinAsNew(client, { groupId });
    expect(joined).toMatchObject({ errorCode: 0, generationId: 1, protocolName: 'range' });
    expect(joined.leader).toBe(joined.memberId);
    expect(joined.members.map((m) => [m.memberId, m.metadata.toString()])).toEqual([
      [joined.memberId, 'meta'],
    ]);
    const synced = await sync(client, groupId, 1, joined.memberId, { [joined.memberId]: 'mine' });
    expect(synced.errorCode).toBe(0);
    expect(synced.assignment.toString()).toBe('mine');
    expect(await heartbeat(groupId, 1, joined.memberId)).toBe(0);
    expect(await heartbeat(groupId, 2, joined.memberId)).toBe(errorCodes.ILLEGAL_GENERATION);
    expect(await heartbeat(groupId, 1, 'nobody')).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    const member = { generation: 1, memberId: joined.memberId };
    expect(await commit(groupId, { 0: 5n, 1: 9007199254740993n }, member, 'note')).toEqual([0, 0]);
    expect(await committed(groupId)).toEqual([
      [0, 5n, 'note'],
      [1, 9007199254740993n, 'note'],
    ]);
    expect(await commit(groupId, { 0: 6n }, { ...member, generation: 7 })).toEqual([
      errorCodes.ILLEGAL_GENERATION,
    ]);
    // Whoever is no member may not commit while there are members.
    expect(await commit(groupId, { 0: 7n })).toEqual([errorCodes.UNKNOWN_MEMBER_ID]);
    const left = await client.send(LeaveGroup, 5, {
      groupId,
      members: [{ memberId: joined.memberId, groupInstanceId: null, reason: null }],
    });
    expect(left.members[0]?.errorCode).toBe(0);
    expect(await heartbeat(groupId, 1, joined.memberId)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
    // The offsets stay, and now anybody may commit.
    expect(await commit(groupId, { 0: 8n })).toEqual([0]);
    expect(await committed(groupId, [0])).toEqual([[0, 8n, '']]);
  });

  it('rebalances when a second member joins', async () => {
    const groupId = unique('group');
    const second = await connection();
    const a = await joinAsNew(client, {
      groupId,
      protocols: [
        ['range', 'a'],
        ['other', 'a'],
      ],
    });
    await sync(client, groupId, a.generationId, a.memberId, { [a.memberId]: 'all' });
    const { memberId: b } = await join(second, { groupId });
    const joining = join(second, { groupId, memberId: b });
    let code = 0;
    for (let i = 0; i < 100 && code === 0; i++) {
      code = await heartbeat(groupId, a.generationId, a.memberId);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(code).toBe(errorCodes.REBALANCE_IN_PROGRESS);
    const again = await join(client, {
      groupId,
      memberId: a.memberId,
      protocols: [
        ['range', 'a'],
        ['other', 'a'],
      ],
    });
    const other = await joining;
    expect([again.generationId, other.generationId]).toEqual([2, 2]);
    expect(again.leader).toBe(a.memberId);
    expect(again.members.map((m) => m.memberId).sort()).toEqual([a.memberId, b].sort());
    expect(other.members).toEqual([]);
    const waiting = sync(second, groupId, 2, b);
    const done = await sync(client, groupId, 2, a.memberId, { [a.memberId]: 'left', [b]: 'right' });
    expect(done.assignment.toString()).toBe('left');
    expect((await waiting).assignment.toString()).toBe('right');
    const { groups } = await client.send(DescribeGroups, 5, { groups: [groupId] });
    expect(groups[0]).toMatchObject({
      errorCode: 0,
      groupState: 'Stable',
      protocolType: 'consumer',
      protocolData: 'range',
    });
    expect(groups[0]?.members.map((m) => m.memberAssignment.toString()).sort()).toEqual([
      'left',
      'right',
    ]);
  });

  it('refuses members that do not fit', async () => {
    const groupId = unique('group');
    const a = await joinAsNew(client, { groupId });
    await sync(client, groupId, a.generationId, a.memberId, { [a.memberId]: 'all' });
    const other = await connection();
    for (const options of [
      { groupId, protocols: [['sticky', '']] as const },
      { groupId, protocolType: 'connect' },
    ]) {
      expect((await join(other, options)).errorCode).toBe(errorCodes.INCONSISTENT_GROUP_PROTOCOL);
    }
    expect((await join(other, { groupId: unique('g'), sessionTimeoutMs: 1 })).errorCode).toBe(
      errorCodes.INVALID_SESSION_TIMEOUT,
    );
    expect((await join(other, { groupId: '' })).errorCode).toBe(errorCodes.INVALID_GROUP_ID);
    expect((await join(other, { groupId, memberId: 'nobody' })).errorCode).toBe(
      errorCodes.UNKNOWN_MEMBER_ID,
    );
  });

  it('lets a static member come back without a rebalance and fences the older one', async () => {
    const groupId = unique('group');
    const groupInstanceId = 'instance-1';
    const first = await join(client, { groupId, groupInstanceId });
    expect(first.errorCode).toBe(0);
    await sync(client, groupId, 1, first.memberId, { [first.memberId]: 'all' }, groupInstanceId);
    const second = await join(client, { groupId, groupInstanceId });
    expect(second).toMatchObject({ errorCode: 0, generationId: 1 });
    expect(second.memberId).not.toBe(first.memberId);
    expect(await heartbeat(groupId, 1, first.memberId, groupInstanceId)).toBe(
      errorCodes.FENCED_INSTANCE_ID,
    );
    const synced = await sync(client, groupId, 1, second.memberId, {}, groupInstanceId);
    expect(synced.assignment.toString()).toBe('all');
  });

  it('removes a member whose session has ended', async () => {
    const groupId = unique('group');
    const joined = await joinAsNew(client, { groupId, sessionTimeoutMs: 1_000 });
    await sync(client, groupId, 1, joined.memberId, { [joined.memberId]: 'all' });
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(await heartbeat(groupId, 1, joined.memberId)).toBe(errorCodes.UNKNOWN_MEMBER_ID);
  }, 30_000);

  it('keeps the offsets of whoever only commits', async () => {
    const groupId = unique('simple');
    expect(await committed(groupId)).toEqual([
      [0, -1n, ''],
      [1, -1n, ''],
    ]);
    expect(await commit(groupId, { 1: 3n })).toEqual([0]);
    expect(await committed(groupId)).toEqual([
      [0, -1n, ''],
      [1, 3n, ''],
    ]);
    expect(await committed(groupId, null)).toEqual([[1, 3n, '']]);
    expect(await commit(groupId, { 0: 1n }, {}, 'x'.repeat(5_000))).toEqual([
      errorCodes.OFFSET_METADATA_TOO_LARGE,
    ]);
    expect(await commit(groupId, { 9: 1n })).toEqual([errorCodes.UNKNOWN_TOPIC_OR_PARTITION]);
  });

  it('lists, empties and deletes groups', async () => {
    const groupId = unique('group');
    const joined = await joinAsNew(client, { groupId });
    await sync(client, groupId, 1, joined.memberId, { [joined.memberId]: 'all' });
    await commit(groupId, { 0: 1n, 1: 2n }, { generation: 1, memberId: joined.memberId });
    const states = async () =>
      (await client.send(ListGroups, 4, { statesFilter: [] })).groups.find(
        (group) => group.groupId === groupId,
      )?.groupState;
    expect(await states()).toBe('Stable');
    const remove = async () =>
      (await client.send(DeleteGroups, 2, { groupsNames: [groupId] })).results[0]?.errorCode;
    expect(await remove()).toBe(errorCodes.NON_EMPTY_GROUP);
    await client.send(LeaveGroup, 5, { groupId, members: [{ memberId: joined.memberId }] });
    expect(await states()).toBe('Empty');
    const deleted = await client.send(OffsetDelete, 0, {
      groupId,
      topics: [{ name: topic, partitions: [{ partitionIndex: 0 }] }],
    });
    expect(deleted.errorCode).toBe(0);
    expect(await committed(groupId)).toEqual([
      [0, -1n, ''],
      [1, 2n, ''],
    ]);
    expect(await remove()).toBe(0);
    expect(await states()).toBeUndefined();
    expect(await remove()).toBe(errorCodes.GROUP_ID_NOT_FOUND);
  });
});
