import type { RecordCursor } from '@millrace/protocol';
import type { RecordSerde } from '../serdes/serde.ts';
import { KeyCodec } from './memory/key-codec.ts';
import { ValueCodec } from './memory/value-codec.ts';
import type { VersionHistory } from './memory/version-history.ts';
import type { PartitionAppender } from './partition-appender.ts';
import type { StoreContext } from './store.ts';
import {
  PUT_LATEST,
  PUT_NOT_PUT,
  type VersionedKeyValueStore,
  type VersionedRecord,
} from './versioned-store.ts';

/** What every versioned store does, wherever it keeps its histories. */
export abstract class HistoryStore<K, V> implements VersionedKeyValueStore<K, V> {
  readonly name: string;
  readonly isVersioned = true;
  readonly historyRetentionMs: number;
  abstract readonly isPersistent: boolean;
  isOpen = false;
  foundTimestamp = -1;

  protected readonly keys: KeyCodec<K>;
  protected readonly values: ValueCodec<V>;
  protected observedStreamTime = -1;
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
    this.keys = new KeyCodec(keySerde);
    this.values = new ValueCodec(valueSerde, name);
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#context = context;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get(key: K): V | null {
    const history = this.historyOf(key);
    return this.#valueOf(history, history === undefined ? -1 : history.latest);
  }

  getAsOf(key: K, asOf: number): V | null {
    const history = this.historyOf(key);
    return this.#valueOf(history, this.#indexAt(history, asOf));
  }

  getRecord(key: K, asOf?: number): VersionedRecord<V> | null {
    const history = this.historyOf(key);
    if (history === undefined) return null;
    return this.#record(
      history,
      asOf === undefined ? history.latest : this.#indexAt(history, asOf),
    );
  }

  *history(key: K, from = 0, to = Number.MAX_SAFE_INTEGER): IterableIterator<VersionedRecord<V>> {
    const history = this.historyOf(key);
    if (history === undefined) return;
    const found: VersionedRecord<V>[] = [];
    for (let i = Math.max(0, history.indexAt(from)); i <= history.indexAt(to); i++) {
      const record = this.#record(history, i);
      if (record !== null && !this.#isForgotten(record)) found.push(record);
    }
    yield* found;
  }

  put(key: K, value: V | null, timestamp: number): number {
    const stored = value === null ? null : this.values.toStored(value, null);
    // The changelog first: if it refuses the record, the store is as it was. What comes too late goes to
    // the changelog all the same, as Kafka's does.
    if (this.#changelog !== null) {
      const keyEnd = this.keys.write(key);
      const { storedSerde } = this.values;
      this.#changelog.append(timestamp, this.keys.buffer, 0, keyEnd, stored, storedSerde, null);
    }
    const result = this.#set(key, stored, timestamp);
    if (result === PUT_NOT_PUT) {
      this.#context?.recordDropped(this.name, 'it is older than the history that the store keeps');
    }
    return result;
  }

  delete(key: K, timestamp: number): VersionedRecord<V> | null {
    const before = timestamp < this.expiryLimit ? null : this.#recordWhen(key, timestamp);
    this.put(key, null, timestamp);
    return before;
  }

  restore(cursor: RecordCursor): void {
    if (cursor.keyStart < 0) return;
    const key = this.keys.read(cursor.buffer, cursor.keyStart, cursor.keyEnd);
    this.#set(key, this.values.restored(cursor), cursor.timestamp);
  }

  abstract committedOffset(): bigint | null;

  abstract commit(changelogOffset: bigint | null): void;

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.observedStreamTime = -1;
  }

  /** Versions that ended at or before it are forgotten. */
  protected get expiryLimit(): number {
    return this.observedStreamTime - this.historyRetentionMs;
  }

  /** As it is now; not to be changed. */
  protected abstract historyOf(key: K): VersionHistory | undefined;

  /** Adds a version that is not too late, and forgets what has expired; returns where it ends. */
  protected abstract change(key: K, stored: unknown, timestamp: number): number | null;

  #set(key: K, stored: unknown, timestamp: number): number {
    if (timestamp < this.expiryLimit) return PUT_NOT_PUT;
    this.observedStreamTime = Math.max(this.observedStreamTime, timestamp);
    return this.change(key, stored, timestamp) ?? PUT_LATEST;
  }

  /** Further back than the history goes, only the latest version is known. */
  #indexAt(history: VersionHistory | undefined, asOf: number): number {
    if (history === undefined) return -1;
    const index = history.indexAt(asOf);
    if (asOf >= this.expiryLimit) return index;
    return index === history.latest ? index : -1;
  }

  /** As of a time that lies before what a write at that time moves stream time to. */
  #recordWhen(key: K, timestamp: number): VersionedRecord<V> | null {
    const history = this.historyOf(key);
    return history === undefined ? null : this.#record(history, history.indexAt(timestamp));
  }

  #isForgotten({ validTo }: VersionedRecord<V>): boolean {
    return validTo !== null && validTo <= this.expiryLimit;
  }

  #valueOf(history: VersionHistory | undefined, index: number): V | null {
    const stored = history === undefined || index < 0 ? null : history.stored[index];
    if (history === undefined || stored === null) {
      this.foundTimestamp = -1;
      return null;
    }
    this.foundTimestamp = history.timestamps[index] as number;
    return this.values.fromStored(stored);
  }

  #record(history: VersionHistory, index: number): VersionedRecord<V> | null {
    const stored = index < 0 ? null : history.stored[index];
    if (stored === null) return null;
    return {
      value: this.values.fromStored(stored),
      timestamp: history.timestamps[index] as number,
      validTo: history.validTo(index),
    };
  }
}
