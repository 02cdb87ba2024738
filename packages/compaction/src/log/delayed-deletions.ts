import type { Clock, Timer } from '../platform/clock.ts';
import type { Disk } from '../platform/disk.ts';
import type { Logger } from '../platform/logger.ts';

/**
 * Files that were renamed out of the way and are unlinked later, so that readers that still have
 * them open get to the end. What is left at close is removed by the next start.
 */
export class DelayedDeletions {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timers = new Set<Timer>();

  constructor(disk: Disk, clock: Clock, logger: Logger) {
    this.#disk = disk;
    this.#clock = clock;
    this.#logger = logger;
  }

  schedule(delayMs: number, paths: readonly string[]): void {
    this.#run(delayMs, paths.join(', '), async () => {
      // Not in this thread: unlinking a large file takes long.
      for (const path of paths) await this.#disk.removeTree(path);
    });
  }

  /** Removes a whole directory later. */
  scheduleTree(delayMs: number, path: string): void {
    this.#run(delayMs, path, () => this.#disk.removeTree(path));
  }

  #run(delayMs: number, what: string, remove: () => Promise<void>): void {
    const timer = this.#clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      remove().catch((error: unknown) => {
        this.#logger.warn({ files: what, err: error }, 'deleted files could not be unlinked');
      });
    });
    this.#timers.add(timer);
  }

  close(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
