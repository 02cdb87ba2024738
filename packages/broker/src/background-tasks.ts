import type { Clock, Timer } from '@millrace/compaction';
import type { Logger } from 'pino';

/** Work that comes back in intervals: no run overlaps the next, and a failed one is logged and tried again. */
export class BackgroundTasks {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timers = new Map<string, Timer>();
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Runs `task` after `firstMs`, then `intervalMs` after each run's end. */
  every(name: string, firstMs: number, intervalMs: number, task: () => Promise<void> | void): void {
    if (this.#isStopped) return;
    const timer = this.#clock.setTimer(firstMs, () => {
      const run = this.#run(name, task).finally(() => {
        this.#running.delete(run);
        this.every(name, intervalMs, intervalMs, task);
      });
      this.#running.add(run);
    });
    this.#timers.set(name, timer);
  }

  /** No run starts after this; resolves when those in hand are done. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    await Promise.all(this.#running);
  }

  async #run(name: string, task: () => Promise<void> | void): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#logger.error({ err: error, task: name }, `background task failed: ${name}`);
    }
  }
}
