import { CleanerThreadError, CleaningAbortedError, toError } from '../../errors.ts';
import {
  CLEANER_THREAD_IDLE_MS,
  CLEANER_THREAD_RESTARTS,
  MIN_CLEANER_BUFFER_BYTES,
  SEGMENTS_PER_GROUP,
} from '../../limits.ts';
import type { LogDir } from '../../log-dir/log-dir.ts';
import type { Log } from '../../log/log.ts';
import type { Clock } from '../../platform/clock.ts';
import { yieldToEventLoop } from '../../platform/event-loop.ts';
import type { Logger } from '../../platform/logger.ts';
import { cleaningTaskOf } from '../cleaning-task-of.ts';
import type { CleanedGroup, CleaningReport } from '../cleaning-task.ts';
import type { CleanerThread, NewCleanerThread } from '../threads/cleaner-thread.ts';
import { IoThrottle } from '../threads/io-throttle.ts';
import { CleanerManager } from './cleaner-manager.ts';
import type { Grabbed } from './cleaner-manager.ts';
import type { CleanerSettings } from './cleaner-settings.ts';
import { CleanerFigures, cleanerMetrics, cleanerStatus } from './cleaner-status.ts';
import type { CleanerMetric, CleanerStatus } from './cleaner-status.ts';
import { loadTransactions, Slices } from './figures.ts';

export interface LogCleanerOptions {
  readonly logDir: LogDir;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: CleanerSettings;
  readonly newThread: NewCleanerThread;
}

/** One of `log.cleaner.threads`: chooses, has its thread clean, waits. */
interface Loop {
  readonly index: number;
  readonly thread: CleanerThread;
  /** The log that the thread is busy with. */
  log: Log | null;
  /** When it last had something to do, monotonic ms. */
  lastPassMs: number;
  /** Deaths of its thread without a pass that succeeded in between. */
  deaths: number;
  /** Ends a wait. */
  wake: (() => void) | null;
  /** Was to be woken while it did not wait. */
  isWoken: boolean;
  isStopped: boolean;
  ended: Promise<void>;
}

/**
 * Cleans the compacted logs of a directory until it is closed, as Kafka's LogCleaner does: the dirtiest
 * first, in `log.cleaner.threads` threads; then retention of compacted logs; a wait of
 * `log.cleaner.backoff.ms` when there was nothing to clean. Belongs to the thread that owns the logs.
 */
export class LogCleaner {
  readonly #logDir: LogDir;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #newThread: NewCleanerThread;
  readonly #manager: CleanerManager;
  readonly #throttle = new IoThrottle();
  readonly #figures = new CleanerFigures();
  #settings: CleanerSettings;
  #loops: Loop[] = [];
  #isStarted = false;
  #closing: Promise<void> | null = null;
  #reconfiguring: Promise<void> = Promise.resolve();

  constructor(options: LogCleanerOptions) {
    this.#logDir = options.logDir;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#newThread = options.newThread;
    this.#settings = options.settings;
    this.#manager = new CleanerManager({
      ...options,
      backoffMs: () => this.#settings.backoffMs,
      abort: (log) => {
        for (const loop of this.#loops) if (loop.log === log) loop.thread.abort();
      },
    });
    this.#throttle.setRate(options.settings.maxIoBytesPerSecond);
  }

  /** Begins to look for something to clean. No thread is started before there is. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#startLoops();
  }

  /** Whether this looks after the retention of compacted logs. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /**
   * Other settings from now on. The rate changes in place; anything else aborts what is under way and
   * begins anew, with other threads. Resolves when that is done.
   */
  reconfigure(settings: CleanerSettings): Promise<void> {
    this.#reconfiguring = this.#reconfiguring.then(async () => {
      const { maxIoBytesPerSecond, ...others } = this.#settings;
      this.#settings = settings;
      if (settings.maxIoBytesPerSecond !== maxIoBytesPerSecond) {
        this.#throttle.setRate(settings.maxIoBytesPerSecond);
      }
      const isSame = Object.entries(others).every(
        ([name, value]) => settings[name as keyof CleanerSettings] === value,
      );
      if (isSame || !this.#isStarted || this.#closing !== null) return;
      await this.#stopLoops();
      if (!this.#isClosing()) this.#startLoops();
    });
    return this.#reconfiguring;
  }

  /** See `CleanerManager.withoutCleaning`. */
  withoutCleaning<T>(log: Log, action: () => Promise<T> | T): Promise<T> {
    return this.#manager.withoutCleaning(log, action);
  }

  /** See `CleanerManager.configChanged`; also looks at once whether there is something to clean. */
  async configChanged(log: Log): Promise<void> {
    await this.#manager.configChanged(log);
    for (const loop of this.#loops) wake(loop);
  }

  /** Whether a pass is under way on the log: retention leaves it alone then. */
  isCleaning(log: Log): boolean {
    const state = this.#manager.stateOf(log);
    return state === 'inProgress' || state === 'aborted';
  }

  /** Under Kafka's names, group `kafka.log`. */
  metrics(): Promise<CleanerMetric[]> {
    return cleanerMetrics(this.#statusContext());
  }

  /** Every compacted log with its regions, and what the cleaner makes of it. */
  status(): Promise<CleanerStatus> {
    return cleanerStatus(this.#statusContext());
  }

  #statusContext(): Parameters<typeof cleanerStatus>[0] {
    return {
      logDir: this.#logDir,
      clock: this.#clock,
      manager: this.#manager,
      figures: this.#figures,
      throttle: this.#throttle,
      threadCount: this.#loops.length,
      deadThreadCount: this.#loops.filter(isDead).length,
    };
  }

  /** Aborts what is under way and ends the threads, in bounded time. Nothing is cleaned any more. */
  close(): Promise<void> {
    this.#closing ??= this.#stopLoops();
    return this.#closing;
  }

  #isClosing(): boolean {
    return this.#closing !== null;
  }

  #startLoops(): void {
    const { threads, dedupeBufferBytes, ioBufferBytes, loadFactor } = this.#settings;
    const threadSettings = {
      mapBytes: Math.floor(dedupeBufferBytes / threads),
      bufferBytes: Math.max(MIN_CLEANER_BUFFER_BYTES, Math.floor(ioBufferBytes / threads / 2)),
      loadFactor,
      throttle: this.#throttle,
    };
    this.#figures.threadCount = threads;
    this.#loops = Array.from({ length: threads }, (_, index) => {
      const loop: Loop = {
        index,
        thread: this.#newThread(threadSettings),
        log: null,
        lastPassMs: this.#clock.monotonicMs(),
        deaths: 0,
        wake: null,
        isWoken: false,
        isStopped: false,
        ended: Promise.resolve(),
      };
      loop.ended = this.#run(loop);
      return loop;
    });
  }

  async #stopLoops(): Promise<void> {
    const loops = this.#loops;
    for (const loop of loops) {
      loop.isStopped = true;
      wake(loop);
    }
    await Promise.all(loops.map((loop) => loop.thread.close()));
    await Promise.all(loops.map((loop) => loop.ended));
  }

  async #run(loop: Loop): Promise<void> {
    await this.#wait(loop, 0);
    while (isRunning(loop)) {
      let hasCleaned = false;
      try {
        hasCleaned = await this.#round(loop);
      } catch (error) {
        if (isRunning(loop)) this.#logger.error({ err: error }, 'a round of the cleaner failed');
      }
      if (!hasCleaned) await this.#wait(loop, this.#settings.backoffMs);
    }
  }

  async #wait(loop: Loop, ms: number): Promise<void> {
    if (!loop.isStopped && !loop.isWoken) {
      await new Promise<void>((resolve) => {
        const timer = this.#clock.setTimer(ms, resolve);
        loop.wake = () => {
          timer.cancel();
          resolve();
        };
      });
      loop.wake = null;
    }
    loop.isWoken = false;
  }

  /** True: there was something to clean, so there may be more. */
  async #round(loop: Loop): Promise<boolean> {
    const grabbed = isDead(loop) ? null : await this.#manager.grab();
    if (grabbed !== null) {
      await this.#clean(loop, grabbed);
      loop.lastPassMs = this.#clock.monotonicMs();
    } else if (this.#clock.monotonicMs() - loop.lastPassMs >= CLEANER_THREAD_IDLE_MS) {
      loop.thread.release();
    }
    if (isRunning(loop)) await this.#manager.runRetention();
    return grabbed !== null;
  }

  async #clean(loop: Loop, { log, range, nowMs }: Grabbed): Promise<void> {
    loop.log = log;
    // A thread that dies leaves a swap under way: it is part of the pass.
    let swapping: Promise<unknown> = Promise.resolve();
    const startedMs = this.#clock.monotonicMs();
    try {
      await loadTransactions(log, new Slices(this.#clock));
      this.#ensureWanted(loop, log);
      const task = cleaningTaskOf(log, range, nowMs, SEGMENTS_PER_GROUP);
      // Starting a thread takes its time, too.
      await yieldToEventLoop();
      this.#ensureWanted(loop, log);
      const report = await loop.thread.run(task, (group) => {
        const swap = this.#swap(log, group);
        swapping = swap.catch(() => undefined);
        return swap;
      });
      await this.#manager.succeed(log, report.nextFirstDirtyOffset);
      loop.deaths = 0;
      this.#figures.count(loop.index, report, this.#clock.monotonicMs() - startedMs);
      this.#logPass(log, range.firstDirtyOffset, report);
    } catch (error) {
      this.#manager.fail(log, toError(error));
      if (error instanceof CleanerThreadError) this.#countDeath(loop, error);
    } finally {
      await swapping;
      loop.log = null;
      this.#manager.leave(log);
    }
  }

  #ensureWanted(loop: Loop, log: Log): void {
    if (loop.isStopped || this.#manager.stateOf(log) !== 'inProgress' || log.isClosed) {
      throw new CleaningAbortedError(`${log.name}: the pass is not wanted any more`);
    }
  }

  async #swap(log: Log, group: CleanedGroup): Promise<void> {
    if (this.#manager.stateOf(log) !== 'inProgress') {
      log.discardCleaned(group.cleaned);
      throw new CleaningAbortedError(`${log.name}: the pass is not wanted any more`);
    }
    await log.replaceSegments(group);
  }

  #countDeath(loop: Loop, error: CleanerThreadError): void {
    loop.deaths++;
    this.#figures.threadDeaths++;
    if (!isDead(loop)) return;
    this.#logger.error(
      { err: error, thread: loop.index, deaths: loop.deaths },
      'a cleaner thread is given up: change a setting of log.cleaner, or restart, to have it begin anew',
    );
  }

  #logPass(
    log: Log,
    firstDirtyOffset: bigint,
    { nextFirstDirtyOffset, stats }: CleaningReport,
  ): void {
    this.#logger.info(
      {
        topic: log.topic,
        partition: log.partition,
        firstDirtyOffset: String(firstDirtyOffset),
        nextFirstDirtyOffset: String(nextFirstDirtyOffset),
        bytesRead: stats.bytesRead,
        bytesWritten: stats.bytesWritten,
        recordsRead: stats.recordsRead,
        recordsWritten: stats.recordsWritten,
        invalidRecords: stats.invalidRecordsRead,
        mapMs: Math.round(stats.mapMs),
        cleanMs: Math.round(stats.cleanMs),
        mapUtilization: round(stats.mapUtilization),
        recopyRatio: stats.bytesRead === 0 ? 0 : round(stats.bytesWritten / stats.bytesRead),
      },
      'a log has been cleaned',
    );
  }
}

function wake(loop: Loop): void {
  loop.isWoken = true;
  loop.wake?.();
}

function isRunning(loop: Loop): boolean {
  return !loop.isStopped;
}

function isDead(loop: Loop): boolean {
  return loop.deaths > CLEANER_THREAD_RESTARTS;
}

function round(ratio: number): number {
  return Math.round(ratio * 10_000) / 10_000;
}
