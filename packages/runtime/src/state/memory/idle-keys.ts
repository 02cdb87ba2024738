/** What one key has in a store with retention, as far as this file needs it. */
export interface IdleKey {
  readonly isEmpty: boolean;
  isIdle: boolean;
}

/**
 * Keys that have nothing left. Most come back soon, so they stay in the store's map for one or two more
 * periods, and only those that are empty still are forgotten.
 */
export class IdleKeys<E extends IdleKey> {
  readonly #periodMs: number;
  readonly #forget: (key: E) => void;
  #listed: E[] = [];
  /** Listed in the period before. */
  #old: E[] = [];
  #sweepAt = -1;

  constructor(periodMs: number, forget: (key: E) => void) {
    this.#periodMs = periodMs;
    this.#forget = forget;
  }

  add(key: E): void {
    if (key.isIdle) return;
    key.isIdle = true;
    this.#listed.push(key);
  }

  /** @param time the store's stream time */
  advanceTo(time: number): void {
    if (time < this.#sweepAt) return;
    if (this.#sweepAt >= 0) {
      for (const key of this.#old) {
        key.isIdle = false;
        if (key.isEmpty) this.#forget(key);
      }
      this.#old = this.#listed;
      this.#listed = [];
    }
    this.#sweepAt = time + this.#periodMs;
  }

  clear(): void {
    this.#old = [];
    this.#listed = [];
    this.#sweepAt = -1;
  }
}
