import { RecordBatch } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { CorruptBatchError, OffsetOutOfRangeError } from '../errors.ts';
import { batchOf, plainBatch, recordsIn, T0 } from '../testing/batches.ts';
import { newMemoryLog, nextOffsetOf, readAll, ROOT } from '../testing/memory-log-dir.ts';
import type { Log } from './log.ts';

/** A follower's batch may start anywhere: holes as compaction leaves them. */
function appendAt(log: Log, baseOffset: bigint, count: number, lastOffsetDelta = count - 1): void {
  log.appendAsFollower(plainBatch(count, { baseOffset, lastOffsetDelta }));
}

describe('read', () => {
  it('gives OFFSET_OUT_OF_RANGE outside, nothing at the end', async () => {
    const { log } = await newMemoryLog();
    log.appendAsLeader(plainBatch(2));
    expect(log.read(2n, 1000).records).toHaveLength(0);
    expect(() => log.read(3n, 1000)).toThrow(OffsetOutOfRangeError);
    expect(() => log.read(-1n, 1000)).toThrow(OffsetOutOfRangeError);
  });

  it('gives the whole batch that an offset lies in', async () => {
    const { log } = await newMemoryLog();
    log.appendAsLeader(plainBatch(10));
    expect(recordsIn(log.read(7n, 1000).records).map((one) => one.offset)[0]).toBe(0n);
  });

  it('goes on behind a hole, in the segment and across segments', async () => {
    const { log } = await newMemoryLog();
    appendAt(log, 0n, 2);
    appendAt(log, 10n, 2);
    log.roll();
    appendAt(log, 20n, 2);
    expect(recordsIn(log.read(5n, 60).records)[0]?.offset).toBe(10n);
    expect(recordsIn(log.read(12n, 60).records)[0]?.offset).toBe(20n);
    expect(recordsIn(log.read(15n, 60).records)[0]?.offset).toBe(20n);
  });

  it('gives a first batch above the limit whole, or nothing if told so', async () => {
    const { log } = await newMemoryLog();
    const batch = batchOf([{ value: 'x'.repeat(20_000) }]);
    log.appendAsLeader(Buffer.from(batch));
    log.appendAsLeader(plainBatch(1));
    expect(log.read(0n, 10).records).toHaveLength(batch.length);
    expect(log.read(0n, 10, { minOneBatch: false }).records).toHaveLength(0);
    expect(log.read(0n, batch.length + 10).records).toHaveLength(batch.length);
  });

  it('never ends right after a batch without records while more is there', async () => {
    const { log } = await newMemoryLog();
    appendAt(log, 0n, 1);
    log.appendAsFollower(batchOf([], { baseOffset: 1n, lastOffsetDelta: 3 }));
    log.roll();
    appendAt(log, 5n, 1);
    const { records } = log.read(1n, 10_000);
    expect(recordsIn(records).map((one) => one.offset)).toEqual([5n]);
    expect(nextOffsetOf(records)).toBe(6n);
    expect(log.read(1n, 62, { minOneBatch: false }).records).toHaveLength(61);
  });

  it('shows consumers nothing from the high watermark on, followers everything', async () => {
    const { log } = await newMemoryLog();
    log.highWatermarkFollowsEnd = false;
    for (let i = 0; i < 4; i++) log.appendAsLeader(plainBatch(2));
    expect(log.read(0n, 10_000).records).toHaveLength(0);
    log.updateHighWatermark(4n);
    expect(recordsIn(log.read(0n, 10_000).records)).toHaveLength(4);
    expect(recordsIn(log.read(0n, 10_000, { isolation: 'logEnd' }).records)).toHaveLength(8);
    log.updateHighWatermark(6n);
    expect(recordsIn(log.read(4n, 10_000).records)).toHaveLength(2);
  });

  it('finds every offset in segments with many index entries, in any order', async () => {
    const { log } = await newMemoryLog({
      'internal.segment.bytes': '8000',
      'index.interval.bytes': '100',
    });
    for (let i = 0; i < 300; i++) log.appendAsLeader(plainBatch(3));
    expect(log.segments.length).toBeGreaterThan(2);
    for (let i = 0; i < 900; i += 7) {
      const offset = BigInt((i * 571) % 900);
      const first = new RecordBatch(log.read(offset, 1).records);
      expect(first.baseOffset).toBe(offset - (offset % 3n));
    }
  });

  it('names topic, file and position of what is corrupt', async () => {
    const { log, disk } = await newMemoryLog();
    log.appendAsLeader(plainBatch(2));
    const second = log.sizeInBytes;
    log.appendAsLeader(plainBatch(2));
    disk.contentOf(`${ROOT}/t-0/00000000000000000000.log`).writeInt32BE(5, second + 8);
    expect(recordsIn(log.read(0n, 10_000).records)).toHaveLength(2);
    expect(() => log.read(2n, 10_000)).toThrow(CorruptBatchError);
    expect(() => log.read(2n, 10_000)).toThrow(
      new RegExp(`t-0.*/data/t-0/00000000000000000000\\.log at byte ${String(second)}`),
    );
  });
});

describe('lookup by time', () => {
  it('finds the first record at or after a time, in order of offsets', async () => {
    const { log } = await newMemoryLog({ 'index.interval.bytes': '50' });
    for (let i = 0; i < 50; i++) log.appendAsLeader(plainBatch(2, { timestamp: T0 + i * 10 }));
    log.roll();
    log.appendAsLeader(plainBatch(2, { timestamp: T0 + 1000 }), { leaderEpoch: 0 });
    expect(log.offsetForTimestamp(0)).toEqual({ offset: 0n, timestamp: T0, leaderEpoch: 0 });
    expect(log.offsetForTimestamp(T0 + 95)?.offset).toBe(20n);
    expect(log.offsetForTimestamp(T0 + 100)?.offset).toBe(20n);
    expect(log.offsetForTimestamp(T0 + 491)?.offset).toBe(100n);
    expect(log.offsetForTimestamp(T0 + 1001)).toBeNull();
    await log.deleteRecords(21n);
    expect(log.offsetForTimestamp(T0)?.offset).toBe(21n);
  });

  it('finds the record with the greatest time, also in a compressed batch (KAFKA-16342)', async () => {
    for (const codec of ['none', 'gzip'] as const) {
      const { log } = await newMemoryLog();
      expect(log.offsetOfMaxTimestamp()).toBeNull();
      log.appendAsLeader(
        batchOf(
          [5, 9, 7].map((timestamp) => ({ value: 'v', timestamp })),
          { codec },
        ),
      );
      expect(log.offsetOfMaxTimestamp()).toEqual({ offset: 1n, timestamp: 9, leaderEpoch: 0 });
    }
  });

  it('takes every record of a LogAppendTime batch for its broker time (kafkajs#768)', async () => {
    const { log } = await newMemoryLog({ 'message.timestamp.type': 'LogAppendTime' });
    log.appendAsLeader(plainBatch(3, { timestamp: -1 }));
    expect(log.offsetForTimestamp(T0)?.offset).toBe(0n);
  });
});

describe('appendAsFollower', () => {
  it('takes offsets, epochs and holes as they come, and refuses those that go back', async () => {
    const { log } = await newMemoryLog();
    const first = plainBatch(2, { baseOffset: 5n, leaderEpoch: 2 });
    const second = plainBatch(2, { baseOffset: 9n, leaderEpoch: 3 });
    expect(
      log.appendAsFollower(Buffer.concat([first, second, second.subarray(0, 30)])),
    ).toMatchObject({
      firstOffset: 5n,
      lastOffset: 10n,
      recordCount: 4,
    });
    expect(log.leaderEpochs).toEqual([
      { epoch: 2, startOffset: 5n },
      { epoch: 3, startOffset: 9n },
    ]);
    expect(log.endOffsetForEpoch(2)).toEqual({ epoch: 2, endOffset: 9n });
    expect(log.endOffsetForEpoch(3)).toEqual({ epoch: 3, endOffset: 11n });
    expect(log.endOffsetForEpoch(4)).toEqual({ epoch: -1, endOffset: -1n });
    expect(log.endOffsetForEpoch(1)).toEqual({ epoch: 1, endOffset: 5n });
    expect(() => log.appendAsFollower(plainBatch(1, { baseOffset: 10n }))).toThrow(
      /below the expected 11/,
    );
    expect(log.logEndOffset).toBe(11n);
  });

  it('counts offsets above 2^53 exactly and rolls where 32 bits end', async () => {
    const { log } = await newMemoryLog();
    const far = 9_007_199_254_740_993n;
    appendAt(log, far, 2);
    appendAt(log, far + 2n ** 31n + 5n, 2);
    expect(log.segments.map((one) => one.baseOffset)).toEqual([0n, far, far + 2n ** 31n + 5n]);
    expect(readAll(log).map((one) => one.offset - far)).toEqual([
      0n,
      1n,
      2n ** 31n + 5n,
      2n ** 31n + 6n,
    ]);
  });
});
