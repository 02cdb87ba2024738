import { describe, expect, it } from 'vitest';
import type { UncaughtExceptionAnswer } from '../error-handlers.ts';
import { ApplicationShutdownError } from '../errors.ts';
import { SHUTDOWN_LINGER_MS, SHUTDOWN_TELL_MAX_MS, THREAD_REPLACEMENTS_MAX } from '../limits.ts';
import { silentLogger } from '../logging/logger.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { ThreadPool, type PooledThread } from './thread-pool.ts';
import type { StopReport } from './thread-options.ts';
import type { ThreadState } from './thread-states.ts';

const cleanly: StopReport = { leftUndone: [] };

class FakeThread implements PooledThread {
  readonly name: string;
  readonly fail: (error: Error) => void;
  readonly stops: (boolean | undefined)[] = [];
  readonly told: string[] = [];
  isMember = true;
  state: ThreadState = 'CREATED';
  stopped: Promise<void> = Promise.resolve();

  constructor(name: string, fail: (error: Error) => void) {
    this.name = name;
    this.fail = fail;
  }

  start(): void {
    this.state = 'RUNNING';
  }

  tellApplication(reason: string): boolean {
    if (this.isMember) this.told.push(reason);
    return this.isMember;
  }

  async stop(_timeoutMs: number, isForGood?: boolean): Promise<StopReport> {
    this.stops.push(isForGood);
    await this.stopped;
    this.state = 'DEAD';
    return cleanly;
  }
}

function setUp(answer: UncaughtExceptionAnswer = 'replace-thread') {
  const clock = new FakeClock();
  const made: FakeThread[] = [];
  const changes: boolean[] = [];
  const givenUp: Error[] = [];
  const pool = new ThreadPool<FakeThread>({
    create: (index, onFailed) => {
      const thread = new FakeThread(`thread-${String(index)}`, onFailed);
      made.push(thread);
      return thread;
    },
    clock,
    logger: silentLogger(),
    stopTimeoutMs: 1_000,
    ask: () => answer,
    onChanged: (isReplacing) => changes.push(isReplacing),
    onGivenUp: (error) => givenUp.push(error),
  });
  const names = (): string[] => pool.threads.map(({ name }) => name);
  return { clock, made, changes, givenUp, pool, names };
}

describe('ThreadPool', () => {
  it('adds threads with the lowest free index, and removes the last one for good', async () => {
    const { made, pool, names, changes } = setUp();
    pool.start(2);
    expect(pool.add()).toBe('thread-3');
    expect(await pool.remove(1_000)).toBe('thread-3');
    expect(made[2]?.stops).toEqual([true]);
    expect(await pool.remove(1_000)).toBe('thread-2');
    expect(pool.add()).toBe('thread-2');
    expect(names()).toEqual(['thread-1', 'thread-2']);
    expect(pool.threads.every(({ state }) => state === 'RUNNING')).toBe(true);
    expect(changes).toEqual([false, false, false, false]);
    await pool.remove(1_000);
    await pool.remove(1_000);
    expect(await pool.remove(1_000)).toBeNull();
  });

  it('gives the index of a thread that still leaves to nobody, and lets a stop wait for it', async () => {
    const { made, pool, names } = setUp();
    pool.start(2);
    let finish = (): void => undefined;
    (made[1] as FakeThread).stopped = new Promise((resolve) => (finish = resolve));
    const removed = pool.remove(1_000);
    expect(pool.add()).toBe('thread-3');
    expect(names()).toEqual(['thread-1', 'thread-3']);
    await pool.stop(1_000);
    let hasLeft = false;
    const left = pool.left().then(() => (hasLeft = true));
    await Promise.resolve();
    expect(hasLeft).toBe(false);
    finish();
    await left;
    expect(await removed).toBe('thread-2');
  });

  it('puts another one in the place of a thread that failed, once that has ended', async () => {
    const { clock, made, pool, changes } = setUp();
    pool.start(2);
    let finish = (): void => undefined;
    const failed = made[0] as FakeThread;
    failed.stopped = new Promise((resolve) => (finish = resolve));
    failed.fail(new Error('transient'));
    await clock.advance(0);
    expect([pool.failedCount, changes, made.length]).toEqual([1, [true], 2]);
    finish();
    await clock.advance(0);
    expect(pool.threads.map((thread) => made.indexOf(thread))).toEqual([2, 1]);
    expect(failed.stops).toEqual([undefined]);
  });

  it('does so later and later, and gives up with the error when it is too often', async () => {
    const { clock, made, pool, givenUp } = setUp();
    pool.start(1);
    let error = new Error('first');
    for (let i = 0; i < THREAD_REPLACEMENTS_MAX; i++) {
      (made.at(-1) as FakeThread).fail(error);
      await clock.advance(10_000);
      expect(made).toHaveLength(i + 2);
      error = new Error(`again ${String(i)}`);
    }
    (made.at(-1) as FakeThread).fail(error);
    await clock.advance(60_000);
    expect(givenUp).toEqual([error]);
    expect(made).toHaveLength(THREAD_REPLACEMENTS_MAX + 1);
  });

  it('gives up with the error when the answer is to stop the client', async () => {
    const { clock, made, pool, givenUp } = setUp('shutdown-client');
    pool.start(1);
    const error = new Error('for good');
    (made[0] as FakeThread).fail(error);
    await clock.advance(0);
    expect(givenUp).toEqual([error]);
    expect(made).toHaveLength(1);
  });

  it('asks nobody when the application is to stop', async () => {
    const { clock, made, pool, givenUp } = setUp();
    pool.start(1);
    const error = new ApplicationShutdownError('told so');
    (made[0] as FakeThread).fail(error);
    await clock.advance(SHUTDOWN_LINGER_MS - 1);
    // Others may not have been told yet.
    expect(givenUp).toEqual([]);
    await clock.advance(1);
    expect(givenUp).toEqual([error]);
    expect(pool.failedCount).toBe(0);
  });

  describe('when all instances are to stop', () => {
    const cause = new Error('for all');

    it('has its threads tell the group, and gives up with the cause once the group has told them', async () => {
      const { clock, made, pool, givenUp } = setUp('shutdown-application');
      pool.start(3);
      const [first, second, third] = made as [FakeThread, FakeThread, FakeThread];
      // The member of the one that failed may be what failed.
      first.isMember = false;
      first.fail(cause);
      second.fail(new Error('meanwhile'));
      expect([first.told, second.told, third.told]).toEqual([[], ['for all'], ['for all']]);
      expect(givenUp).toEqual([]);
      third.fail(new ApplicationShutdownError('told so'));
      await clock.advance(SHUTDOWN_LINGER_MS);
      expect(givenUp).toEqual([cause]);
      expect(pool.failedCount).toBe(2);
      await pool.stop(1_000);
      expect(clock.timerCount).toBe(0);
    });

    it('gives up alone when the group does not tell them in time', async () => {
      const { clock, made, pool, givenUp } = setUp('shutdown-application');
      pool.start(1);
      (made[0] as FakeThread).fail(cause);
      await clock.advance(SHUTDOWN_TELL_MAX_MS - 1);
      expect(givenUp).toEqual([]);
      await clock.advance(1);
      expect(givenUp).toEqual([cause]);
    });

    it('gives up at once when none of them is in the group', () => {
      const { made, pool, givenUp } = setUp('shutdown-application');
      pool.start(1);
      (made[0] as FakeThread).isMember = false;
      (made[0] as FakeThread).fail(cause);
      expect(givenUp).toEqual([cause]);
    });
  });

  it('replaces nothing once it is stopped, not even after a wait, nor what was removed', async () => {
    const { clock, made, pool } = setUp();
    pool.start(2);
    const [first, second] = made as [FakeThread, FakeThread];
    first.fail(new Error('transient'));
    second.fail(new Error('transient'));
    await clock.advance(0);
    expect(made).toHaveLength(3);
    await pool.stop(1_000);
    await clock.advance(60_000);
    expect(made).toHaveLength(3);
    expect(clock.timerCount).toBe(0);

    const other = setUp();
    other.pool.start(1);
    const removing = other.pool.remove(1_000);
    (other.made[0] as FakeThread).fail(new Error('while it leaves'));
    await removing;
    await other.clock.advance(60_000);
    expect(other.made).toHaveLength(1);
    expect(other.givenUp).toEqual([]);
  });
});
