/**
 * Windows as Kafka's metrics have them: `metrics.num.samples` windows of `metrics.sample.window.ms`,
 * and the one that is being filled. Nothing looks at a clock when something is recorded: the registry
 * ends the windows of all that it has, with one timer.
 */
export interface WindowLengths {
  /** `metrics.sample.window.ms`. */
  readonly windowMs: number;
  /** `metrics.num.samples`. */
  readonly sampleCount: number;
}

/** Something that is looked at in windows. */
export interface Windowed {
  endWindow(lengths: WindowLengths, nowMs: number): void;
}

interface Summary {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

/** Values that are recorded now and then: their average, least and greatest; NaN while there are none. */
export class WindowedValues implements Windowed {
  /** The windows before, oldest first. */
  readonly #past: Summary[] = [];
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  record(value: number): void {
    this.recordAll(1, value, value, value);
  }

  /** Several values at once, of which no more is known than this. */
  recordAll(count: number, sum: number, min: number, max: number): void {
    this.#count += count;
    this.#sum += sum;
    if (min < this.#min) this.#min = min;
    if (max > this.#max) this.#max = max;
  }

  endWindow({ sampleCount }: WindowLengths): void {
    this.#past.push(this.#current);
    if (this.#past.length > sampleCount) this.#past.shift();
    this.#count = 0;
    this.#sum = 0;
    this.#min = Infinity;
    this.#max = -Infinity;
  }

  get average(): number {
    let count = this.#count;
    let sum = this.#sum;
    for (const window of this.#past) {
      count += window.count;
      sum += window.sum;
    }
    return sum / count;
  }

  get min(): number {
    return orNaN(Math.min(this.#min, ...this.#past.map(({ min }) => min)));
  }

  get max(): number {
    return orNaN(Math.max(this.#max, ...this.#past.map(({ max }) => max)));
  }

  get #current(): Summary {
    return { count: this.#count, sum: this.#sum, min: this.#min, max: this.#max };
  }
}

function orNaN(value: number): number {
  return Number.isFinite(value) ? value : Number.NaN;
}

/** How fast a counter grows. Whoever counts only adds; the counter is read when a window ends. */
export class WindowedRate implements Windowed {
  readonly #counter: () => number;
  /** Where the counter stood when the windows began, oldest first; the last one is being filled. */
  readonly #starts: { readonly count: number; readonly atMs: number }[];

  /** Times are on the monotonic clock. */
  constructor(counter: () => number, nowMs: number) {
    this.#counter = counter;
    this.#starts = [{ count: counter(), atMs: nowMs }];
  }

  endWindow({ sampleCount }: WindowLengths, nowMs: number): void {
    this.#starts.push({ count: this.#counter(), atMs: nowMs });
    if (this.#starts.length > sampleCount + 1) this.#starts.shift();
  }

  /**
   * As Kafka reckons it: at least all windows but one count as full, so that the first records after a
   * start make no enormous rate.
   */
  perSecond({ windowMs, sampleCount }: WindowLengths, nowMs: number): number {
    const elapsedMs = this.#elapsedMs(nowMs);
    const missing = sampleCount - 1 - Math.floor(elapsedMs / windowMs);
    return (1_000 * this.#growth) / Math.max(elapsedMs + Math.max(missing, 0) * windowMs, 1);
  }

  /** Of a counter of milliseconds: the part of the time that it counted. */
  ofTime(nowMs: number): number {
    return this.#growth / Math.max(this.#elapsedMs(nowMs), 1);
  }

  #elapsedMs(nowMs: number): number {
    return nowMs - (this.#starts[0]?.atMs ?? nowMs);
  }

  get #growth(): number {
    return this.#counter() - (this.#starts[0]?.count ?? 0);
  }
}
