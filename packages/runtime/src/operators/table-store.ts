import type { RecordHeaders } from '@millrace/protocol';
import type { KeyValueStore } from '../state/key-value-store.ts';
import type { StateStore } from '../state/store.ts';
import { ChangeForwarder } from './change-forwarder.ts';
import type { Outcome } from './processor-node.ts';

/** Calls the children of the node that owns a table's store. */
export type ForwardChange<K, V> = (
  key: K,
  value: V | null,
  old: V | null,
  timestamp: number,
  headers: RecordHeaders | null,
  isLatest?: boolean,
) => Outcome;

/**
 * A table's own store as its node sees it: reads, and writes that pass the change on, at once or when
 * the store's record cache lets it go.
 */
export class TableStore<K, V> {
  readonly #store: KeyValueStore<K, V>;
  readonly #forwarder: ChangeForwarder<K, V>;

  constructor(store: StateStore, sendsOldValues: boolean, forward: ForwardChange<K, V>) {
    this.#store = store as KeyValueStore<K, V>;
    this.#forwarder = new ChangeForwarder<K, V>(store, sendsOldValues, forward);
  }

  /** Of the row that the last `get` found, -1 if none. */
  get foundTimestamp(): number {
    return this.#store.foundTimestamp;
  }

  get(key: K): V | null {
    return this.#store.get(key);
  }

  /**
   * Writes the row and passes the change on, with the row's timestamp. A tombstone is written with
   * the time of the record that made it.
   */
  update(
    key: K,
    value: V | null,
    old: V | null,
    timestamp: number,
    recordTimestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    this.#store.put(key, value, value === null ? recordTimestamp : timestamp);
    return this.#forwarder.changed(key, value, old, timestamp, headers);
  }
}
