import type { Clock, Timer } from '../platform/clock.ts';
import { RETRY_BACKOFF_MAX_MS, RETRY_BACKOFF_MS, TASK_RECOVERED_MIN_MS } from '../limits.ts';
import { actionFor } from './failure-actions.ts';
import type { TaskName } from './task-id.ts';

/** How a task is at the moment of its failure. */
interface FailingTask {
  /** Since it was begun anew: offsets of its own were committed, records were taken, punctuators called. */
  readonly hasCommitted: boolean;
  readonly processedCount: number;
  readonly punctuatedCount: number;
  /** How far it is in its inputs, all together. */
  readonly position: bigint;
}

/** One task's failures that have followed each other without progress in between. */
interface Streak {
  readonly sinceMs: number;
  readonly count: number;
  /** The furthest at which it failed. */
  readonly position: bigint;
}

/**
 * How long each task has been failing, and what is done about it next. That a task ran again before it
 * failed is no progress yet, since it may have failed on the same record; that it came further than
 * ever is, or a commit of its own, or that it ran for long, or with nothing to do.
 */
export class TaskFailures {
  readonly #clock: Clock;
  /** `task.timeout.ms`. */
  readonly #timeoutMs: number;
  readonly #find: (task: TaskName) => FailingTask | undefined;
  readonly #streaks = new Map<TaskName, Streak>();
  readonly #runningSinceMs = new Map<TaskName, number>();
  readonly #timers = new Set<Timer>();
  readonly #pauses = new Set<() => void>();
  #pauseMs = RETRY_BACKOFF_MS;

  constructor(clock: Clock, timeoutMs: number, find: (task: TaskName) => FailingTask | undefined) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#find = find;
  }

  /** `revive` for what may be over when the task is begun anew, until it has failed for too long. */
  decide(error: Error, task: TaskName): 'rejoin' | 'revive' | 'fail' {
    const action = actionFor(error);
    if (action === 'rejoin') return 'rejoin';
    const nowMs = this.#clock.monotonicMs();
    const failing = this.#find(task);
    const former = this.#streaks.get(task) ?? { sinceMs: nowMs, count: 0, position: -1n };
    const isOver = this.#isOver(task, former, failing, nowMs);
    const { sinceMs, count } = isOver ? { sinceMs: nowMs, count: 0 } : former;
    const position = furthest(former.position, failing?.position ?? -1n);
    this.#streaks.set(task, { sinceMs, count: count + 1, position });
    this.#pauseMs = Math.min(RETRY_BACKOFF_MS * 2 ** count, RETRY_BACKOFF_MAX_MS);
    this.#runningSinceMs.delete(task);
    if (action !== 'revive' && action !== 'retry') return 'fail';
    return nowMs - sinceMs > this.#timeoutMs ? 'fail' : 'revive';
  }

  /** The task runs, for the first time or again. */
  runs(task: TaskName): void {
    if (this.#streaks.has(task) && !this.#runningSinceMs.has(task)) {
      this.#runningSinceMs.set(task, this.#clock.monotonicMs());
    }
  }

  #isOver(
    task: TaskName,
    former: Streak,
    failing: FailingTask | undefined,
    nowMs: number,
  ): boolean {
    if (failing?.hasCommitted === true) return true;
    const runningSinceMs = this.#runningSinceMs.get(task);
    if (runningSinceMs === undefined) return false;
    if (nowMs - runningSinceMs > Math.max(this.#timeoutMs, TASK_RECOVERED_MIN_MS)) return true;
    if (failing === undefined || failing.position > former.position) return true;
    return failing.processedCount + failing.punctuatedCount === 0;
  }

  /** Calls `fn` after a pause, longer each time that the task which was decided about fails again, unless `close` comes first. */
  later(fn: () => void): void {
    this.#after(this.#pauseMs, fn);
  }

  #after(ms: number, fn: () => void): void {
    const timer = this.#clock.setTimer(ms, () => {
      this.#timers.delete(timer);
      fn();
    });
    this.#timers.add(timer);
  }

  /** Resolves after a pause, or at once when `close` comes. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#pauses.add(resolve);
      this.#after(RETRY_BACKOFF_MS, () => {
        this.#pauses.delete(resolve);
        resolve();
      });
    });
  }

  close(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    for (const resolve of this.#pauses) resolve();
    this.#pauses.clear();
  }
}

function furthest(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
