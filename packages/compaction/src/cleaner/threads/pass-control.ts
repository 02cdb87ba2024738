import { CleaningAbortedError } from '../../errors.ts';
import { THROTTLE_SLICE_MS } from '../../limits.ts';
import { processMicros } from '../../platform/clock.ts';
import type { CleaningControl } from '../cleaning-task.ts';
import type { IoThrottle } from './io-throttle.ts';

const WANTED = 0;
const ABORTED = 1;
const MICROS_PER_MS = 1_000n;

/** Whether a worker's pass is still wanted: a word that owner and worker share. */
export class AbortFlag {
  readonly memory: SharedArrayBuffer;
  readonly #word: Int32Array;

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#word = new Int32Array(memory);
  }

  get isRaised(): boolean {
    return Atomics.load(this.#word, 0) === ABORTED;
  }

  /** Also wakes a worker that is held back. */
  raise(): void {
    Atomics.store(this.#word, 0, ABORTED);
    Atomics.notify(this.#word, 0);
  }

  lower(): void {
    Atomics.store(this.#word, 0, WANTED);
  }

  /** Blocks the thread until it is raised, `ms` at most. */
  wait(ms: number): void {
    Atomics.wait(this.#word, 0, WANTED, ms);
  }
}

/** What holds a worker's pass back and stops it. Blocks its thread: nothing for one that has other things to do. */
export class PassControl implements CleaningControl {
  readonly #name: string;
  readonly #flag: AbortFlag;
  readonly #throttle: IoThrottle;

  /** `name`: of the log, for messages. */
  constructor(name: string, flag: AbortFlag, throttle: IoThrottle) {
    this.#name = name;
    this.#flag = flag;
    this.#throttle = throttle;
  }

  ensureWanted(): void {
    if (this.#flag.isRaised) {
      throw new CleaningAbortedError(`${this.#name}: the pass is not wanted any more`);
    }
  }

  throttle(bytes: number): void {
    const until = this.#throttle.pay(bytes, processMicros());
    if (until === 0n) return;
    const rate = this.#throttle.rateChanges;
    for (;;) {
      this.ensureWanted();
      const leftMs = Number((until - processMicros()) / MICROS_PER_MS);
      if (leftMs <= 0 || this.#throttle.rateChanges !== rate) return;
      this.#flag.wait(Math.min(leftMs, THROTTLE_SLICE_MS));
    }
  }
}
