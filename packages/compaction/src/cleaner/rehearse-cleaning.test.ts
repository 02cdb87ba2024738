import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Log } from '../log/log.ts';
import type { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf, markerBatch, T0 } from '../testing/batches.ts';
import { cleanNow, toolsOf } from '../testing/cleaning.ts';
import { newMemoryLog, readAll, ROOT } from '../testing/memory-log-dir.ts';
import { cleanableRange } from './cleanable-range.ts';
import { rehearseCleaning } from './rehearse-cleaning.ts';

const COMPACT = { 'cleanup.policy': 'compact', 'delete.retention.ms': '1000' };

function filesOf(disk: MemoryDisk): unknown {
  return disk.list(`${ROOT}/t-0`).map(({ name }) => {
    const file = `${ROOT}/t-0/${name}`;
    return [name, disk.stat(file)?.modifiedMs, disk.contentOf(file).toString('hex')];
  });
}

interface Seen {
  records: number;
  tombstones: number;
  markers: number;
  bytes: number;
}

function seenIn(log: Log): Seen {
  const seen = { records: 0, tombstones: 0, markers: 0, bytes: log.sizeInBytes };
  for (const record of readAll(log)) {
    if (record.isControl) seen.markers++;
    else seen.records++;
    if (!record.isControl && record.value === null) seen.tombstones++;
  }
  return seen;
}

const step = fc.oneof(
  fc.record({ key: fc.nat(3), value: fc.option(fc.nat(9), { nil: null }) }),
  fc.constantFrom('roll' as const, 'transaction' as const),
);

describe('a rehearsed pass', () => {
  it('removes what a real one does, at any time, and changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 30 }),
        fc.array(fc.nat(2_000), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 2, max: 6 }),
        async (steps, delays, slots) => {
          const { log, disk, clock } = await newMemoryLog(COMPACT);
          for (const one of steps) {
            if (one === 'roll') log.roll();
            else if (one === 'transaction') {
              log.appendAsLeader(markerBatch('abort', 7n), {
                origin: 'coordinator',
              });
            } else {
              const value = one.value === null ? null : String(one.value);
              log.appendAsLeader(batchOf([{ key: String(one.key), value, timestamp: T0 }]));
            }
          }
          log.roll();
          let checkpoint: bigint | undefined;
          for (const delay of delays) {
            clock.advance(delay);
            disk.nowMs = clock.now();
            const range = cleanableRange(log, checkpoint, clock.now());
            if (range.compactableBytes === 0) break;
            const files = filesOf(disk);
            const before = seenIn(log);
            const tools = toolsOf(disk, clock, slots);
            const { removed, report } = rehearseCleaning(log, range, tools, clock.now());
            expect(filesOf(disk)).toEqual(files);
            const real = await cleanNow(log, tools, checkpoint);
            expect(report.nextFirstDirtyOffset).toBe(real?.nextFirstDirtyOffset);
            const after = seenIn(log);
            expect(removed).toMatchObject({
              records: before.records - after.records,
              tombstones: before.tombstones - after.tombstones,
              markers: before.markers - after.markers,
              bytes: before.bytes - after.bytes,
            });
            checkpoint = real?.nextFirstDirtyOffset;
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('judges horizons by the time that it is given', async () => {
    const { log, disk, clock } = await newMemoryLog(COMPACT);
    log.appendAsLeader(batchOf([{ key: 'a', value: null }]));
    log.roll();
    await cleanNow(log, toolsOf(disk, clock), undefined);
    const range = { firstDirtyOffset: 0n, firstUncleanableOffset: 1n };
    const at = (nowMs: number): number =>
      rehearseCleaning(log, range, toolsOf(disk, clock), nowMs).removed.tombstones;
    expect(at(clock.now())).toBe(0);
    expect(at(clock.now() + 999)).toBe(0);
    expect(at(clock.now() + 1_000)).toBe(1);
    expect(readAll(log)).toHaveLength(1);
  });
});
