import type { RecordHeaders } from '@millrace/protocol';
import type { KeyValueStore } from '../state/key-value-store.ts';
import type { StateStore } from '../state/store.ts';
import {
  isVersionedStore,
  PUT_LATEST,
  PUT_NOT_PUT,
  type VersionedKeyValueStore,
} from '../state/versioned-store.ts';
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
 * the store's record cache lets it go. What comes too late for a versioned store's history is not
 * passed on; what comes too late to be the current row is passed on as such (KIP-914).
 */
export class TableStore<K, V> {
  readonly #store: KeyValueStore<K, V>;
  readonly #versioned: VersionedKeyValueStore<K, V> | null;
  readonly #forward: ForwardChange<K, V>;
  readonly #forwarder: ChangeForwarder<K, V>;

  constructor(store: StateStore, sendsOldValues: boolean, forward: ForwardChange<K, V>) {
    // What is read alike is read through this; a versioned store is written as what it is.
    this.#store = store as KeyValueStore<K, V>;
    this.#versioned = isVersionedStore(store)
      ? (store as unknown as VersionedKeyValueStore<K, V>)
      : null;
    this.#forward = forward;
    this.#forwarder = new ChangeForwarder<K, V>(store, sendsOldValues, forward);
  }

  /** Of the row that the last `get` found, -1 if none: read it before anything else is called. */
  get foundTimestamp(): number {
    return this.#store.foundTimestamp;
  }

  get(key: K): V | null {
    return this.#store.get(key);
  }

  /**
   * Writes the row and passes the change on, both with the row's timestamp; a tombstone is written with
   * the time of the record that made it. `headers` are the record's.
   */
  update(
    key: K,
    value: V | null,
    old: V | null,
    timestamp: number,
    recordTimestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (this.#versioned !== null) {
      const validTo = this.#versioned.put(key, value, timestamp);
      if (validTo === PUT_NOT_PUT) return undefined;
      return this.#forward(key, value, old, timestamp, headers, validTo === PUT_LATEST);
    }
    const writtenAt = value === null ? recordTimestamp : timestamp;
    this.#store.put(key, value, writtenAt, headers);
    return this.#forwarder.changed(key, value, old, timestamp, headers);
  }
}
