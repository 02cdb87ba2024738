import type { Clock, Timer } from '../platform/clock.ts';
import { RETRY_BACKOFF_MS } from '../limits.ts';
import { actionFor } from './failure-actions.ts';
import type { TaskName } from './task-id.ts';

/** How long each task has been failing, and what is done about it next. */
export class TaskFailures {
  readonly #clock: Clock;
  /** `task.timeout.ms`. */
  readonly #timeoutMs: number;
  readonly #sinceMs = new Map<TaskName, number>();
  readonly #timers = new Set<Timer>();
  readonly #pauses = new Set<() => void>();

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** `revive` for what may be over when the task is begun anew, until it has failed for too long. */
  decide(error: Error, task: TaskName): 'rejoin' | 'revive' | 'fail' {
    const action = actionFor(error);
    if (action === 'rejoin') return 'rejoin';
    const now = this.#clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(task) ?? now;
    this.#sinceMs.set(task, sinceMs);
    if (action !== 'revive' && action !== 'retry') return 'fail';
    return now - sinceMs > this.#timeoutMs ? 'fail' : 'revive';
  }

  /** The task runs: whatever was wrong is over. */
  recovered(task: TaskName): void {
    this.#sinceMs.delete(task);
  }

  /** Calls `fn` after a pause, unless `close` comes first. */
  later(fn: () => void): void {
    const timer = this.#clock.setTimer(RETRY_BACKOFF_MS, () => {
      this.#timers.delete(timer);
      fn();
    });
    this.#timers.add(timer);
  }

  /** Resolves after a pause, or at once when `close` comes. */
  pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#pauses.add(resolve);
      this.later(() => {
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
