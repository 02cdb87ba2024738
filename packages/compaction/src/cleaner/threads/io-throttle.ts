/** Int64s of the shared memory. */
const RATE = 0;
const PAID_UNTIL = 1;
const TOTAL_BYTES = 2;
const RATE_CHANGES = 3;
const FIELD_COUNT = 4;

const NO_LIMIT = 0n;
const MICROS_PER_SECOND = 1_000_000n;

/**
 * log.cleaner.io.max.bytes.per.second, one account for all cleaner threads, in memory that they share:
 * whoever has read or written pays with the time that it should have taken, after all who paid before.
 * Time is `processMicros`, which all threads of a process have in common.
 */
export class IoThrottle {
  readonly memory: SharedArrayBuffer;
  readonly #fields: BigInt64Array;

  /** On memory of another thread's throttle, the same one. */
  constructor(memory?: SharedArrayBuffer) {
    this.memory = memory ?? new SharedArrayBuffer(FIELD_COUNT * BigInt64Array.BYTES_PER_ELEMENT);
    this.#fields = new BigInt64Array(this.memory);
  }

  /** From now on; what was to be paid is let go. Above int64's maximum: no limit. */
  setRate(bytesPerSecond: number): void {
    const rate =
      bytesPerSecond >= Number.MAX_SAFE_INTEGER ? NO_LIMIT : BigInt(Math.ceil(bytesPerSecond));
    Atomics.store(this.#fields, RATE, rate);
    Atomics.store(this.#fields, PAID_UNTIL, 0n);
    Atomics.add(this.#fields, RATE_CHANGES, 1n);
  }

  /** Changes with the rate: whoever waits for an older one need not any more. */
  get rateChanges(): bigint {
    return Atomics.load(this.#fields, RATE_CHANGES);
  }

  /** Of all threads, read and written, since the start. */
  get totalBytes(): number {
    return Number(Atomics.load(this.#fields, TOTAL_BYTES));
  }

  /** Accounts for bytes that were read or written; until when to wait (process µs), 0n: not at all. */
  pay(bytes: number, nowMicros: bigint): bigint {
    const fields = this.#fields;
    Atomics.add(fields, TOTAL_BYTES, BigInt(bytes));
    const rate = Atomics.load(fields, RATE);
    if (rate === NO_LIMIT) return 0n;
    const cost = (BigInt(bytes) * MICROS_PER_SECOND) / rate;
    for (;;) {
      const before = Atomics.load(fields, PAID_UNTIL);
      const until = (before > nowMicros ? before : nowMicros) + cost;
      if (Atomics.compareExchange(fields, PAID_UNTIL, before, until) === before) return until;
    }
  }
}
