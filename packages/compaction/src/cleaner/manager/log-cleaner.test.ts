import { afterEach, describe, expect, it } from 'vitest';
import { CleanerThreadError, StorageFullError } from '../../errors.ts';
import { CLEANER_THREAD_IDLE_MS, CLEANER_THREAD_RESTARTS } from '../../limits.ts';
import type { Log } from '../../log/log.ts';
import {
  CleanerFixture,
  COMPACT,
  fillSegment,
  SETTINGS,
  settled,
} from '../../testing/log-cleaner.ts';
import { configOf, readAll, ROOT } from '../../testing/memory-log-dir.ts';
import type { CleanedGroup, CleaningReport, CleaningTask } from '../cleaning-task.ts';
import type { CleanerThread, CleanerThreadSettings, SwapGroup } from '../threads/cleaner-thread.ts';

const BACKOFF_MS = SETTINGS.backoffMs;
const opened: CleanerFixture[] = [];

async function open(
  options: Parameters<typeof CleanerFixture.open>[0] = {},
): Promise<CleanerFixture> {
  const fixture = await CleanerFixture.open(options);
  opened.push(fixture);
  return fixture;
}

afterEach(async () => {
  for (const fixture of opened.splice(0)) await fixture.cleaner.close();
});

const valuesOf = (log: Log): (string | null)[] => readAll(log).map(({ value }) => value);

/** A thread whose passes the test ends. */
class HeldThread implements CleanerThread {
  readonly tasks: CleaningTask[] = [];
  aborts = 0;
  releases = 0;
  isClosed = false;
  swap: SwapGroup = () => Promise.resolve();
  succeed: (report: CleaningReport) => void = () => undefined;
  fail: (error: Error) => void = () => undefined;
  readonly settings: CleanerThreadSettings;

  constructor(settings: CleanerThreadSettings) {
    this.settings = settings;
  }

  run(task: CleaningTask, swap: SwapGroup): Promise<CleaningReport> {
    this.tasks.push(task);
    this.swap = swap;
    return new Promise((resolve, reject) => {
      this.succeed = resolve;
      this.fail = reject;
    });
  }

  abort(): void {
    this.aborts++;
  }

  release(): void {
    this.releases++;
  }

  close(): Promise<void> {
    this.isClosed = true;
    this.fail(new CleanerThreadError('closed'));
    return Promise.resolve();
  }
}

const filesOf = ({ disk }: CleanerFixture, log: Log, suffix: string): string[] =>
  disk.list(log.directory).flatMap(({ name }) => (name.endsWith(suffix) ? [name] : []));

describe('a cleaner', () => {
  it('cleans the dirtiest log first, then the next, then waits for the backoff', async () => {
    const fixture = await open();
    const { cleaner, dir } = fixture;
    const [one, other] = [fixture.log('one'), fixture.log('other')];
    for (const log of [one, other]) {
      fillSegment(log, 10);
      fillSegment(log, 10);
    }
    await dir.updateCleanerOffset(one, 10n);
    cleaner.start();
    await fixture.advance(0);
    const cleaned = fixture.lines.filter(({ message }) => message === 'a log has been cleaned');
    expect(cleaned.map(({ level, context }) => [level, context['topic']])).toEqual([
      ['info', 'other'],
      ['info', 'one'],
    ]);
    expect(cleaned[0]?.context).toMatchObject({
      firstDirtyOffset: '0',
      nextFirstDirtyOffset: '20',
      recordsRead: 20,
      recordsWritten: 2,
      invalidRecords: 0,
    });
    expect(valuesOf(one)).toEqual(['value-8', 'value-9']);
    expect(dir.cleanerOffsets).toEqual(
      new Map([
        ['one-0', 20n],
        ['other-0', 20n],
      ]),
    );

    fillSegment(one, 30);
    await fixture.advance(BACKOFF_MS - 1);
    expect(valuesOf(one)).toHaveLength(32);
    await fixture.advance(1);
    expect(valuesOf(one)).toHaveLength(2);
    expect(await fixture.metric('time-since-last-run-ms')).toBe(0);
    expect(await fixture.metric('cleaner-recopy-percent')).toBe(6);
  });

  it('replaces only so many segments in one turn; the next pass goes on', async () => {
    const fixture = await open();
    const log = fixture.log('t');
    for (let segment = 0; segment < 100; segment++) fillSegment(log, 1);
    fixture.cleaner.start();
    await fixture.advance(0);
    const bases = (): number[] => log.segments.map(({ baseOffset }) => Number(baseOffset));
    expect(bases()).toEqual([0, 32, 64, 96, 100]);
    for (let segment = 0; segment < 100; segment++) fillSegment(log, 1);
    await fixture.advance(BACKOFF_MS);
    expect(bases()[1]).toBeGreaterThan(100);
    expect(valuesOf(log)).toEqual(['value-0']);
  });

  it('goes on where it was after a restart', async () => {
    const first = await open();
    const log = first.log('t');
    fillSegment(log, 10);
    first.cleaner.start();
    await first.advance(0);
    await first.cleaner.close();
    await first.dir.close();
    const again = await open({ disk: first.disk, clock: first.clock });
    again.cleaner.start();
    await again.advance(0);
    expect(await again.cleaner.status()).toMatchObject({
      passCount: 0,
      partitions: [{ description: { reason: 'nothing-dirty', range: { firstDirtyOffset: 10n } } }],
    });
  });

  it('with two damaged topics and a sound one cleans the sound one, and shows the others', async () => {
    const fixture = await open();
    const logs = ['bad', 'sound', 'worse'].map((name) => fixture.log(name));
    for (const log of logs) fillSegment(log, 10);
    const [bad, sound, worse] = logs as [Log, Log, Log];
    for (const log of [bad, worse]) {
      const content = fixture.disk.contentOf(`${log.directory}/00000000000000000000.log`);
      content.writeUInt8(content.readUInt8(300) ^ 0xff, 300);
    }
    const before = fixture.disk
      .contentOf(`${bad.directory}/00000000000000000000.log`)
      .toString('hex');
    fixture.cleaner.start();
    await fixture.advance(0);
    expect(valuesOf(sound)).toHaveLength(2);
    expect(
      fixture.disk.contentOf(`${bad.directory}/00000000000000000000.log`).toString('hex'),
    ).toBe(before);
    expect(filesOf(fixture, bad, '.cleaned')).toEqual([]);
    expect(await fixture.metric('uncleanable-partitions-count')).toBe(2);
    expect(await fixture.metric('uncleanable-bytes')).toBe(2 * (before.length / 2));
    expect(fixture.messages('error')).toHaveLength(2);
    const [shown] = (await fixture.cleaner.status()).partitions;
    expect(shown).toMatchObject({
      topic: 'bad',
      state: 'none',
      description: { reason: 'dirty-ratio' },
    });
    expect(shown?.uncleanable?.reason).toMatch(/bad-0\/0+\.log at byte \d+/);

    // Repaired, and its configuration touched (KAFKA-19895).
    const content = fixture.disk.contentOf(`${bad.directory}/00000000000000000000.log`);
    content.writeUInt8(content.readUInt8(300) ^ 0xff, 300);
    await fixture.cleaner.configChanged(bad);
    await settled();
    expect(valuesOf(bad)).toHaveLength(2);
    expect(await fixture.metric('uncleanable-partitions-count')).toBe(1);
  });

  it('on a full disk leaves the log as it was, says so once, and cleans it when there is room', async () => {
    const fixture = await open();
    const [full, other] = [fixture.log('full'), fixture.log('other')];
    for (const log of [full, other]) fillSegment(log, 10);
    fixture.disk.onOperation = ({ kind, path }) =>
      kind === 'write' && path.includes('full-0') && path.includes('.cleaned')
        ? {
            error: Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }),
            writtenBytes: 7,
          }
        : undefined;
    fixture.cleaner.start();
    await fixture.advance(0);
    expect([valuesOf(full).length, valuesOf(other).length]).toEqual([10, 2]);
    expect(filesOf(fixture, full, '.cleaned')).toEqual([]);
    await fixture.advance(BACKOFF_MS);
    await fixture.advance(BACKOFF_MS);
    expect(fixture.messages('warn')).toEqual(['no space left to clean a log: it is tried again']);
    expect(fixture.lines.find(({ level }) => level === 'warn')?.context['err']).toBeInstanceOf(
      StorageFullError,
    );
    expect(await fixture.metric('uncleanable-partitions-count')).toBe(0);
    fixture.disk.onOperation = null;
    await fixture.advance(BACKOFF_MS);
    expect(valuesOf(full)).toHaveLength(2);
  });

  it('runs the retention of compacted logs', async () => {
    const fixture = await open();
    const log = fixture.log('t', { 'cleanup.policy': 'compact,delete', 'retention.ms': '100000' });
    fillSegment(log, 10);
    fixture.cleaner.start();
    await fixture.advance(0);
    expect(valuesOf(log)).toHaveLength(2);
    fixture.clock.setNow(fixture.clock.now() + 200_000);
    await fixture.advance(BACKOFF_MS);
    expect(valuesOf(log)).toEqual([]);
    expect([log.logStartOffset, log.logEndOffset]).toEqual([10n, 10n]);
  });

  it('killed at any moment leaves a log that the next one cleans to the same end', async () => {
    const fill = (log: Log): void => {
      for (let segment = 0; segment < 3; segment++) fillSegment(log, 5, 3, `s${String(segment)}`);
    };
    const whole = await open();
    const expected = whole.log('t');
    fill(expected);
    await expected.flush();
    const first = whole.disk.operationCount + 1;
    whole.cleaner.start();
    await whole.advance(0);
    const last = whole.disk.operationCount;
    expect(last - first).toBeGreaterThan(20);
    for (let number = first; number <= last; number++) {
      const fixture = await open();
      const log = fixture.log('t');
      fill(log);
      await log.flush();
      fixture.disk.killAt(number);
      fixture.cleaner.start();
      await fixture.advance(0);
      expect(fixture.disk.isKilled, String(number)).toBe(true);

      const disk = fixture.disk.afterKill();
      const again = await open({ disk, clock: fixture.clock });
      const found = again.dir.log('t', 0) as Log;
      const checkpoint = again.dir.cleanerOffsets.get('t-0') ?? 0n;
      expect([0n, found.logEndOffset], String(number)).toContain(checkpoint);
      again.cleaner.start();
      await again.advance(0);
      expect(readAll(found), String(number)).toEqual(readAll(expected));
      expect(filesOf(again, found, '.cleaned'), String(number)).toEqual([]);
      expect(await again.metric('uncleanable-partitions-count')).toBe(0);
    }
  });

  it('that is closed cleans nothing any more', async () => {
    const fixture = await open();
    fixture.cleaner.start();
    await fixture.cleaner.close();
    const log = fixture.log('t');
    fillSegment(log, 10);
    await fixture.advance(BACKOFF_MS);
    expect(valuesOf(log)).toHaveLength(10);
    expect(fixture.clock.timerCount).toBe(0);
  });
});

describe('a pass under way', () => {
  async function held(
    count = 1,
  ): Promise<{ fixture: CleanerFixture; threads: HeldThread[]; log: Log }> {
    const threads: HeldThread[] = [];
    const fixture = await open({
      settings: { threads: count },
      newThread: (settings) => {
        const thread = new HeldThread(settings);
        threads.push(thread);
        return thread;
      },
    });
    const log = fixture.log('t');
    fillSegment(log, 10);
    fixture.cleaner.start();
    await fixture.advance(0);
    return { fixture, threads, log };
  }

  const group: CleanedGroup = { sources: [0n], cleaned: [0n], modifiedMs: 0 };

  function writeCleaned({ disk }: CleanerFixture, log: Log): void {
    for (const kind of ['.log', '.index', '.timeindex']) {
      disk.writeFile(`${log.directory}/00000000000000000000${kind}.cleaned`, Buffer.alloc(0));
    }
  }

  it('holds no other thread from its turn', async () => {
    const { fixture, threads } = await held(3);
    fillSegment(fixture.log('u'), 10);
    await fixture.advance(BACKOFF_MS);
    expect(threads.map(({ tasks }) => tasks.map(({ name }) => name))).toEqual([
      ['t-0'],
      ['u-0'],
      [],
    ]);
    const bytes = threads.map(({ settings }) => [settings.mapBytes, settings.bufferBytes]);
    expect(bytes).toEqual(
      Array.from({ length: 3 }, () => [Math.floor((1 << 20) / 3), Math.floor((1 << 16) / 6)]),
    );
  });

  it('is aborted by the deletion of its log, which waits for it; nothing of it is put in place', async () => {
    const { fixture, threads, log } = await held();
    const [thread] = threads as [HeldThread];
    const deletion = fixture.cleaner.withoutCleaning(log, () => fixture.dir.deleteLog('t', 0));
    await settled();
    expect([thread.aborts, log.isClosed]).toEqual([1, false]);
    writeCleaned(fixture, log);
    const swap = thread.swap(group);
    await expect(swap).rejects.toMatchObject({ code: 'LOG_CLEANING_ABORTED' });
    expect(filesOf(fixture, log, '.cleaned')).toEqual([]);
    thread.fail(
      await swap.then(
        () => new Error('unreachable'),
        (error: unknown) => error as Error,
      ),
    );
    await deletion;
    expect(log.isClosed).toBe(true);
    expect(fixture.dir.log('t', 0)).toBeUndefined();
    const next = fixture.log('t');
    fillSegment(next, 10);
    await fixture.advance(BACKOFF_MS);
    expect(thread.tasks).toHaveLength(2);
    expect(thread.tasks[1]?.firstDirtyOffset).toBe(0n);
  });

  it('KAFKA-12840: is aborted when its topic is not compacted any more, and the topic stays as it is', async () => {
    const { fixture, threads, log } = await held();
    const [thread] = threads as [HeldThread];
    log.updateConfig(configOf({ 'cleanup.policy': 'delete' }));
    const change = fixture.cleaner.configChanged(log);
    await settled();
    expect([thread.aborts, fixture.cleaner.isCleaning(log)]).toEqual([1, true]);
    writeCleaned(fixture, log);
    await expect(thread.swap(group)).rejects.toMatchObject({ code: 'LOG_CLEANING_ABORTED' });
    thread.fail(new CleanerThreadError('aborted'));
    await change;
    expect(fixture.cleaner.isCleaning(log)).toBe(false);
    await fixture.advance(BACKOFF_MS);
    expect(thread.tasks).toHaveLength(1);
    expect(valuesOf(log)).toHaveLength(10);
  });

  it('whose thread dies while a group is swapped goes on being one until that is through', async () => {
    const { fixture, threads, log } = await held();
    const [thread] = threads as [HeldThread];
    writeCleaned(fixture, log);
    let letGo = (): void => undefined;
    const isHeld = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    log.replaceSegments = () => isHeld;
    const swap = thread.swap(group);
    thread.fail(new CleanerThreadError('a cleaner thread died'));
    await settled();
    expect(fixture.cleaner.isCleaning(log)).toBe(true);
    letGo();
    await swap;
    await settled();
    expect(fixture.cleaner.isCleaning(log)).toBe(false);
  });

  it('ends with the cleaner', async () => {
    const { fixture, threads, log } = await held();
    await fixture.cleaner.close();
    expect(threads.map(({ isClosed }) => isClosed)).toEqual([true]);
    expect(fixture.cleaner.isCleaning(log)).toBe(false);
    expect(fixture.messages('error')).toEqual([]);
  });
});

describe('a thread', () => {
  it('that dies is used again a few times, counted, and then given up; retention goes on', async () => {
    const threads: HeldThread[] = [];
    const fixture = await open({
      newThread: (settings) => {
        const thread = new HeldThread(settings);
        threads.push(thread);
        return thread;
      },
    });
    // One topic each time: a second death on the same one is laid to it.
    for (let death = 0; death <= CLEANER_THREAD_RESTARTS; death++) {
      fillSegment(fixture.log(`t${String(death)}`), 10);
    }
    fixture.cleaner.start();
    await fixture.advance(0);
    const [thread] = threads as [HeldThread];
    for (let death = 0; death <= CLEANER_THREAD_RESTARTS; death++) {
      expect(await fixture.metric('DeadThreadCount')).toBe(0);
      thread.fail(new CleanerThreadError('a cleaner thread died: out of memory'));
      await settled();
    }
    expect(await fixture.metric('DeadThreadCount')).toBe(1);
    expect(await fixture.cleaner.status()).toMatchObject({
      threadDeathCount: CLEANER_THREAD_RESTARTS + 1,
    });
    expect(fixture.messages('error')).toEqual([
      'a cleaner thread is given up: change a setting of log.cleaner, or restart, to have it begin anew',
    ]);
    const passes = thread.tasks.length;
    const both = fixture.log('both', {
      'cleanup.policy': 'compact,delete',
      'retention.ms': '1000',
    });
    fillSegment(both, 10);
    fixture.clock.setNow(fixture.clock.now() + 100_000);
    await fixture.advance(BACKOFF_MS);
    expect(thread.tasks).toHaveLength(passes);
    expect(valuesOf(both)).toEqual([]);

    await fixture.cleaner.reconfigure({ ...SETTINGS, backoffMs: 1_000 });
    await fixture.advance(1_000);
    expect(await fixture.metric('DeadThreadCount')).toBe(0);
    expect(threads[1]?.tasks).toHaveLength(1);
  });

  it('gives its memory back when it has had nothing to do for a while', async () => {
    const threads: HeldThread[] = [];
    const fixture = await open({
      newThread: (settings) => {
        const thread = new HeldThread(settings);
        threads.push(thread);
        return thread;
      },
    });
    fixture.cleaner.start();
    for (let waited = 0; waited < CLEANER_THREAD_IDLE_MS; waited += BACKOFF_MS) {
      expect(threads[0]?.releases).toBe(0);
      await fixture.advance(BACKOFF_MS);
    }
    expect(threads[0]?.releases).toBe(1);
  });
});

describe('other settings', () => {
  it('metricsActiveAfterReconfiguration: change threads, and figures stay', async () => {
    const fixture = await open();
    const log = fixture.log('t');
    fillSegment(log, 100);
    fixture.cleaner.start();
    await fixture.advance(0);
    expect(await fixture.metric('cleaner-recopy-percent')).toBe(2);
    await fixture.cleaner.reconfigure({ ...SETTINGS, threads: 2, backoffMs: 10 });
    expect(await fixture.cleaner.status()).toMatchObject({ threadCount: 2, passCount: 1 });
    expect(await fixture.metric('cleaner-recopy-percent')).toBe(2);
    fillSegment(log, 100);
    await fixture.advance(10);
    expect((await fixture.cleaner.status()).passCount).toBe(2);
  });

  it('reconfigureLogCleanerIoMaxBytesPerSecond: the rate changes while a pass goes on', async () => {
    const threads: HeldThread[] = [];
    const fixture = await open({
      settings: { maxIoBytesPerSecond: 1_000 },
      newThread: (settings) => {
        const thread = new HeldThread(settings);
        threads.push(thread);
        return thread;
      },
    });
    fillSegment(fixture.log('t'), 10);
    fixture.cleaner.start();
    await fixture.advance(0);
    const { throttle } = (threads[0] as HeldThread).settings;
    expect(throttle.pay(1_000, 0n)).toBe(1_000_000n);
    await fixture.cleaner.reconfigure({ ...SETTINGS, maxIoBytesPerSecond: 500 });
    expect(throttle.pay(1_000, 0n)).toBe(2_000_000n);
    expect([threads.length, threads[0]?.isClosed]).toEqual([1, false]);
  });

  it('before the start are those that it starts with', async () => {
    const fixture = await open();
    await fixture.cleaner.reconfigure({ ...SETTINGS, threads: 2 });
    expect((await fixture.cleaner.status()).threadCount).toBe(0);
    fixture.cleaner.start();
    expect((await fixture.cleaner.status()).threadCount).toBe(2);
  });
});

it('KAFKA-13305: shows partitions that have no checkpoint', async () => {
  const fixture = await open();
  fixture.log('t', COMPACT);
  fixture.log('plain', { 'cleanup.policy': 'delete' });
  expect(await fixture.metric('uncleanable-bytes')).toBe(0);
  expect(
    (await fixture.cleaner.metrics()).map(({ group, type, name, tags }) => [
      group,
      type,
      name,
      tags,
    ]),
  ).toEqual([
    ['kafka.log', 'LogCleaner', 'max-buffer-utilization-percent', {}],
    ['kafka.log', 'LogCleaner', 'cleaner-recopy-percent', {}],
    ['kafka.log', 'LogCleaner', 'max-clean-time-secs', {}],
    ['kafka.log', 'LogCleaner', 'max-compaction-delay-secs', {}],
    ['kafka.log', 'LogCleaner', 'DeadThreadCount', {}],
    ['kafka.utils', 'Throttler', 'cleaner-io', {}],
    ['kafka.log', 'LogCleanerManager', 'uncleanable-partitions-count', { logDirectory: ROOT }],
    ['kafka.log', 'LogCleanerManager', 'uncleanable-bytes', { logDirectory: ROOT }],
    ['kafka.log', 'LogCleanerManager', 'max-dirty-percent', {}],
    ['kafka.log', 'LogCleanerManager', 'time-since-last-run-ms', {}],
  ]);
  expect((await fixture.cleaner.status()).partitions.map(({ topic }) => topic)).toEqual(['t']);
});
