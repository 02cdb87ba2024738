/** Passes in a worker thread, on a real disk; needs the build, which `npm test` makes first. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CleaningAbortedError } from '../../errors.ts';
import { LogDir } from '../../log-dir/log-dir.ts';
import type { Log } from '../../log/log.ts';
import { batchOf } from '../../testing/batches.ts';
import { configOf, readAll } from '../../testing/memory-log-dir.ts';
import { cleanableRange } from '../cleanable-range.ts';
import { cleaningTaskOf } from '../cleaning-task-of.ts';
import type { CleaningTask } from '../cleaning-task.ts';
import { IoThrottle } from './io-throttle.ts';
import { WorkerThread } from './worker-thread.ts';

const isBuilt = existsSync(
  new URL('../../../dist/cleaner/threads/cleaner-worker.js', import.meta.url),
);
const SEGMENT_BYTES = 200_000;
const NO_LIMIT = Number.MAX_VALUE;

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A log of `segments` full segments and an active one, over `keys` keys. */
async function newLog(segments: number, keys: number): Promise<Log> {
  const directory = await mkdtemp(join(tmpdir(), 'worker-thread-'));
  const config = configOf({
    'cleanup.policy': 'compact',
    'internal.segment.bytes': String(SEGMENT_BYTES),
  });
  const dir = await LogDir.open(directory, { configOf: () => config });
  closers.push(async () => {
    await dir.close();
    await rm(directory, { recursive: true, force: true });
  });
  const log = dir.createLog('t', 0, null, config);
  let next = 0;
  while (log.segments.length <= segments) {
    const records = Array.from({ length: 100 }, () => {
      next++;
      return { key: `k${String(next % keys)}`, value: `${'x'.repeat(100)}${String(next)}` };
    });
    log.appendAsLeader(batchOf(records));
  }
  return log;
}

function taskOf(log: Log): CleaningTask {
  return cleaningTaskOf(log, cleanableRange(log, undefined, Date.now()), Date.now());
}

function newThread(bytesPerSecond = NO_LIMIT): { thread: WorkerThread; throttle: IoThrottle } {
  const throttle = new IoThrottle();
  throttle.setRate(bytesPerSecond);
  const thread = new WorkerThread({
    mapBytes: 1 << 20,
    loadFactor: 0.9,
    bufferBytes: 8_192,
    throttle,
  });
  closers.push(() => thread.close());
  return { thread, throttle };
}

const cleanedFiles = (log: Log): string[] =>
  readdirSync(log.directory).filter((name) => name.endsWith('.cleaned'));

describe.skipIf(!isBuilt)('a worker thread', () => {
  it('cleans log after log, group by group, and accounts for what it reads and writes', async () => {
    const { thread, throttle } = newThread();
    for (const keys of [10, 20]) {
      const log = await newLog(4, keys);
      const expected = new Map(readAll(log).map(({ key, value }) => [key, value]));
      const end = log.segments.at(-1)?.baseOffset;
      const before = throttle.totalBytes;
      const report = await thread.run(taskOf(log), (group) => log.replaceSegments(group));
      expect(report.nextFirstDirtyOffset).toBe(end);
      expect(report.stats.recordsWritten).toBeLessThan(report.stats.recordsRead);
      expect(throttle.totalBytes - before).toBe(
        report.stats.mapBytesRead + report.stats.bytesRead + report.stats.bytesWritten,
      );
      expect(new Map(readAll(log).map(({ key, value }) => [key, value]))).toEqual(expected);
      expect(cleanedFiles(log)).toEqual([]);
    }
  });

  it('has its memory back after a release, and begins anew', async () => {
    const { thread } = newThread();
    const log = await newLog(1, 5);
    await thread.run(taskOf(log), (group) => log.replaceSegments(group));
    thread.release();
    const other = await newLog(1, 5);
    const { stats } = await thread.run(taskOf(other), (group) => other.replaceSegments(group));
    expect(stats.mapUtilization).toBeCloseTo(5 / Math.floor((1 << 20) / 24), 5);
  });

  it('ends an aborted pass by itself, held back or not, and leaves no file', async () => {
    const log = await newLog(4, 1_000);
    for (const rate of [100_000, NO_LIMIT]) {
      const { thread, throttle } = newThread(rate);
      // One that is held back is seen reading long before it has a group. One that is not may be
      // through by then: it is aborted while it waits for its first group's swap.
      const run = thread.run(taskOf(log), (group) => {
        log.discardCleaned(group.cleaned);
        thread.abort();
        return Promise.resolve();
      });
      const isAborted = expect(run).rejects.toMatchObject({
        name: 'CleaningAbortedError',
        message: 't-0: the pass is not wanted any more',
      });
      if (rate !== NO_LIMIT) {
        while (throttle.totalBytes === 0) await new Promise(setImmediate);
        thread.abort();
      }
      // By itself; that its thread was ended, after CLEANER_ABORT_MS, would be another message.
      await isAborted;
      expect(cleanedFiles(log)).toEqual([]);
      // And is of use again.
      throttle.setRate(NO_LIMIT);
      let groups = 0;
      await expect(
        thread.run(taskOf(log), (group) => {
          groups++;
          log.discardCleaned(group.cleaned);
          return Promise.resolve();
        }),
      ).resolves.toMatchObject({ nextFirstDirtyOffset: log.segments.at(-1)?.baseOffset });
      expect(groups).toBeGreaterThan(2);
      await thread.close();
    }
  });

  it('ends a pass whose group was not swapped, with the reason', async () => {
    const { thread } = newThread();
    const log = await newLog(3, 1_000);
    await expect(
      thread.run(taskOf(log), (group) => {
        log.discardCleaned(group.cleaned);
        return Promise.reject(new CleaningAbortedError('t-0: changed its mind'));
      }),
    ).rejects.toThrow('t-0: changed its mind');
    expect(cleanedFiles(log)).toEqual([]);
  });

  it('closes with a pass under way in bounded time, and runs none after it', async () => {
    const { thread, throttle } = newThread(10_000);
    const log = await newLog(4, 1_000);
    const run = thread.run(taskOf(log), (group) => log.replaceSegments(group));
    const isAborted = expect(run).rejects.toBeInstanceOf(CleaningAbortedError);
    while (throttle.totalBytes === 0) await new Promise(setImmediate);
    const startedMs = performance.now();
    await thread.close();
    await isAborted;
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    expect(cleanedFiles(log)).toEqual([]);
    await expect(thread.run(taskOf(log), () => Promise.resolve())).rejects.toThrow(
      't-0: the cleaner is stopping',
    );
  });

  it('names damage with file and position, and missing files', async () => {
    const { thread } = newThread();
    const log = await newLog(2, 10);
    const task = taskOf(log);
    const broken = {
      ...task,
      segments: task.segments.map((one) => ({ ...one, sizeBytes: one.sizeBytes - 1 })),
    };
    await expect(thread.run(broken, () => Promise.resolve())).rejects.toMatchObject({
      name: 'CorruptBatchError',
      code: 'LOG_CORRUPT_BATCH',
      message: expect.stringMatching(/0{20}\.log at byte \d+/) as string,
    });
    await expect(
      thread.run({ ...task, directory: '/nowhere' }, () => Promise.resolve()),
    ).rejects.toMatchObject({
      code: 'LOG_DIR_FAILED',
      message: expect.stringContaining('/nowhere') as string,
    });
  });

  it('that gets nonsense fails the pass, not itself', async () => {
    const { thread } = newThread();
    const log = await newLog(1, 10);
    const nonsense = { ...taskOf(log), settings: null } as unknown as CleaningTask;
    await expect(thread.run(nonsense, () => Promise.resolve())).rejects.toMatchObject({
      code: 'LOG_CLEANER_THREAD_FAILED',
    });
    await thread.run(taskOf(log), (group) => log.replaceSegments(group));
  });
});
