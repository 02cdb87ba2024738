import {
  BatchBuilder,
  encodeControlBatch,
  encodeVersioned,
  errorCodes,
  GroupMetadataKey,
  GroupMetadataValue,
  OffsetCommitKey,
} from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { offsetRecord } from './group-records.ts';
import {
  commitOf,
  GroupFixture,
  MemoryLog,
  SESSION_MS,
  subscriptionTo,
  TOPIC_ID,
} from './test-support/group-fixture.ts';

const committed = {
  leaderEpoch: -1,
  metadata: '',
  commitTimestamp: 5,
  expireTimestamp: -1,
  topicId: TOPIC_ID,
};

function batch(
  records: readonly { key: Buffer | null; value: Buffer | null }[],
  producerId?: bigint,
): Buffer {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1_000_000 });
  for (const { key, value } of records) builder.appendBytes(5, key, value, null);
  const transaction =
    producerId === undefined
      ? {}
      : { producerId, producerEpoch: 0, baseSequence: 0, isTransactional: true };
  return builder.build(transaction);
}

function marker(producerId: bigint, type: 'commit' | 'abort'): Buffer {
  return encodeControlBatch({
    baseOffset: 0n,
    producerId,
    producerEpoch: 0,
    type,
    coordinatorEpoch: 0,
    timestamp: 5,
    leaderEpoch: 0,
  });
}

describe('after a restart', () => {
  it('has a stable group again: same generation, members and assignments, no rebalance', async () => {
    const group = new GroupFixture();
    const [a = '', b = ''] = await group.stable('a', 'b');
    const before = group.coordinator.describeGroup('g');
    const after = group.restart();
    expect(after.coordinator.describeGroup('g')).toEqual(before);
    expect(after.heartbeat(a, 1)).toBe(0);
    expect(after.commit({ memberId: b, generationId: 1 })).toEqual([0]);
    expect(after.sync({ memberId: b }).result?.assignment).toEqual(Buffer.from(`for ${b}`));
    // The leader is known, so it can ask for a rebalance, and a follower cannot.
    after.join({ memberId: b });
    expect(after.state()).toBe('Stable');
    after.join({ memberId: a });
    expect(after.state()).toBe('PreparingRebalance');
  });

  it('knows static members, and lets one come back without a rebalance', async () => {
    const group = new GroupFixture();
    const joined = group.join({ groupInstanceId: 'pod-0' });
    group.clock.advance(0);
    await group.settle();
    const memberId = joined.result?.memberId ?? '';
    const assignments = [{ memberId, assignment: Buffer.from('all') }];
    group.sync({ memberId, groupInstanceId: 'pod-0', assignments });
    const after = group.restart();
    const back = after.join({ groupInstanceId: 'pod-0' });
    expect(back.result).toMatchObject({ errorCode: 0, generationId: 1, skipAssignment: true });
    const synced = after.sync({ memberId: back.result?.memberId ?? '', groupInstanceId: 'pod-0' });
    expect(synced.result?.assignment).toEqual(Buffer.from('all'));
    expect(after.heartbeat(memberId, 1, 'pod-0')).toBe(errorCodes.FENCED_INSTANCE_ID);
  });

  it('gives members one session timeout to show up', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a', 'b');
    const after = group.restart();
    after.clock.advance(SESSION_MS - 1);
    after.heartbeat(a, 1);
    after.clock.advance(1);
    expect(after.coordinator.describeGroup('g')?.members).toHaveLength(1);
    expect(after.state()).toBe('PreparingRebalance');
  });

  it('has empty groups, and the newest offset of each partition', async () => {
    const group = new GroupFixture({ offsetsLoadBufferBytes: 100 });
    group.join({ groupId: 'waiting' });
    for (let offset = 0n; offset < 200n; offset += 1n) {
      group.commit({ topics: commitOf('orders', Number(offset % 4n), offset, `at ${offset}`) });
    }
    const after = group.restart({ offsetsLoadBufferBytes: 100 });
    expect(after.coordinator.listGroups([], [])).toEqual([
      { groupId: 'waiting', protocolType: '', groupState: 'Empty', groupType: 'classic' },
      { groupId: 'g', protocolType: '', groupState: 'Empty', groupType: 'classic' },
    ]);
    for (let partition = 0; partition < 4; partition += 1) {
      expect(after.fetch('orders', partition)).toMatchObject({
        committedOffset: BigInt(196 + partition),
        metadata: `at ${196 + partition}`,
      });
    }
  });

  it('asks the members of a group that is above a lowered group.max.size to join again', async () => {
    const group = new GroupFixture();
    const [a = '', b = '', c = ''] = await group.stable('a', 'b', 'c');
    const after = group.restart({ maxSize: 2 });
    expect(after.state()).toBe('PreparingRebalance');
    expect(after.commit({ memberId: c, generationId: 1 })).toEqual([0]);
    const joins = [a, b].map((memberId) => after.join({ memberId }));
    expect(after.join({ memberId: c }).result?.errorCode).toBe(errorCodes.GROUP_MAX_SIZE_REACHED);
    await after.settle();
    expect(joins.map(({ result }) => result?.generationId)).toEqual([2, 2]);
  });
});

describe('what another broker may have left in __consumer_offsets', () => {
  it('counts transactional commits with their marker only', () => {
    const log = new MemoryLog();
    const record = (partition: number, offset: bigint) =>
      offsetRecord('g', 'orders', partition, { ...committed, offset });
    log.append(batch([record(0, 1n), record(2, 1n), record(3, 1n)]));
    log.append(batch([record(0, 10n)], 7n));
    log.append(batch([record(1, 20n)], 8n));
    log.append(batch([record(2, 30n)], 9n));
    log.append(batch([record(3, 40n)], 10n));
    log.append(marker(7n, 'commit'));
    log.append(marker(8n, 'abort'));
    // A plain commit after the transactional one, before its marker: the later one counts.
    log.append(batch([record(3, 41n)]));
    log.append(marker(10n, 'commit'));
    const group = new GroupFixture({}, log);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(10n);
    expect(group.fetch('orders', 1)?.committedOffset).toBe(-1n);
    expect(group.fetch('orders', 3)?.committedOffset).toBe(41n);
    expect(group.fetch('orders', 2)?.committedOffset).toBe(1n);
    expect(group.fetch('orders', 2, 'g', true)).toMatchObject({
      errorCode: errorCodes.UNSTABLE_OFFSET_COMMIT,
      committedOffset: -1n,
    });
    expect(group.fetch('orders', 3, 'g', true)?.errorCode).toBe(0);
  });

  it('does not expire or forget a group with an open transaction', () => {
    const log = new MemoryLog();
    log.append(batch([offsetRecord('g', 'orders', 0, { ...committed, offset: 1n })], 7n));
    const group = new GroupFixture({ offsetsRetentionMs: 1 }, log);
    group.clock.advance(10_000_000);
    expect(group.state()).toBe('Empty');
    expect(group.fetch('orders', 0, 'g', true)?.errorCode).toBe(errorCodes.UNSTABLE_OFFSET_COMMIT);
    group.coordinator.deleteGroups(['g']);
    expect(group.fetch('orders', 0, 'g', true)?.errorCode).toBe(0);
  });

  it('reads every version of group and offset values', () => {
    const log = new MemoryLog();
    const key = (group: string) => encodeVersioned(GroupMetadataKey, 2, { group });
    for (const version of [0, 1, 2, 3, 4]) {
      const value = encodeVersioned(GroupMetadataValue, version, {
        protocolType: 'consumer',
        generation: 3,
        protocol: 'range',
        leader: 'm',
        currentStateTimestamp: 9n,
        members: [
          {
            memberId: 'm',
            groupInstanceId: 'i',
            clientId: 'c',
            clientHost: '/h',
            rebalanceTimeout: 70_000,
            sessionTimeout: 20_000,
            subscription: subscriptionTo('orders'),
            assignment: Buffer.from('mine'),
          },
        ],
      });
      log.append(batch([{ key: key(`v${version}`), value }]));
    }
    const legacy = encodeVersioned(OffsetCommitKey, 0, {
      group: 'v0',
      topic: 'orders',
      partition: 1,
    });
    const { value } = offsetRecord('v0', 'orders', 1, { ...committed, offset: 77n });
    log.append(batch([{ key: legacy, value }]));
    const group = new GroupFixture({}, log);
    for (const version of [0, 1, 2, 3, 4]) {
      expect(group.coordinator.describeGroup(`v${version}`)).toMatchObject({
        groupState: 'Stable',
        protocolData: 'range',
        members: [
          {
            memberId: 'm',
            groupInstanceId: version >= 3 ? 'i' : null,
            memberAssignment: Buffer.from('mine'),
          },
        ],
      });
    }
    expect(group.fetch('orders', 1, 'v0')?.committedOffset).toBe(77n);
  });

  it('passes over records of other group types, of unknown versions, cut ones, and ones without key', () => {
    const log = new MemoryLog();
    const bytes = (...values: number[]) => Buffer.from(values);
    const good = offsetRecord('g', 'orders', 0, { ...committed, offset: 5n });
    log.append(
      batch([
        { key: bytes(0, 3, 0, 1, 97), value: bytes(0, 0, 1) },
        { key: bytes(0, 99), value: null },
        { key: bytes(0), value: bytes(1) },
        { key: bytes(0, 2, 127, 255, 97), value: bytes(1) },
        { key: good.key, value: bytes(0, 77, 1, 2, 3) },
        { key: good.key, value: bytes(0, 4, 1) },
        { key: null, value: bytes(1) },
        good,
      ]),
    );
    const group = new GroupFixture({}, log);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(5n);
    expect(group.coordinator.listGroups([], [])).toHaveLength(1);
  });
});

describe('describing and listing', () => {
  it('shows metadata of stable groups only', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a');
    expect(group.coordinator.describeGroup('g')).toEqual({
      groupId: 'g',
      groupState: 'Stable',
      protocolType: 'consumer',
      protocolData: 'range',
      members: [
        {
          memberId: a,
          groupInstanceId: null,
          clientId: 'client',
          clientHost: '/127.0.0.1',
          memberMetadata: subscriptionTo('orders'),
          memberAssignment: Buffer.from(`for ${a}`),
        },
      ],
    });
    group.join({ memberId: a });
    expect(group.coordinator.describeGroup('g')).toMatchObject({
      groupState: 'CompletingRebalance',
      protocolData: '',
      members: [{ memberMetadata: Buffer.alloc(0) }],
    });
  });

  it('filters by state and type without regard to case', async () => {
    const group = new GroupFixture();
    await group.stable('a');
    group.commit({ groupId: 'simple' });
    const ids = (states: string[], types: string[]) =>
      group.coordinator.listGroups(states, types).map(({ groupId }) => groupId);
    expect(ids([], [])).toEqual(['g', 'simple']);
    expect(ids(['STABLE'], [])).toEqual(['g']);
    expect(ids([' empty ', 'Dead'], ['Classic'])).toEqual(['simple']);
    expect(ids([], ['consumer', 'share'])).toEqual([]);
    expect(ids(['nonsense'], [])).toEqual([]);
  });
});
