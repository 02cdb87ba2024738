/** The owner's event loop while a worker cleans a large log; needs the build. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LogDir } from '../../log-dir/log-dir.ts';
import type { Log } from '../../log/log.ts';
import { systemClock } from '../../platform/clock.ts';
import { batchOf } from '../../testing/batches.ts';
import { keepingLogger, SETTINGS } from '../../testing/log-cleaner.ts';
import { configOf } from '../../testing/memory-log-dir.ts';
import { WorkerThread } from '../threads/worker-thread.ts';
import { LogCleaner } from './log-cleaner.ts';

const SCHEDSTAT = '/proc/thread-self/schedstat';
const canMeasure =
  existsSync(SCHEDSTAT) &&
  existsSync(new URL('../../../dist/cleaner/threads/cleaner-worker.js', import.meta.url));

const LARGE_BYTES = 200_000_000;
const LONGEST_TURN_MS = 10;

/** Processor time of this thread, ms: what other processes take from it does not count. */
function threadCpuMs(): number {
  return Number(readFileSync(SCHEDSTAT, 'latin1').split(' ')[0]) / 1e6;
}

/** The longest turns of the event loop, ms, until `done`; of each the shorter of wall and processor time. */
async function longestTurns(done: Promise<void>): Promise<number[]> {
  const turns: number[] = [];
  const state = { isDone: false };
  void done.finally(() => {
    state.isDone = true;
  });
  let wall = performance.now();
  let cpu = threadCpuMs();
  while (!state.isDone) {
    await new Promise(setImmediate);
    const nextWall = performance.now();
    const nextCpu = threadCpuMs();
    turns.push(Math.min(nextWall - wall, nextCpu - cpu));
    [wall, cpu] = [nextWall, nextCpu];
  }
  await done;
  return turns.sort((a, b) => b - a).slice(0, 5);
}

describe.skipIf(!canMeasure)('the event loop of who owns the logs', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'event-loop-'));
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it(`is blocked for less than ${String(LONGEST_TURN_MS)} ms while 200 MB are cleaned`, async () => {
    const config = configOf({
      'cleanup.policy': 'compact',
      'internal.segment.bytes': '2000000',
      'min.compaction.lag.messages': '1000',
      'file.delete.delay.ms': '100',
    });
    const value = 'x'.repeat(1_000);
    const batches = Array.from({ length: 50 }, (_, batch) =>
      batchOf(
        Array.from({ length: 100 }, (__, n) => ({ key: `k${String(batch * 100 + n)}`, value })),
      ),
    );
    let dir = await LogDir.open(directory, { configOf: () => config });
    const large = dir.createLog('large', 0, null, config);
    while (large.sizeInBytes < LARGE_BYTES) {
      for (const batch of batches) {
        // The last append has written its offset there.
        batch.writeBigInt64BE(0n, 0);
        large.appendAsLeader(batch);
      }
    }
    await dir.close();

    // Nothing is in memory: every look at a segment reads files.
    dir = await LogDir.open(directory, { configOf: () => config });
    const { logger, lines } = keepingLogger();
    const cleaner = new LogCleaner({
      logDir: dir,
      clock: systemClock,
      logger,
      settings: { ...SETTINGS, dedupeBufferBytes: 1 << 27, ioBufferBytes: 1 << 19, backoffMs: 100 },
      newThread: (settings) => new WorkerThread(settings),
    });
    try {
      const cleaned = async (count: number): Promise<void> => {
        while (lines.filter(({ message }) => message === 'a log has been cleaned').length < count) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      };
      const log = dir.log('large', 0) as Log;
      const before = log.sizeInBytes;
      cleaner.start();
      const firstTurns = await longestTurns(cleaned(1));
      // Files that were replaced are unlinked meanwhile.
      const laterTurns = await longestTurns(new Promise((resolve) => setTimeout(resolve, 500)));
      expect(log.sizeInBytes).toBeLessThan(before / 5);
      // A collection of garbage, or the first thread of the process, may come in between.
      expect(firstTurns[2]).toBeLessThan(LONGEST_TURN_MS);
      expect(laterTurns[1]).toBeLessThan(LONGEST_TURN_MS);
      expect(Math.max(...firstTurns, ...laterTurns)).toBeLessThan(5 * LONGEST_TURN_MS);
      expect(await cleaner.metrics()).toContainEqual(
        expect.objectContaining({ name: 'DeadThreadCount', value: 0 }),
      );
    } finally {
      await cleaner.close();
      await dir.close();
    }
  }, 120_000);
});
