import {
  CleanerThreadError,
  CleaningAbortedError,
  LogStoreError,
  StorageFullError,
  toError,
} from '../../errors.ts';
import { DEATHS_PER_PARTITION, FAILED_PASS_RETRY_MS } from '../../limits.ts';
import type { LogDir } from '../../log-dir/log-dir.ts';
import type { Log } from '../../log/log.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import { cleanableRange } from '../cleanable-range.ts';
import type { CleanableRange } from '../cleanable-range.ts';
import { CleaningStates } from './cleaning-states.ts';
import type { CleaningState } from './cleaning-states.ts';
import { loadFigures, Slices } from './figures.ts';

export interface CleanerManagerOptions {
  readonly logDir: LogDir;
  readonly clock: Clock;
  readonly logger: Logger;
  /** log.cleaner.backoff.ms, as it is now. */
  readonly backoffMs: () => number;
  /** Has the pass over a log end soon. */
  readonly abort: (log: Log) => void;
}

/** A log that is to be cleaned; no other pass begins on it until `leave`. */
export interface Grabbed {
  readonly log: Log;
  readonly range: CleanableRange;
  /** The time that the range was worked out for, epoch ms. */
  readonly nowMs: number;
}

/** Why a partition is not cleaned any more. */
export interface Uncleanable {
  readonly code: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly sinceMs: number;
}

/** What the last choice saw. */
export interface ChoiceFigures {
  /** Epoch ms; null: there was none yet. */
  readonly atMs: number | null;
  /** 0 to 1, of the dirtiest log that may be cleaned. */
  readonly maxDirtyRatio: number;
  /** By how much max.compaction.lag.ms is exceeded at most. */
  readonly maxCompactionDelayMs: number;
}

/**
 * Which log is cleaned next, and which must not be: the states of all partitions of a directory, those
 * that have failed, and what the cleaner checkpoint says of them. Runs in the thread that owns the logs.
 */
export class CleanerManager {
  readonly #logDir: LogDir;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #backoffMs: () => number;
  readonly #abort: (log: Log) => void;
  readonly #states = new CleaningStates<Log>();
  readonly #uncleanable = new Map<Log, Uncleanable>();
  /** Their last pass came to nothing: until when they are left alone, monotonic ms. */
  readonly #setAside = new Map<Log, number>();
  /** Codes of failures that were told of. */
  readonly #toldOf = new Map<Log, string>();
  /** How often a log's pass has killed its thread. */
  readonly #deaths = new Map<Log, number>();
  /** Choices come one after the other. */
  #choice: Promise<unknown> = Promise.resolve();
  #figures: ChoiceFigures = { atMs: null, maxDirtyRatio: 0, maxCompactionDelayMs: 0 };

  constructor(options: CleanerManagerOptions) {
    this.#logDir = options.logDir;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#backoffMs = options.backoffMs;
    this.#abort = options.abort;
  }

  get figures(): ChoiceFigures {
    return this.#figures;
  }

  get uncleanable(): ReadonlyMap<Log, Uncleanable> {
    return this.#uncleanable;
  }

  stateOf(log: Log): CleaningState {
    return this.#states.of(log);
  }

  /**
   * The dirtiest log that may be cleaned, for the caller alone; null: there is none. A log whose max
   * lag is over may be cleaned whatever its ratio, but has to wait for the dirtier ones. Checkpoints
   * that lie outside of their logs are repaired on the way. What goes wrong with one log makes it
   * uncleanable, and the others go on.
   */
  grab(): Promise<Grabbed | null> {
    const choice = this.#choice.then(() => this.#choose());
    this.#choice = choice.catch(() => undefined);
    return choice;
  }

  async #choose(): Promise<Grabbed | null> {
    this.#forgetClosed();
    const nowMs = this.#clock.now();
    const slices = new Slices(this.#clock);
    const found: Grabbed[] = [];
    let maxCompactionDelayMs = 0;
    let maxDirtyRatio = 0;
    for (const log of [...this.#logDir.logs()]) {
      if (!this.#mayClean(log)) continue;
      const range = await this.#lookAt(log, nowMs, slices);
      await slices.pause();
      if (range === null) continue;
      maxDirtyRatio = Math.max(maxDirtyRatio, range.dirtyRatio);
      maxCompactionDelayMs = Math.max(maxCompactionDelayMs, range.maxLagExceededMs);
      if (range.isEligible) found.push({ log, range, nowMs });
    }
    this.#figures = { atMs: nowMs, maxDirtyRatio, maxCompactionDelayMs };
    found.sort((a, b) => b.range.dirtyRatio - a.range.dirtyRatio);
    for (const { log } of found) {
      // Much may have happened since it was looked at.
      if (!this.#mayClean(log)) continue;
      const range = await this.#lookAt(log, nowMs, slices);
      if (range?.isEligible !== true || !this.#mayClean(log)) continue;
      this.#states.grab(log);
      return { log, range, nowMs };
    }
    return null;
  }

  #mayClean(log: Log): boolean {
    return (
      log.config.cleanupPolicy.compact &&
      !log.isClosed &&
      log.failure === null &&
      this.#states.of(log) === 'none' &&
      !this.#uncleanable.has(log) &&
      (this.#setAside.get(log) ?? 0) <= this.#clock.monotonicMs()
    );
  }

  /** null: the log cannot be looked at. */
  async #lookAt(log: Log, nowMs: number, slices: Slices): Promise<CleanableRange | null> {
    try {
      const checkpoint = this.#logDir.cleanerOffsets.get(log.name);
      await loadFigures(log, checkpoint ?? log.logStartOffset, slices);
      if (log.isClosed) return null;
      const range = cleanableRange(log, checkpoint, nowMs);
      if (range.isCheckpointInvalid) await this.#repair(log, checkpoint as bigint, range);
      return range;
    } catch (error) {
      this.#fail(log, toError(error));
      return null;
    }
  }

  /** At once, also if the log is not cleaned now: or it would be repaired again and again (KAFKA-6266). */
  async #repair(log: Log, checkpoint: bigint, range: CleanableRange): Promise<void> {
    const { firstDirtyOffset } = range;
    const context = {
      ...placeOf(log),
      checkpoint: String(checkpoint),
      firstDirtyOffset: String(firstDirtyOffset),
    };
    // Retention takes away what was clean: nothing to speak of.
    const isRoutine = log.config.cleanupPolicy.delete && checkpoint < log.logStartOffset;
    if (isRoutine) this.#logger.debug(context, 'cleaning goes on at the log start');
    else this.#logger.warn(context, 'the cleaner checkpoint lay outside of the log: reset');
    await this.writeCheckpoint(log, firstDirtyOffset);
  }

  /** A checkpoint that cannot be written costs a pass over the same once more, after a restart. */
  async writeCheckpoint(log: Log, offset: bigint): Promise<void> {
    try {
      await this.#logDir.updateCleanerOffset(log, offset);
    } catch (error) {
      this.#tell(log, toError(error), 'the cleaner checkpoint could not be written');
    }
  }

  /** The pass over a grabbed log has succeeded. */
  async succeed(log: Log, nextFirstDirtyOffset: bigint): Promise<void> {
    this.#toldOf.delete(log);
    this.#deaths.delete(log);
    // Whoever aborted it may be about to cut the log.
    if (this.#states.of(log) !== 'inProgress') return;
    await this.writeCheckpoint(log, nextFirstDirtyOffset);
  }

  /** The pass has failed. Either the partition is left alone for a while, or it is uncleanable. */
  fail(log: Log, error: Error): void {
    const isAborted = error instanceof CleaningAbortedError;
    const waitMs = isAborted
      ? FAILED_PASS_RETRY_MS
      : Math.max(this.#backoffMs(), FAILED_PASS_RETRY_MS);
    this.#setAside.set(log, this.#clock.monotonicMs() + waitMs);
    this.#fail(log, error);
  }

  #fail(log: Log, error: Error): void {
    // What happens to a log that is gone is nobody's concern.
    if (log.isClosed || log.failure !== null) return;
    if (error instanceof CleaningAbortedError) {
      this.#logger.debug({ ...placeOf(log), err: error }, 'a cleaning pass was aborted');
    } else if (error instanceof StorageFullError) {
      this.#tell(log, error, 'no space left to clean a log: it is tried again');
    } else if (
      error instanceof CleanerThreadError &&
      this.#countDeath(log) < DEATHS_PER_PARTITION
    ) {
      this.#tell(log, error, 'a cleaning pass lost its thread: it is tried again');
    } else if (this.#states.of(log) !== 'aborted') {
      this.#uncleanable.set(log, {
        code: codeOf(error),
        reason: error.message,
        sinceMs: this.#clock.now(),
      });
      this.#logger.error(
        { ...placeOf(log), err: error },
        "a partition is not cleaned any more: restore its files, then change its topic's configuration, or restart",
      );
    }
  }

  #countDeath(log: Log): number {
    const count = (this.#deaths.get(log) ?? 0) + 1;
    this.#deaths.set(log, count);
    return count;
  }

  /** Once for each kind of trouble, until a pass succeeds: what comes back with every round fills disks. */
  #tell(log: Log, error: Error, message: string): void {
    const code = codeOf(error);
    if (this.#toldOf.get(log) === code) return;
    this.#toldOf.set(log, code);
    this.#logger.warn({ ...placeOf(log), err: error }, message);
  }

  /** To be called once for each grabbed log, however its pass ended (KAFKA-6568). */
  leave(log: Log): void {
    this.#states.leave(log);
  }

  /**
   * Runs `action` while no pass is under way on the log, and none begins: a pass is aborted first. For
   * whatever cuts a log or takes it away.
   */
  async withoutCleaning<T>(log: Log, action: () => Promise<T> | T): Promise<T> {
    const isLeft = this.#states.pause(log);
    this.#abort(log);
    await isLeft;
    try {
      return await action();
    } finally {
      this.#states.resume(log);
      if (log.isClosed) this.#forget(log);
    }
  }

  /**
   * The log has another configuration: what failed is tried again (KAFKA-19895); a pass over what is
   * not compacted any more is aborted (KAFKA-12840). Resolves when it has been left.
   */
  async configChanged(log: Log): Promise<void> {
    this.#forget(log);
    if (!log.config.cleanupPolicy.compact && this.#states.of(log) === 'inProgress') {
      await this.withoutCleaning(log, () => undefined);
    }
  }

  #forget(log: Log): void {
    this.#uncleanable.delete(log);
    this.#setAside.delete(log);
    this.#toldOf.delete(log);
    this.#deaths.delete(log);
  }

  #forgetClosed(): void {
    for (const logs of [this.#uncleanable, this.#setAside, this.#toldOf, this.#deaths]) {
      for (const log of logs.keys()) if (log.isClosed) this.#forget(log);
    }
  }

  /**
   * Retention of compacted logs, whichever rules their policies say (KAFKA-7400). It is a turn of the
   * event loop per log; those with a pass under way come next time, and uncleanable ones not at all.
   */
  async runRetention(): Promise<void> {
    await this.#logDir.runRetention(
      (log) =>
        log.config.cleanupPolicy.compact &&
        this.#states.of(log) === 'none' &&
        !this.#uncleanable.has(log),
    );
  }
}

function codeOf(error: Error): string {
  return error instanceof LogStoreError ? error.code : error.name;
}

function placeOf(log: Log): { topic: string; partition: number } {
  return { topic: log.topic, partition: log.partition };
}
