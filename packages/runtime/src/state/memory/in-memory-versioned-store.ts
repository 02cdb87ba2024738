import type { RecordCursor } from '@millrace/protocol';
import type { RecordSerde } from '../../serdes/serde.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { StoreContext } from '../store.ts';
import {
  PUT_LATEST,
  PUT_NOT_PUT,
  type VersionedKeyValueStore,
  type VersionedRecord,
} from '../versioned-store.ts';
import { BigMap } from './big-map.ts';
import { Expiry } from './expiry.ts';
import { KeyCodec, type MapKey } from './key-codec.ts';
import { KeyHistory } from './key-history.ts';
import { ValueCodec } from './value-codec.ts';

/**
 * A versioned store in memory: per key a short array of versions, and a list of what expires when. Lost
 * with the process, so it is always restored from the start of its changelog.
 */
export class InMemoryVersionedStore<K, V> implements VersionedKeyValueStore<K, V> {
  readonly name: string;
  readonly isPersistent = false;
  readonly isVersioned = true;
  readonly historyRetentionMs: number;
  isOpen = false;
  foundTimestamp = -1;

  readonly #keys: KeyCodec<K>;
  readonly #values: ValueCodec<V>;
  readonly #histories = new BigMap<MapKey, KeyHistory<K>>();
  readonly #expiry: Expiry<KeyHistory<K>>;
  #observedStreamTime = -1;
  #context: StoreContext | null = null;
  #changelog: PartitionAppender | null = null;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    historyRetentionMs: number,
  ) {
    this.name = name;
    this.historyRetentionMs = historyRetentionMs;
    this.#keys = new KeyCodec(keySerde);
    this.#values = new ValueCodec(valueSerde, name);
    this.#expiry = new Expiry(historyRetentionMs, (history) => {
      this.#histories.delete(history.mapKey);
    });
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#context = context;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get(key: K): V | null {
    const history = this.#history(key);
    return this.#valueOf(history, history === undefined ? -1 : history.latest);
  }

  getAsOf(key: K, asOf: number): V | null {
    const history = this.#history(key);
    return this.#valueOf(history, this.#indexAt(history, asOf));
  }

  getRecord(key: K, asOf?: number): VersionedRecord<V> | null {
    const history = this.#history(key);
    if (history === undefined) return null;
    return this.#record(
      history,
      asOf === undefined ? history.latest : this.#indexAt(history, asOf),
    );
  }

  *history(key: K, from = 0, to = Number.MAX_SAFE_INTEGER): IterableIterator<VersionedRecord<V>> {
    const history = this.#history(key);
    if (history === undefined) return;
    const found: VersionedRecord<V>[] = [];
    for (let i = Math.max(0, history.indexAt(from)); i <= history.indexAt(to); i++) {
      const record = this.#record(history, i);
      if (record !== null && !this.#isForgotten(record)) found.push(record);
    }
    yield* found;
  }

  put(key: K, value: V | null, timestamp: number): number {
    const stored = value === null ? null : this.#values.toStored(value, null);
    // The changelog first: if it refuses the record, the store is as it was. What comes too late goes to
    // the changelog all the same, as Kafka's does.
    if (this.#changelog !== null) {
      const keyEnd = this.#keys.write(key);
      const { storedSerde } = this.#values;
      this.#changelog.append(timestamp, this.#keys.buffer, 0, keyEnd, stored, storedSerde, null);
    }
    const result = this.#set(key, stored, timestamp);
    if (result === PUT_NOT_PUT) {
      this.#context?.recordDropped(this.name, 'it is older than the history that the store keeps');
    }
    return result;
  }

  delete(key: K, timestamp: number): VersionedRecord<V> | null {
    const isTooLate = timestamp < this.#observedStreamTime - this.historyRetentionMs;
    const before = isTooLate ? null : this.#recordWhen(key, timestamp);
    this.put(key, null, timestamp);
    return before;
  }

  restore(cursor: RecordCursor): void {
    if (cursor.keyStart < 0) return;
    const key = this.#keys.read(cursor.buffer, cursor.keyStart, cursor.keyEnd);
    this.#set(key, this.#values.restored(cursor), cursor.timestamp);
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#histories.clear();
    this.#expiry.clear();
    this.#observedStreamTime = -1;
  }

  #set(key: K, stored: unknown, timestamp: number): number {
    if (timestamp < this.#observedStreamTime - this.historyRetentionMs) return PUT_NOT_PUT;
    if (timestamp > this.#observedStreamTime) {
      this.#observedStreamTime = timestamp;
      this.#expiry.advanceTo(timestamp - this.historyRetentionMs);
    }
    const mapKey = this.#keys.mapKey(key);
    let history = this.#histories.get(mapKey);
    if (history === undefined) {
      history = new KeyHistory(this.#keys.own(key), mapKey);
      this.#histories.add(mapKey, history);
    }
    const index = history.put(timestamp, stored);
    // What it replaces ends here.
    this.#expiry.add(timestamp, history);
    return history.validTo(index) ?? PUT_LATEST;
  }

  #history(key: K): KeyHistory<K> | undefined {
    return this.#histories.get(this.#keys.mapKey(key));
  }

  /** Further back than the history goes, only the latest version is known. */
  #indexAt(history: KeyHistory<K> | undefined, asOf: number): number {
    if (history === undefined) return -1;
    const index = history.indexAt(asOf);
    if (asOf >= this.#observedStreamTime - this.historyRetentionMs) return index;
    return index === history.latest ? index : -1;
  }

  /** As of a time that lies before what a write at that time moves stream time to. */
  #recordWhen(key: K, timestamp: number): VersionedRecord<V> | null {
    const history = this.#history(key);
    return history === undefined ? null : this.#record(history, history.indexAt(timestamp));
  }

  #isForgotten({ validTo }: VersionedRecord<V>): boolean {
    return validTo !== null && validTo <= this.#observedStreamTime - this.historyRetentionMs;
  }

  #valueOf(history: KeyHistory<K> | undefined, index: number): V | null {
    const stored = history === undefined || index < 0 ? null : history.stored[index];
    if (history === undefined || stored === null) {
      this.foundTimestamp = -1;
      return null;
    }
    this.foundTimestamp = history.timestamps[index] as number;
    return this.#values.fromStored(stored);
  }

  #record(history: KeyHistory<K>, index: number): VersionedRecord<V> | null {
    const stored = index < 0 ? null : history.stored[index];
    if (stored === null) return null;
    return {
      value: this.#values.fromStored(stored),
      timestamp: history.timestamps[index] as number,
      validTo: history.validTo(index),
    };
  }
}
