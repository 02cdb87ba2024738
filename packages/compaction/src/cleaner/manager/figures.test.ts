import { describe, expect, it } from 'vitest';
import { KilledError } from '../../platform/memory-disk.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import type { Log } from '../../log/log.ts';
import { batchOf, markerBatch } from '../../testing/batches.ts';
import { CleanerFixture, COMPACT, fillSegment } from '../../testing/log-cleaner.ts';
import { loadFigures, Slices } from './figures.ts';

const LAG = { ...COMPACT, 'min.compaction.lag.messages': '1' };

/** A log of three segments and some records, of which nothing is in memory. */
async function reopened(): Promise<Log> {
  const first = await CleanerFixture.open({ config: LAG });
  const log = first.log('t', LAG);
  for (let segment = 0; segment < 3; segment++) fillSegment(log, 4);
  log.appendAsLeader(batchOf([{ value: 'a' }, { value: 'b' }]));
  await first.dir.close();
  const again = await CleanerFixture.open({ disk: first.disk, config: LAG });
  return again.dir.log('t', 0) as Log;
}

describe('the figures of a log', () => {
  it('are in memory then, from the first dirty segment on', async () => {
    const log = await reopened();
    await loadFigures(log, 5n, new Slices(new FakeClock()));
    expect(log.segments.map(({ hasTimestamps }) => hasTimestamps)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(log.segments.map((segment) => segment.countDataRecords(0))).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it('count each data record once, also those that come while it is counted', async () => {
    const log = await reopened();
    const active = log.segments.at(-1);
    // One byte: one batch.
    expect(active?.countDataRecords(0)).toBe(false);
    log.appendAsLeader(batchOf([{ value: 'c' }]));
    expect(active?.countDataRecords(1)).toBe(false);
    log.appendAsLeader(batchOf([{ value: 'd' }, { value: 'e' }, { value: 'f' }]));
    log.appendAsLeader(markerBatch('commit', 1n), { origin: 'coordinator' });
    while (active?.countDataRecords(1) === false);
    expect(active?.dataRecordCount()).toBe(6);
    log.appendAsLeader(batchOf([{ value: 'g' }]));
    expect(active?.countDataRecords(0)).toBe(true);
    expect(active?.dataRecordCount()).toBe(7);
  });

  it('of a log that is cut meanwhile are left alone', async () => {
    const log = await reopened();
    const slices = new Slices(new FakeClock());
    slices.pause = async () => {
      await log.close();
      throw new KilledError();
    };
    await expect(loadFigures(log, 0n, slices)).rejects.toBeInstanceOf(KilledError);
    await loadFigures(log, 0n, new Slices(new FakeClock()));
    expect(log.segments.map(({ hasTimestamps }) => hasTimestamps)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
