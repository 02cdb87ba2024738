/** Offsets that are committed in transactions: which groups they belong to, and how long. */
import { FakeClock, MemoryDisk } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { coordinatorPartition } from '../coordinators/coordinator-partition.ts';
import { CONSUMER_OFFSETS_TOPIC } from '../topics/topic.ts';
import { TransactionFixture } from './test-support/transaction-fixture.ts';

const opened: TransactionFixture[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

async function open(
  disk = new MemoryDisk(),
  clock = new FakeClock(),
  config: Record<string, number> = {},
): Promise<TransactionFixture> {
  const broker = await TransactionFixture.open(disk, clock, config);
  opened.push(broker);
  return broker;
}

/** A group in each of the two partitions of `__consumer_offsets`. */
const [groupOf0, groupOf1] = [0, 1].map(
  (partition) =>
    ['a', 'b', 'c', 'd'].find((id) => coordinatorPartition(id, 2) === partition) as string,
) as [string, string];

const describeGroup = (broker: TransactionFixture, groupId: string): string | undefined =>
  broker.groups.describeGroup(groupId)?.groupState;

describe('offsets of a transaction', () => {
  it('end with the marker in the partition of their group, and no other, also when they are loaded', async () => {
    const disk = new MemoryDisk();
    const broker = await open(disk);
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    // Partition 1 has the marker of an earlier transaction; partition 0, loaded first, an open one.
    await broker.commitOffset(producer, groupOf1, 't', 1n);
    expect(await broker.end(producer, true)).toBe('NONE');
    await broker.commitOffset(producer, groupOf0, 't', 5n);
    const after = await open(disk.afterKill(), new FakeClock(broker.clock.now()));
    expect(after.offset(groupOf1, 't')).toBe(1n);
    expect(after.offset(groupOf0, 't')).toBe('UNSTABLE_OFFSET_COMMIT');
    expect(after.offset(groupOf0, 't', false)).toBe(-1n);
    // The same while it runs, with both in one transaction.
    await after.commitOffset(producer, groupOf1, 't', 6n);
    after.groups.completeTransaction(producer.producerId, 1, true);
    expect(after.offset(groupOf1, 't')).toBe(6n);
    expect(after.offset(groupOf0, 't')).toBe('UNSTABLE_OFFSET_COMMIT');
    expect(await after.end(producer, true)).toBe('NONE');
    expect(after.offset(groupOf0, 't')).toBe(5n);
  });

  it('of two producers in one group wait for their own markers', async () => {
    const broker = await open();
    await broker.createTopic('t');
    const [one, two] = [await broker.init('one'), await broker.init('two')];
    await broker.commitOffset(one, 'g', 't', 1n);
    await broker.commitOffset(two, 'g', 't', 2n);
    expect(await broker.end(two, true)).toBe('NONE');
    expect(broker.offset('g', 't', false)).toBe(2n);
    expect(broker.offset('g', 't')).toBe('UNSTABLE_OFFSET_COMMIT');
    // It was written before the other one, so it does not count any more.
    expect(await broker.end(one, true)).toBe('NONE');
    expect(broker.offset('g', 't')).toBe(2n);
  });

  it('keep their group, which goes with them when they are dropped', async () => {
    const hour = 3_600_000;
    const disk = new MemoryDisk();
    const clock = new FakeClock();
    const broker = await open(disk, clock, { 'offsets.retention.minutes': 1 });
    await broker.createTopic('t');
    const producer = await broker.init('tx', 600_000);
    await broker.commitOffset(producer, 'g', 't', 1n);
    clock.advance(hour);
    expect(describeGroup(broker, 'g')).toBe('Empty');
    expect(await broker.end(producer, false)).toBe('NONE');
    clock.advance(hour);
    expect(describeGroup(broker, 'g')).toBeUndefined();
  });

  it('that were there before do not expire while others are pending', async () => {
    const hour = 3_600_000;
    const clock = new FakeClock();
    const broker = await open(new MemoryDisk(), clock, { 'offsets.retention.minutes': 1 });
    await broker.createTopic('t');
    const producer = await broker.init('tx', 600_000);
    await broker.commitOffset(producer, 'g', 't', 1n);
    await broker.end(producer, true);
    await broker.commitOffset(producer, 'g', 't', 2n);
    clock.advance(hour);
    expect(broker.offset('g', 't', false)).toBe(1n);
    await broker.end(producer, false);
    clock.advance(hour);
    expect(broker.offset('g', 't')).toBe(-1n);
    expect(describeGroup(broker, 'g')).toBeUndefined();
  });

  it('that are deleted do not come back with the commit, nor after a kill', async () => {
    const disk = new MemoryDisk();
    const broker = await open(disk);
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    await broker.commitOffset(producer, 'g', 't', 1n);
    const deleted = broker.groups.deleteOffsets('g', [{ name: 't', partitionIndexes: [0] }]);
    expect(deleted.topics).toEqual([
      { name: 't', partitions: [{ partitionIndex: 0, errorCode: errorCodes.NONE }] },
    ]);
    expect(broker.offset('g', 't')).toBe(-1n);
    expect(await broker.end(producer, true)).toBe('NONE');
    expect(broker.offset('g', 't')).toBe(-1n);
    const after = await open(disk.afterKill(), new FakeClock(broker.clock.now()));
    expect(after.offset('g', 't')).toBe(-1n);
  });

  it('of a deleted topic go with it', async () => {
    const disk = new MemoryDisk();
    const broker = await open(disk);
    await broker.createTopic('t');
    await broker.createTopic('kept');
    const producer = await broker.init('tx');
    await broker.commitOffset(producer, 'g', 't', 1n);
    await broker.commitOffset(producer, 'g', 'kept', 2n);
    broker.groups.onTopicDeleted('t');
    expect(await broker.end(producer, true)).toBe('NONE');
    expect(broker.offset('g', 't')).toBe(-1n);
    expect(broker.offset('g', 'kept')).toBe(2n);
  });

  it('leave nothing behind of a group that they would have been the first of, if they are refused', async () => {
    const broker = await open();
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    expect(await broker.commitOffset(producer, 'g', 'nowhere', 1n)).toBe(
      'UNKNOWN_TOPIC_OR_PARTITION',
    );
    expect(describeGroup(broker, 'g')).toBeUndefined();
  });

  it('are refused by the log to an epoch that is over', async () => {
    const broker = await open();
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    await broker.commitOffset(producer, 'g', 't', 1n);
    await broker.init('tx');
    const before = broker.log(CONSUMER_OFFSETS_TOPIC, coordinatorPartition('g', 2)).logEndOffset;
    const results = broker.groups.commitTransactionalOffsets({
      groupId: 'g',
      producerId: producer.producerId,
      producerEpoch: producer.producerEpoch,
      generationId: -1,
      memberId: '',
      groupInstanceId: null,
      topics: [
        {
          name: 't',
          partitions: [
            {
              partitionIndex: 0,
              committedOffset: 9n,
              committedLeaderEpoch: -1,
              committedMetadata: null,
            },
          ],
        },
      ],
    });
    expect(results[0]?.partitions[0]?.errorCode).toBe(errorCodes.INVALID_PRODUCER_EPOCH);
    const log = broker.log(CONSUMER_OFFSETS_TOPIC, coordinatorPartition('g', 2));
    expect(log.logEndOffset).toBe(before);
    expect(broker.offset('g', 't')).toBe(-1n);
  });
});
