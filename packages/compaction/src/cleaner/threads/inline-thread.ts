import { CleaningAbortedError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Disk } from '../../platform/disk.ts';
import type { Random } from '../../platform/random.ts';
import { checkedDisk } from '../../log-dir/checked-disk.ts';
import { cleanLog } from '../pass/clean-log.ts';
import type { CleaningControl, CleaningReport, CleaningTask } from '../cleaning-task.ts';
import type { CleanerThread, CleanerThreadSettings, SwapGroup } from './cleaner-thread.ts';
import { PassTools } from './pass-tools.ts';

export interface InlineThreadOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Passes in the thread that asks for them, for a disk that no other thread has. They are counted, but
 * not held back, and give the event loop a turn between two groups only.
 */
export class InlineThread implements CleanerThread {
  readonly #settings: CleanerThreadSettings;
  readonly #tools: PassTools;
  #isAborted = false;
  #settled: Promise<unknown> = Promise.resolve();

  constructor(options: InlineThreadOptions, settings: CleanerThreadSettings) {
    this.#settings = settings;
    this.#tools = new PassTools({ ...options, ...settings, disk: checkedDisk(options.disk) });
  }

  run(task: CleaningTask, swap: SwapGroup): Promise<CleaningReport> {
    const run = this.#run(task, swap);
    this.#settled = run.catch(() => undefined);
    return run;
  }

  async #run(task: CleaningTask, swap: SwapGroup): Promise<CleaningReport> {
    this.#isAborted = false;
    const { throttle } = this.#settings;
    const control: CleaningControl = {
      ensureWanted: () => {
        if (this.#isAborted) {
          throw new CleaningAbortedError(`${task.name}: the pass is not wanted any more`);
        }
      },
      throttle: (bytes) => {
        throttle.pay(bytes, 0n);
      },
    };
    const pass = cleanLog(task, this.#tools.for(control));
    for (;;) {
      const step = pass.next();
      if (step.done === true) return step.value;
      await swap(step.value);
    }
  }

  abort(): void {
    this.#isAborted = true;
  }

  release(): void {
    this.#tools.release();
  }

  async close(): Promise<void> {
    this.abort();
    await this.#settled;
    this.release();
  }
}
