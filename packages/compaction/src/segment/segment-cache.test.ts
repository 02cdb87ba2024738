import { describe, expect, it } from 'vitest';
import { FakeClock } from '../platform/fake-clock.ts';
import { MemoryDisk } from '../platform/memory-disk.ts';
import { plainBatch, T0 } from '../testing/batches.ts';
import { configOf, openMemoryDir, readAll } from '../testing/memory-log-dir.ts';
import { SegmentCache } from './segment-cache.ts';
import { Segment } from './segment.ts';

const settings = { indexIntervalBytes: 10 };

function segments(count: number): Segment[] {
  const disk = new MemoryDisk();
  disk.makeDirectory('/s');
  return Array.from({ length: count }, (_, i) => {
    const segment = Segment.create(disk, '/s', BigInt(i * 100), T0, 0);
    for (let j = 0; j < 4; j++) {
      segment.append(
        plainBatch(1, { baseOffset: BigInt(i * 100 + j), timestamp: T0 + j }),
        settings,
      );
    }
    return segment;
  });
}

describe('the cache of inactive segments', () => {
  it('keeps those used last and lets the indexes of the others go', () => {
    const cache = new SegmentCache({ maxOpenSegments: 2, maxIndexBytes: 1 << 20 });
    const [a, b, c] = segments(3) as [Segment, Segment, Segment];
    for (const one of [a, b, a, c]) cache.touch(one);
    expect(cache.openCount).toBe(2);
    expect([a.memoryBytes > 0, b.memoryBytes, c.memoryBytes > 0]).toEqual([true, 0, true]);
    // They come back with the next use.
    expect(b.positionOf(103n)).toBeGreaterThan(0);
    expect(b.timeIndex.lookup(T0 + 2).offset).toBe(102n);
  });

  it('is bounded by index bytes too, and forgets', () => {
    const all = segments(5);
    const bytes = all[0]?.memoryBytes ?? 0;
    const cache = new SegmentCache({ maxOpenSegments: 100, maxIndexBytes: 2 * bytes });
    for (const one of all) cache.touch(one);
    expect(cache.openCount).toBe(2);
    for (const one of all) cache.forget(one);
    expect(cache.openCount).toBe(0);
  });

  it('of one segment still lets a log of many be written, read, closed and opened', async () => {
    const disk = new MemoryDisk();
    const clock = new FakeClock(T0);
    const config = configOf({ 'internal.segment.bytes': '300', 'index.interval.bytes': '10' });
    const bounds = { maxOpenSegments: 1, maxIndexBytes: 1 };
    const dir = await openMemoryDir({ disk, clock, config }, bounds);
    const log = dir.createLog('t', 0, null, config);
    for (let i = 0; i < 100; i++) log.appendAsLeader(plainBatch(3));
    expect(readAll(log)).toHaveLength(300);
    await dir.close();
    const again = await openMemoryDir({ disk, clock, config }, bounds);
    const reopened = again.log('t', 0);
    expect(reopened && readAll(reopened)).toHaveLength(300);
    await again.close();
  });
});
