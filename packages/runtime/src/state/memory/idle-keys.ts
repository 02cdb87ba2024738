import { IDLE_KEYS_MIN } from '../limits.ts';

/** What one key has in a store with retention, as far as this file needs it. */
export interface IdleKey {
  readonly isEmpty: boolean;
  isIdle: boolean;
}

/**
 * Keys that have nothing left. Most come back soon, and to forget them and make them anew costs more than
 * all else that a store does; so they stay in its map while they are no more than twice as many as those
 * that had something at one time. (Many may expire at one moment and then come back one by one, which is why
 * those of the moment are no measure.)
 */
export class IdleKeys<E extends IdleKey> {
  readonly #forget: (key: E) => void;
  /** Those that were empty since the last sweep, whether or not they still are. */
  #listed: E[] = [];
  #busy = 0;
  #mostBusy = 0;

  /** @param forget takes a key out of the store's map */
  constructor(forget: (key: E) => void) {
    this.#forget = forget;
  }

  /** A key that had nothing, or is new, has something now. */
  filled(): void {
    this.#busy++;
    if (this.#busy > this.#mostBusy) this.#mostBusy = this.#busy;
  }

  /** A key that had something has nothing left. */
  emptied(key: E): void {
    this.#busy--;
    if (key.isIdle) return;
    key.isIdle = true;
    this.#listed.push(key);
    if (this.#listed.length > IDLE_KEYS_MIN + 2 * this.#mostBusy) this.#sweep();
  }

  #sweep(): void {
    const listed = this.#listed;
    this.#listed = [];
    this.#mostBusy = this.#busy;
    for (const key of listed) {
      key.isIdle = false;
      if (key.isEmpty) this.#forget(key);
    }
  }

  clear(): void {
    this.#listed = [];
    this.#busy = 0;
    this.#mostBusy = 0;
  }
}
