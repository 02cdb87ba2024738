import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { commitOf, GroupFixture, subscriptionTo, TOPIC_ID } from './test-support/group-fixture.ts';

const DAY_MS = 86_400_000;

describe('committing', () => {
  it('makes a simple group of offsets that nobody is a member for', () => {
    const group = new GroupFixture();
    expect(group.commit()).toEqual([0]);
    expect(group.fetch('orders', 0)).toEqual({
      partitionIndex: 0,
      committedOffset: 42n,
      committedLeaderEpoch: 3,
      metadata: 'note',
      errorCode: 0,
    });
    expect(group.coordinator.describeGroup('g')).toMatchObject({
      groupState: 'Empty',
      protocolType: '',
      members: [],
    });
  });

  it('writes the record that Kafka 4.4 writes', () => {
    const group = new GroupFixture();
    group.commit();
    expect(group.log.decoded()).toEqual([
      {
        kind: 'offset',
        groupId: 'g',
        topic: 'orders',
        partition: 0,
        value: {
          offset: 42n,
          leaderEpoch: 3,
          metadata: 'note',
          commitTimestamp: 1_000_000,
          expireTimestamp: -1,
          topicId: TOPIC_ID,
        },
      },
    ]);
  });

  it('keeps any offset exactly, and null metadata as empty', () => {
    const group = new GroupFixture();
    const offset = 2n ** 63n - 1n;
    expect(group.commit({ topics: commitOf('orders', 1, offset, null) })).toEqual([0]);
    expect(group.fetch('orders', 1)).toMatchObject({ committedOffset: offset, metadata: '' });
  });

  it('answers each partition by itself, and stores the good ones', () => {
    const group = new GroupFixture({ offsetMetadataMaxBytes: 10 });
    const topics = [
      ...commitOf('orders', 0, 1n, 'x'.repeat(10)),
      ...commitOf('orders', 1, 1n, 'x'.repeat(11)),
      ...commitOf('orders', 4, 1n),
      ...commitOf('orders', -1, 1n),
      ...commitOf('nowhere', 0, 1n),
    ];
    expect(group.commit({ topics })).toEqual([
      0,
      errorCodes.OFFSET_METADATA_TOO_LARGE,
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
      errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    ]);
    expect(group.log.decoded()).toHaveLength(1);
  });

  it.each([2n ** 63n - 1n, -(2n ** 63n), -2n, 0n])(
    'stores a retention of %s ms',
    (retentionTimeMs) => {
      const group = new GroupFixture();
      expect(group.commit({ retentionTimeMs })).toEqual([0]);
      expect(group.restart().fetch('orders', 0)?.committedOffset).toBe(42n);
    },
  );

  it('leaves no group behind when nothing could be committed', () => {
    const group = new GroupFixture();
    group.commit({ topics: commitOf('nowhere', 0, 1n) });
    expect(group.coordinator.describeGroup('g')).toBeUndefined();
    expect(group.coordinator.listGroups([], [])).toEqual([]);
  });

  it('tells a member of a group that is not there, by version', () => {
    const group = new GroupFixture();
    expect(group.commit({ memberId: 'm', generationId: 1 })).toEqual([
      errorCodes.ILLEGAL_GENERATION,
    ]);
    expect(group.commit({ memberId: 'm', generationId: 1, supportsGroupIdNotFound: true })).toEqual(
      [errorCodes.GROUP_ID_NOT_FOUND],
    );
  });

  it('lets members of this generation commit, and nobody else while there are members', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a');
    expect(group.commit({ memberId: a, generationId: 1 })).toEqual([0]);
    expect(group.commit({ memberId: a, generationId: 0 })).toEqual([errorCodes.ILLEGAL_GENERATION]);
    expect(group.commit({ memberId: 'm', generationId: 1 })).toEqual([
      errorCodes.UNKNOWN_MEMBER_ID,
    ]);
    expect(group.commit()).toEqual([errorCodes.UNKNOWN_MEMBER_ID]);
    expect(group.commit({ groupInstanceId: 'i', memberId: a, generationId: 1 })).toEqual([
      errorCodes.UNKNOWN_MEMBER_ID,
    ]);
  });

  it('lets them commit until the next generation is there, but not before its assignment', async () => {
    const group = new GroupFixture();
    const [a = ''] = await group.stable('a');
    group.join({ requiresKnownMemberId: false });
    expect(group.state()).toBe('PreparingRebalance');
    expect(group.commit({ memberId: a, generationId: 1 })).toEqual([0]);
    group.join({ memberId: a });
    expect(group.state()).toBe('CompletingRebalance');
    expect(group.commit({ memberId: a, generationId: 2 })).toEqual([
      errorCodes.REBALANCE_IN_PROGRESS,
    ]);
  });

  it('does not show what could not be appended', () => {
    const group = new GroupFixture();
    group.commit();
    group.log.failure = new Error('disk gone');
    expect(group.commit({ topics: commitOf('orders', 0, 43n) })).toEqual([
      errorCodes.UNKNOWN_SERVER_ERROR,
    ]);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(42n);
  });

  it('sends clients to look for a coordinator while there is no __consumer_offsets', () => {
    const group = new GroupFixture({}, undefined, false);
    expect(group.commit()).toEqual([errorCodes.NOT_COORDINATOR]);
    expect(group.join().result?.errorCode).toBe(errorCodes.NOT_COORDINATOR);
    expect(group.coordinator.listGroups([], [])).toEqual([]);
  });
});

describe('fetching', () => {
  it('says -1 without an error for whatever has no offset', () => {
    const group = new GroupFixture();
    const none = {
      partitionIndex: 7,
      committedOffset: -1n,
      committedLeaderEpoch: -1,
      metadata: '',
      errorCode: 0,
    };
    expect(group.fetch('orders', 7)).toEqual(none);
    expect(group.fetch('nowhere', 7, 'no-group')).toEqual(none);
    expect(group.coordinator.fetchOffsets('no-group', null, true)).toEqual([]);
  });

  it('gives all offsets of a group when no topics are named', () => {
    const group = new GroupFixture();
    group.commit({
      topics: [
        ...commitOf('orders', 0, 1n),
        ...commitOf('orders', 2, 2n),
        ...commitOf('other', 0, 3n),
      ],
    });
    const all = group.coordinator.fetchOffsets('g', null, true);
    expect(
      all.map(({ name, partitions }) => [name, ...partitions.map((one) => one.committedOffset)]),
    ).toEqual([
      ['orders', 1n, 2n],
      ['other', 3n],
    ]);
  });
});

describe('deleting', () => {
  it('removes a group with its offsets, for restarts too', async () => {
    const group = new GroupFixture();
    await group.stable('a');
    const [memberId = ''] =
      group.coordinator.describeGroup('g')?.members.map((m) => m.memberId) ?? [];
    group.commit({ memberId, generationId: 1 });
    expect(group.coordinator.deleteGroups(['g', 'none'])).toEqual([
      { groupId: 'g', errorCode: errorCodes.NON_EMPTY_GROUP },
      { groupId: 'none', errorCode: errorCodes.GROUP_ID_NOT_FOUND },
    ]);
    group.coordinator.leaveGroup('g', [{ memberId, groupInstanceId: null, reason: null }]);
    expect(group.coordinator.deleteGroups(['g'])).toEqual([{ groupId: 'g', errorCode: 0 }]);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(-1n);
    expect(group.coordinator.describeGroup('g')).toBeUndefined();
    const after = group.restart();
    expect(after.coordinator.describeGroup('g')).toBeUndefined();
    expect(after.fetch('orders', 0)?.committedOffset).toBe(-1n);
    expect(group.log.decoded().slice(-2)).toEqual([
      { kind: 'offset', groupId: 'g', topic: 'orders', partition: 0, value: null },
      { kind: 'group', groupId: 'g', value: null },
    ]);
  });

  it('removes offsets of topics that the group no longer reads (KIP-496)', async () => {
    const group = new GroupFixture();
    const none = group.coordinator.deleteOffsets('none', []);
    expect(none.errorCode).toBe(errorCodes.GROUP_ID_NOT_FOUND);
    expect(group.coordinator.deleteOffsets('', []).errorCode).toBe(errorCodes.INVALID_GROUP_ID);
    group.commit({ topics: [...commitOf('orders', 0, 1n), ...commitOf('other', 0, 1n)] });
    await group.stable('a');
    const deleted = group.coordinator.deleteOffsets('g', [
      { name: 'orders', partitionIndexes: [0] },
      { name: 'other', partitionIndexes: [0, 1] },
    ]);
    expect(deleted).toEqual({
      errorCode: 0,
      topics: [
        {
          name: 'orders',
          partitions: [{ partitionIndex: 0, errorCode: errorCodes.GROUP_SUBSCRIBED_TO_TOPIC }],
        },
        {
          name: 'other',
          partitions: [
            { partitionIndex: 0, errorCode: 0 },
            { partitionIndex: 1, errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION },
          ],
        },
      ],
    });
    expect(group.fetch('other', 0)?.committedOffset).toBe(-1n);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(1n);
  });

  it('refuses to touch the offsets of a group of another protocol that has members', () => {
    const group = new GroupFixture();
    group.join({ requiresKnownMemberId: false, protocolType: 'connect' });
    expect(group.coordinator.deleteOffsets('g', []).errorCode).toBe(errorCodes.NON_EMPTY_GROUP);
  });

  it('takes a consumer group whose metadata cannot be read as subscribed to everything', async () => {
    const group = new GroupFixture();
    group.commit();
    group.join({
      requiresKnownMemberId: false,
      protocols: [{ name: 'range', metadata: Buffer.from([0, 0, 127, 255, 255, 255]) }],
    });
    group.clock.advance(0);
    await group.settle();
    const deleted = group.coordinator.deleteOffsets('g', [
      { name: 'orders', partitionIndexes: [0] },
    ]);
    expect(deleted.topics[0]?.partitions[0]?.errorCode).toBe(errorCodes.GROUP_SUBSCRIBED_TO_TOPIC);
  });

  it('removes the offsets of a topic with the topic', () => {
    const group = new GroupFixture();
    group.commit({ topics: [...commitOf('orders', 0, 1n), ...commitOf('other', 0, 1n)] });
    group.coordinator.onTopicDeleted('orders');
    expect(group.fetch('orders', 0)?.committedOffset).toBe(-1n);
    expect(group.restart().fetch('orders', 0)?.committedOffset).toBe(-1n);
    expect(group.restart().fetch('other', 0)?.committedOffset).toBe(1n);
  });

  it('splits many tombstones over batches', () => {
    const group = new GroupFixture();
    group.topics.set('wide', 10_000);
    const partitions = Array.from({ length: 10_000 }, (_, partitionIndex) => ({
      partitionIndex,
      committedOffset: 1n,
      committedLeaderEpoch: -1,
      committedMetadata: null,
    }));
    group.commit({ groupId: 'g'.repeat(100), topics: [{ name: 'wide', partitions }] });
    const before = group.log.batches.length;
    group.coordinator.deleteGroups(['g'.repeat(100)]);
    expect(group.log.batches.length - before).toBeGreaterThan(2);
    expect(group.restart().coordinator.listGroups([], [])).toEqual([]);
  });
});

describe('expiry', () => {
  const config = { offsetsRetentionMs: DAY_MS, offsetsRetentionCheckIntervalMs: 600_000 };

  it('removes offsets of a simple group a retention after their commit, then the group', () => {
    const group = new GroupFixture(config);
    group.commit({ topics: commitOf('orders', 0, 1n) });
    group.clock.advance(DAY_MS / 2);
    group.commit({ topics: commitOf('orders', 1, 2n) });
    group.clock.advance(DAY_MS / 2 + 600_000);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(-1n);
    expect(group.fetch('orders', 1)?.committedOffset).toBe(2n);
    group.clock.advance(DAY_MS / 2);
    expect(group.coordinator.describeGroup('g')).toBeUndefined();
    expect(group.restart().coordinator.listGroups([], [])).toEqual([]);
  });

  it('counts from the time that a group with members became empty', async () => {
    const group = new GroupFixture(config);
    const [a = ''] = await group.stable('a');
    group.commit({ memberId: a, generationId: 1 });
    for (let waited = 0; waited < 3 * DAY_MS; waited += 9_000) {
      group.heartbeat(a, 1);
      group.clock.advance(9_000);
    }
    expect(group.fetch('orders', 0)?.committedOffset).toBe(42n);
    group.coordinator.leaveGroup('g', [{ memberId: a, groupInstanceId: null, reason: null }]);
    group.clock.advance(DAY_MS - 1);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(42n);
    group.clock.advance(600_001);
    expect(group.coordinator.describeGroup('g')).toBeUndefined();
  });

  it('removes offsets of topics that a stable group stopped reading', async () => {
    const group = new GroupFixture(config);
    group.commit({ topics: [...commitOf('orders', 0, 1n), ...commitOf('other', 0, 1n)] });
    const [a = ''] = await group.stable('a');
    for (let waited = 0; waited < DAY_MS + 600_000; waited += 9_000) {
      group.heartbeat(a, 1);
      group.clock.advance(9_000);
    }
    expect(group.fetch('orders', 0)?.committedOffset).toBe(1n);
    expect(group.fetch('other', 0)?.committedOffset).toBe(-1n);
  });

  it('keeps the retention that an old client asked for, over restarts', () => {
    const group = new GroupFixture(config);
    group.commit({ retentionTimeMs: BigInt(3 * DAY_MS) });
    group.clock.advance(2 * DAY_MS);
    expect(group.fetch('orders', 0)?.committedOffset).toBe(42n);
    const after = group.restart(config);
    // The new clock stands where the old one began.
    after.clock.advance(3 * DAY_MS + 600_000);
    expect(after.fetch('orders', 0)?.committedOffset).toBe(-1n);
  });

  it('keeps a group that somebody is about to join', () => {
    const group = new GroupFixture({ ...config, offsetsRetentionCheckIntervalMs: 1_000 });
    const memberId = group.join().result?.memberId ?? '';
    group.clock.advance(5_000);
    const joined = group.join({
      memberId,
      protocols: [{ name: 'r', metadata: subscriptionTo('x') }],
    });
    expect(joined.result).toBeUndefined();
    expect(group.state()).toBe('PreparingRebalance');
  });
});
