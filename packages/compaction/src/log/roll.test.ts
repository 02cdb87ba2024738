import { describe, expect, it } from 'vitest';
import { plainBatch, T0 } from '../testing/batches.ts';
import { newMemoryLog } from '../testing/memory-log-dir.ts';
import type { Log } from './log.ts';

const FOREVER = { 'message.timestamp.after.max.ms': '9223372036854775807' };
const bases = (log: Log): number[] => log.segments.map((one) => Number(one.baseOffset));

describe('a roll', () => {
  it('comes when segment.bytes would be passed, not before', async () => {
    const size = plainBatch(2).length;
    const { log } = await newMemoryLog({ 'internal.segment.bytes': String(2 * size) });
    for (let i = 0; i < 5; i++) log.appendAsLeader(plainBatch(2));
    expect(bases(log)).toEqual([0, 4, 8]);
  });

  it('comes by record time after segment.ms, counted from the first batch', async () => {
    const { log, clock } = await newMemoryLog({ ...FOREVER, 'segment.ms': '1000' });
    log.appendAsLeader(plainBatch(1, { timestamp: T0 }));
    clock.advance(100_000);
    log.appendAsLeader(plainBatch(1, { timestamp: T0 + 1000 }));
    expect(bases(log)).toEqual([0]);
    log.appendAsLeader(plainBatch(1, { timestamp: T0 + 1001 }));
    expect(bases(log)).toEqual([0, 2]);
  });

  it('comes by the clock when records have no time', async () => {
    const { log, clock } = await newMemoryLog({ 'segment.ms': '1000' });
    log.appendAsLeader(plainBatch(1, { timestamp: -1 }));
    clock.advance(1000);
    log.appendAsLeader(plainBatch(1, { timestamp: -1 }));
    expect(bases(log)).toEqual([0]);
    clock.advance(1);
    log.appendAsLeader(plainBatch(1, { timestamp: -1 }));
    expect(bases(log)).toEqual([0, 2]);
  });

  it('is brought forward by max.compaction.lag.ms on compacted topics only', async () => {
    for (const policy of ['compact', 'delete']) {
      const { log } = await newMemoryLog({
        ...FOREVER,
        'cleanup.policy': policy,
        'max.compaction.lag.ms': '500',
      });
      log.appendAsLeader(plainBatch(1, { timestamp: T0 }));
      log.appendAsLeader(plainBatch(1, { timestamp: T0 + 501 }));
      expect(bases(log)).toEqual(policy === 'compact' ? [0, 1] : [0]);
    }
  });

  it('is brought forward by jitter, by less than segment.jitter.ms', async () => {
    const { log } = await newMemoryLog({
      ...FOREVER,
      'segment.ms': '10000',
      'segment.jitter.ms': '5000',
    });
    const jitter = log.segments[0]?.rollJitterMs ?? 0;
    expect(jitter).toBeGreaterThan(0);
    expect(jitter).toBeLessThan(5000);
    log.appendAsLeader(plainBatch(1, { timestamp: T0 }));
    log.appendAsLeader(plainBatch(1, { timestamp: T0 + 10_000 - jitter }));
    expect(bases(log)).toEqual([0]);
    log.appendAsLeader(plainBatch(1, { timestamp: T0 + 10_001 - jitter }));
    expect(bases(log)).toEqual([0, 2]);
  });

  it('comes when an index is full', async () => {
    const { log } = await newMemoryLog({
      'segment.index.bytes': '36',
      'index.interval.bytes': '0',
    });
    for (let i = 0; i < 12; i++) log.appendAsLeader(plainBatch(1, { timestamp: T0 + i }));
    // Room for three time index entries, one of which closes the segment.
    for (const segment of log.segments) expect(segment.timeIndex.entryCount).toBeLessThanOrEqual(3);
    expect(log.segments.length).toBeGreaterThan(2);
  });

  it('of an empty segment changes nothing', async () => {
    const { log } = await newMemoryLog();
    log.roll();
    log.roll();
    expect(bases(log)).toEqual([0]);
    log.appendAsLeader(plainBatch(1));
    log.roll();
    log.roll();
    expect(bases(log)).toEqual([0, 1]);
  });
});

describe('flush', () => {
  it('is due once flush.messages have been appended, and moves the recovery point', async () => {
    const { log } = await newMemoryLog({ 'flush.messages': '5' });
    log.appendAsLeader(plainBatch(4));
    expect(log.flushIfDue()).toBeUndefined();
    log.appendAsLeader(plainBatch(1));
    const due = log.flushIfDue();
    expect(due).toBeInstanceOf(Promise);
    await due;
    expect(log.recoveryPoint).toBe(5n);
    expect(log.flushIfDue()).toBeUndefined();
  });

  it('is due after flush.ms', async () => {
    const { log, dir, clock } = await newMemoryLog({ 'flush.ms': '1000' });
    log.appendAsLeader(plainBatch(1));
    clock.advance(999);
    await dir.flushDueLogs();
    expect(log.recoveryPoint).toBe(0n);
    clock.advance(1);
    await dir.flushDueLogs();
    expect(log.recoveryPoint).toBe(1n);
  });

  it('shares one sync among the calls of a tick', async () => {
    const { log, disk } = await newMemoryLog();
    log.appendAsLeader(plainBatch(1));
    let syncs = 0;
    disk.onOperation = ({ kind, path }) => {
      if (kind === 'sync' && path.endsWith('.log')) syncs++;
      return undefined;
    };
    await Promise.all(Array.from({ length: 10 }, () => log.flush()));
    expect(syncs).toBe(1);
  });
});
