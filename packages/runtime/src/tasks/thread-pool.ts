import type { Logger } from 'pino';
import type { UncaughtExceptionAnswer } from '../error-handlers.ts';
import { ApplicationShutdownError } from '../errors.ts';
import { SHUTDOWN_LINGER_MS, SHUTDOWN_TELL_MAX_MS } from '../limits.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import type { StopReport } from './thread-options.ts';
import { ThreadReplacements } from './thread-replacements.ts';
import type { ThreadState } from './thread-states.ts';

/** A stream thread, as far as its pool knows it. */
export interface PooledThread {
  readonly name: string;
  readonly state: ThreadState;
  start(): void;
  /** False if it is not in the group; see `StreamThread`. */
  tellApplication(reason: string): boolean;
  /** Never rejects. `isForGood`: no later run takes its place in the group, so a static member leaves, too. */
  stop(timeoutMs: number, isForGood?: boolean): Promise<StopReport>;
}

export interface ThreadPoolOptions<T extends PooledThread> {
  readonly create: (index: number, onFailed: (error: Error) => void) => T;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Longest wait for a thread that failed to end, before another takes its place, ms. */
  readonly stopTimeoutMs: number;
  /** The uncaught exception handler. */
  readonly ask: (error: Error, threadName: string) => UncaughtExceptionAnswer;
  /** Threads came, went, or are being replaced. */
  readonly onChanged: (isReplacing: boolean) => void;
  /** The client ends with the error. */
  readonly onGivenUp: (error: Error) => void;
}

/**
 * The stream threads of a client: those it began with, those that are added and removed (KIP-663), and
 * those that take the place of failed ones (KIP-671). An index is used again when its thread is gone,
 * so that names stay few.
 */
export class ThreadPool<T extends PooledThread> {
  readonly #options: ThreadPoolOptions<T>;
  readonly #replacements: ThreadReplacements;
  readonly #threads = new Map<number, T>();
  /** Removed, but not done yet, by index. */
  readonly #leaving = new Map<number, Promise<StopReport>>();
  readonly #pauses = new Map<Timer, () => void>();
  #failedCount = 0;
  #isStopped = false;
  /** Why all instances of the application are being told to stop. */
  #shutdownCause: Error | null = null;
  #tellingTimer: Timer | null = null;

  constructor(options: ThreadPoolOptions<T>) {
    this.#options = options;
    this.#replacements = new ThreadReplacements(options.clock);
  }

  /** By index. */
  get threads(): readonly T[] {
    return [...this.#threads].sort(([a], [b]) => a - b).map(([, thread]) => thread);
  }

  get failedCount(): number {
    return this.#failedCount;
  }

  /** None is started if one cannot be made. */
  start(count: number): void {
    for (let index = 1; index <= count; index++) this.#create(index);
    for (const thread of this.threads) thread.start();
  }

  /** Returns the new thread's name. */
  add(): string {
    let index = 1;
    while (this.#threads.has(index) || this.#leaving.has(index)) index++;
    const thread = this.#create(index);
    this.#options.onChanged(false);
    thread.start();
    return thread.name;
  }

  /**
   * The one with the highest index finishes what it has in hand, commits and leaves the group. Resolves
   * with its name, or null if there is none; it may still be at it when the time is over.
   */
  async remove(timeoutMs: number): Promise<string | null> {
    const index = Math.max(0, ...this.#threads.keys());
    const thread = this.#threads.get(index);
    if (thread === undefined) return null;
    this.#threads.delete(index);
    const leaving = thread.stop(timeoutMs, true);
    this.#leaving.set(index, leaving);
    this.#options.onChanged(false);
    await leaving;
    this.#leaving.delete(index);
    return thread.name;
  }

  /**
   * Ends all instances of the application (KIP-671). The threads of this one process nothing from here on, but stay
   * in the group until it has told all its members: nobody is given their tasks, and with them what made one of
   * them fail. Then, or after `SHUTDOWN_TELL_MAX_MS`, the client is given up.
   */
  shutDownApplication(cause: Error): void {
    if (this.#shutdownCause !== null) return;
    this.#shutdownCause = cause;
    const { clock, logger, onGivenUp } = this.#options;
    const tellers = this.threads.filter((thread) => thread.tellApplication(cause.message));
    if (tellers.length === 0) {
      logger.warn('no stream thread is in the group, which could tell the other instances to stop');
      onGivenUp(cause);
      return;
    }
    logger.warn({ err: cause }, 'telling all instances of the application to stop');
    this.#tellingTimer = clock.setTimer(SHUTDOWN_TELL_MAX_MS, () => {
      onGivenUp(cause);
    });
  }

  /** No thread begins any more. What threads left undone is in their reports. */
  async stop(timeoutMs: number): Promise<readonly StopReport[]> {
    this.#isStopped = true;
    this.#tellingTimer?.cancel();
    for (const [timer, resolve] of this.#pauses) {
      timer.cancel();
      resolve();
    }
    this.#pauses.clear();
    return Promise.all(this.threads.map((thread) => thread.stop(timeoutMs)));
  }

  /** Resolves when the threads that were removed are done; each of them ends within its own time. */
  async left(): Promise<void> {
    await Promise.all(this.#leaving.values());
  }

  #create(index: number): T {
    const thread: T = this.#options.create(index, (error) => {
      this.#failed(index, thread, error);
    });
    this.#threads.set(index, thread);
    return thread;
  }

  #failed(index: number, thread: T, error: Error): void {
    const isTold = error instanceof ApplicationShutdownError;
    if (!isTold) this.#failedCount++;
    // One that is being removed has no place to be taken.
    if (this.#threads.get(index) !== thread) return;
    if (isTold) {
      void this.#giveUpWhenAllAreTold(this.#shutdownCause ?? error);
      return;
    }
    // What else fails until the group has told all of them is no news.
    if (this.#shutdownCause !== null) return;
    const answer = this.#options.ask(error, thread.name);
    if (answer === 'replace-thread') this.#replaceLater(index, thread, error);
    else if (answer === 'shutdown-application') this.shutDownApplication(error);
    else this.#options.onGivenUp(error);
  }

  #replaceLater(index: number, thread: T, error: Error): void {
    if (this.#isStopped) return;
    const delayMs = this.#replacements.next();
    if (delayMs === null) {
      this.#options.logger.error(
        { thread: thread.name },
        'too many stream threads have failed within a short time: no more are replaced',
      );
      this.#options.onGivenUp(error);
      return;
    }
    this.#replace(index, thread, delayMs).catch((failure: unknown) => {
      this.#options.onGivenUp(failure as Error);
    });
  }

  /**
   * Whoever leaves makes the group rebalance, and a member that is slow to ask for its assignment, which would have
   * told it, is sent back to join, and given the tasks instead.
   */
  async #giveUpWhenAllAreTold(error: Error): Promise<void> {
    await this.#pause(SHUTDOWN_LINGER_MS);
    this.#options.onGivenUp(error);
  }

  async #replace(index: number, thread: T, delayMs: number): Promise<void> {
    this.#options.logger.warn({ thread: thread.name, delayMs }, 'replacing the stream thread');
    const stopped = thread.stop(this.#options.stopTimeoutMs);
    this.#options.onChanged(true);
    await stopped;
    if (delayMs > 0) await this.#pause(delayMs);
    if (this.#isStopped || this.#threads.get(index) !== thread) return;
    this.#create(index).start();
  }

  /** Ends early when the pool stops. */
  #pause(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(ms, () => {
        this.#pauses.delete(timer);
        resolve();
      });
      this.#pauses.set(timer, resolve);
    });
  }
}
