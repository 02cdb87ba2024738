import { describe, expect, it } from 'vitest';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import { plainBatch, T0 } from '../testing/batches.ts';
import { newMemoryLog, ROOT } from '../testing/memory-log-dir.ts';
import type { Log } from './log.ts';

const FOREVER = { 'message.timestamp.after.max.ms': '9223372036854775807' };

/** One batch per segment, each with its own time. */
function fill(log: Log, timestamps: readonly number[]): void {
  for (const timestamp of timestamps) {
    log.appendAsLeader(plainBatch(2, { timestamp }));
    log.roll();
  }
}

const bases = (log: Log): number[] => log.segments.map((one) => Number(one.baseOffset));

describe('retention by time', () => {
  it('deletes what is older than retention.ms, oldest first, and moves the log start', async () => {
    const { log, dir, clock } = await newMemoryLog({ 'retention.ms': '1000' });
    fill(log, [T0, T0 + 500, T0 + 900]);
    clock.setNow(T0 + 1500);
    await dir.runRetention();
    // 1000 ms are not more than 1000 ms.
    expect(bases(log)).toEqual([2, 4, 6]);
    expect(log.logStartOffset).toBe(2n);
  });

  it('stops at a segment with a future timestamp, whatever lies behind it', async () => {
    const { log, dir, clock } = await newMemoryLog({ ...FOREVER, 'retention.ms': '1000' });
    fill(log, [T0, T0 + 1e9, T0]);
    clock.setNow(T0 + 5000);
    await dir.runRetention();
    expect(bases(log)).toEqual([2, 4, 6]);
  });

  it('goes by the file when no record has a time', async () => {
    const { log, dir, clock, disk } = await newMemoryLog({ 'retention.ms': '1000' });
    fill(log, [-1, -1]);
    await dir.runRetention();
    expect(bases(log)).toEqual([0, 2, 4]);
    disk.setModified(`${ROOT}/t-0/00000000000000000000.log`, T0 - 1001);
    clock.setNow(T0);
    await dir.runRetention();
    expect(bases(log)).toEqual([2, 4]);
  });

  it('rolls an empty segment when all of them go, and never deletes that one', async () => {
    const { log, dir, clock } = await newMemoryLog({ 'retention.ms': '1000' });
    log.appendAsLeader(plainBatch(3));
    clock.setNow(T0 + 5000);
    await dir.runRetention();
    expect(bases(log)).toEqual([3]);
    expect([log.logStartOffset, log.logEndOffset]).toEqual([3n, 3n]);
    await dir.runRetention();
    expect(bases(log)).toEqual([3]);
    expect(log.appendAsLeader(plainBatch(1)).firstOffset).toBe(3n);
  });
});

describe('retention by size', () => {
  it('never lets the log fall below retention.bytes', async () => {
    const { log, dir } = await newMemoryLog();
    fill(log, [T0, T0, T0]);
    const size = log.segments[0]?.sizeBytes ?? 0;
    log.updateConfig({ ...log.config, retentionBytes: 2 * size + 1 });
    await dir.runRetention();
    expect(bases(log)).toEqual([0, 2, 4, 6]);
    log.updateConfig({ ...log.config, retentionBytes: 2 * size });
    await dir.runRetention();
    expect(bases(log)).toEqual([2, 4, 6]);
  });
});

describe('retention by policy', () => {
  for (const policy of ['compact', '']) {
    it(`of "${policy}" deletes only what lies below the log start`, async () => {
      const { log, dir, clock } = await newMemoryLog({
        'retention.ms': '1000',
        'retention.bytes': '1',
      });
      fill(log, [T0, T0, T0]);
      await log.deleteRecords(3n);
      log.updateConfig({
        ...log.config,
        cleanupPolicy: { compact: policy === 'compact', delete: false },
      });
      clock.setNow(T0 + 1e9);
      await dir.runRetention();
      expect(bases(log)).toEqual([2, 4, 6]);
      expect(log.logStartOffset).toBe(3n);
    });
  }

  it('of compact,delete runs all rules', async () => {
    const { log, dir, clock } = await newMemoryLog({
      'cleanup.policy': 'compact,delete',
      'retention.ms': '1000',
    });
    fill(log, [T0, T0 + 4500]);
    clock.setNow(T0 + 5000);
    await dir.runRetention();
    expect(bases(log)).toEqual([2, 4]);
  });
});

describe('retention and the rest', () => {
  it('keeps segments that the high watermark has not reached', async () => {
    const { log, dir, clock } = await newMemoryLog({ 'retention.ms': '0' });
    log.highWatermarkFollowsEnd = false;
    fill(log, [T0, T0, T0]);
    log.updateHighWatermark(3n);
    clock.setNow(T0 + 5000);
    await dir.runRetention();
    expect(bases(log)).toEqual([2, 4, 6]);
  });

  it('renames at once, unlinks after file.delete.delay.ms, and takes snapshots along', async () => {
    const { log, dir, clock, disk } = await newMemoryLog({ 'retention.ms': '1000' });
    fill(log, [T0, T0 + 4500, T0 + 4500]);
    clock.setNow(T0 + 5000);
    const names = (): string[] => disk.list(`${ROOT}/t-0`).map((one) => one.name);
    expect(names()).toContain('00000000000000000002.snapshot');
    await dir.runRetention();
    expect(names().filter((name) => name.endsWith('.deleted'))).toEqual([
      '00000000000000000000.index.deleted',
      '00000000000000000000.log.deleted',
      '00000000000000000000.timeindex.deleted',
    ]);
    clock.advance(59_999);
    await yieldToEventLoop();
    expect(names().some((name) => name.endsWith('.deleted'))).toBe(true);
    clock.advance(1);
    await yieldToEventLoop();
    expect(names().some((name) => name.endsWith('.deleted'))).toBe(false);
  });

  it('keeps the epoch that covers the new start, and the state of producers', async () => {
    const { log, dir, clock } = await newMemoryLog({ 'retention.ms': '1000' });
    const producer = { producerId: 3n, producerEpoch: 0, baseSequence: 0 };
    log.appendAsLeader(plainBatch(2, producer), { leaderEpoch: 1 });
    log.appendAsLeader(plainBatch(2), { leaderEpoch: 4 });
    log.roll();
    log.appendAsLeader(plainBatch(2, { timestamp: T0 + 4500 }), { leaderEpoch: 4 });
    clock.setNow(T0 + 5000);
    await dir.runRetention();
    expect(log.leaderEpochs).toEqual([{ epoch: 4, startOffset: 4n }]);
    expect(log.appendAsLeader(plainBatch(2, producer)).isDuplicate).toBe(true);
  });
});
