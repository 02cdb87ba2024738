import type { RecordHeaders } from '@millrace/protocol';
import { isCachedStore, type CachedStore, type FlushListener } from '../state/cached-store.ts';
import type { StateStore } from '../state/store.ts';
import type { Outcome } from './processor-node.ts';

/**
 * Passes the changes of a node's store on: at once, or, if the store has a record cache, when the
 * cache lets them go.
 */
export class ChangeForwarder<K, V> {
  readonly #forward: FlushListener<K, V>;
  readonly #cached: CachedStore<unknown, unknown> | null;

  /** @param forward calls the node's children */
  constructor(store: StateStore, sendsOldValues: boolean, forward: FlushListener<K, V>) {
    this.#forward = forward;
    this.#cached = isCachedStore(store) ? store : null;
    this.#cached?.setFlushListener(forward as FlushListener<unknown, unknown>, sendsOldValues);
  }

  /** After the store was written: `old` matters only without a cache, which looks it up itself. */
  changed(
    key: K,
    value: V | null,
    old: V | null,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (this.#cached !== null) return this.#cached.evict();
    return this.#forward(key, value, old, timestamp, headers);
  }
}
