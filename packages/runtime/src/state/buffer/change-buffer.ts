import { Reader, type RecordCursor, type RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../../serdes/serde.ts';
import { BUFFER_DIRTY_KEYS_COMMIT } from '../limits.ts';
import { Level, StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { FlushedStore } from '../cached-store.ts';
import type { StoreContext } from '../store.ts';
import {
  bufferedRecordSerde,
  readVersion0,
  readVersion1,
  readVersion2,
  readVersion3,
} from './buffer-format.ts';
import { BufferedRecord } from './buffered-record.ts';
import { ByteText } from './byte-text.ts';
import { changelogError } from './changelog-error.ts';
import { DirtyKeys } from './dirty-keys.ts';
import { TimeOrderedQueue } from './time-ordered-queue.ts';
import {
  changelogHeaders,
  restorePrefixes,
  unknownPrefix,
  valuePrefix,
  versionOf,
} from './value-prefix.ts';

const TIME_BYTES = 8;
/** Changelog records of buffers leave their timestamp to the producer. */
const PRODUCER_TIME = -1;
const withTime = bufferedRecordSerde(true);

export interface BufferOptions<K, V> {
  readonly name: string;
  /** Its changelog's, which errors name. */
  readonly topic: string;
  readonly key: RecordSerde<K>;
  readonly value: RecordSerde<V>;
}

/**
 * The buffer of `suppress`: a table's last change per key, in the order of the times under which the
 * keys first came. Later changes of a key stay at that time. Everything is kept as bytes, as in Kafka
 * Streams, so that sizes and serialization errors are the same.
 *
 * The changelog is written before a commit: one record per key that changed, a tombstone for those
 * that were let go. Key: the key's bytes; value: see `writeBuffered`; header `v`: 3.
 */
export class ChangeBuffer<K, V> implements FlushedStore {
  readonly name: string;
  readonly isPersistent = false;
  readonly measures = new StoreMeasures('in-memory-suppression-state');
  readonly bufferedRecords = new Level();
  readonly bufferedBytes = new Level();
  isOpen = false;
  readonly #options: BufferOptions<K, V>;
  /** `dsl.store.format=HEADERS`. */
  readonly #keepsHeaders: boolean;
  readonly #queue = new TimeOrderedQueue<BufferedRecord>();
  readonly #dirty = new DirtyKeys();
  readonly #text = new ByteText();
  #bytes = 0;
  #changelog: PartitionAppender | null = null;
  #partition = -1;

  constructor(options: BufferOptions<K, V>, keepsHeaders: boolean) {
    this.name = options.name;
    this.#options = options;
    this.#keepsHeaders = keepsHeaders;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#partition = context.taskId.partition;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get recordCount(): number {
    return this.#queue.size;
  }

  /** Kafka Streams' estimate, which `maxBytes` is compared with. */
  get estimatedBytes(): number {
    return this.#bytes;
  }

  /** The record to be let go next. */
  get first(): BufferedRecord | undefined {
    return this.#queue.first;
  }

  /** So many keys changed since the last commit that there should be one. */
  get needsCommit(): boolean {
    return this.#dirty.size >= BUFFER_DIRTY_KEYS_COMMIT;
  }

  put(
    time: number,
    key: K,
    value: V | null,
    old: V | null,
    timestamp: number,
    headers: RecordHeaders | null,
    topic: string | null,
    partition: number,
    offset: bigint,
  ): void {
    const { key: keySerde, value: valueSerde } = this.#options;
    const id = this.#text.write(key, keySerde);
    const oldBytes = old === null ? null : this.#text.write(old, valueSerde);
    const valueBytes = value === null ? null : this.#text.write(value, valueSerde);
    const kept = this.#queue.get(id);
    const record = kept ?? new BufferedRecord(id, time);
    if (kept !== undefined) this.#bytes -= sizeOf(kept);
    if (this.#keepsHeaders) {
      record.oldPrefix = oldBytes === null ? null : (kept?.valuePrefix ?? unknownPrefix);
      record.valuePrefix = valueBytes === null ? null : valuePrefix(headers, timestamp);
      if (kept === undefined) record.priorPrefix = record.oldPrefix;
    }
    if (kept === undefined) record.prior = oldBytes;
    record.old = oldBytes;
    record.value = valueBytes;
    record.timestamp = timestamp;
    record.topic = topic;
    record.partition = partition;
    record.offset = offset;
    // A copy: whoever processes the record further may change its headers.
    record.headers = headers?.copy() ?? null;
    if (kept === undefined) this.#queue.add(record);
    this.#bytes += sizeOf(record);
    this.#touched(id);
    this.#measure();
  }

  find(key: K): BufferedRecord | undefined {
    return this.#queue.get(this.#text.write(key, this.#options.key));
  }

  keyOf(record: BufferedRecord): K {
    return this.#text.read(record.id, this.#options.key);
  }

  valueOf(record: BufferedRecord): V | null {
    return this.#value(record.value);
  }

  oldOf(record: BufferedRecord): V | null {
    return this.#value(record.old);
  }

  /** What was under the key before all changes that are kept of it. */
  priorOf(record: BufferedRecord): V | null {
    return this.#value(record.prior);
  }

  remove(record: BufferedRecord): void {
    this.#queue.remove(record);
    this.#bytes -= sizeOf(record);
    this.#touched(record.id);
    this.#measure();
  }

  flush(): undefined {
    const changelog = this.#changelog;
    if (changelog === null) return;
    this.#dirty.drain((id) => {
      const record = this.#queue.get(id) ?? null;
      const headers = record === null ? null : changelogHeaders(record);
      const key = this.#text.bytes(id);
      changelog.append(PRODUCER_TIME, key, 0, id.length, record, withTime, headers);
    });
  }

  restore(cursor: RecordCursor): void {
    try {
      this.#restore(cursor);
    } catch (error) {
      const { name, topic } = this.#options;
      throw changelogError(name, topic, this.#partition, cursor.offset(), error);
    }
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#queue.clear();
    this.#dirty.clear();
    this.#bytes = 0;
  }

  #restore(cursor: RecordCursor): void {
    const { buffer, keyStart } = cursor;
    if (keyStart < 0) throw new RangeError('it has no key');
    const id = buffer.toString('latin1', keyStart, cursor.keyEnd);
    const kept = this.#queue.get(id);
    if (kept !== undefined) this.#bytes -= sizeOf(kept);
    if (cursor.valueStart < 0) {
      if (kept !== undefined) this.#queue.remove(kept);
      return;
    }
    const headers = cursor.nullableHeaders();
    const read = this.#read(id, cursor, headers, kept);
    if (this.#keepsHeaders) restorePrefixes(read, headers);
    const record = kept ?? read;
    if (kept === undefined) this.#queue.add(read);
    else kept.adopt(read);
    this.#bytes += sizeOf(record);
  }

  #read(
    id: string,
    cursor: RecordCursor,
    headers: RecordHeaders | null,
    kept: BufferedRecord | undefined,
  ): BufferedRecord {
    const bytes = new Reader(cursor.buffer, cursor.valueStart, cursor.valueEnd);
    switch (versionOf(headers)) {
      case 3:
        return readVersion3(id, bytes);
      case 2:
        return readVersion2(id, bytes);
      case 1:
        return readVersion1(id, bytes, kept);
      case 0: {
        const { timestamp } = cursor;
        const { topic } = this.#options;
        const place = { timestamp, headers, topic, partition: this.#partition };
        return readVersion0(id, bytes, { ...place, offset: cursor.offset() }, kept);
      }
      default:
        throw new RangeError('its header "v" names no version from 1 to 3');
    }
  }

  #value(bytes: string | null): V | null {
    return bytes === null ? null : this.#text.read(bytes, this.#options.value);
  }

  #measure(): void {
    this.bufferedRecords.add(this.#queue.size);
    this.bufferedBytes.add(this.#bytes);
  }

  #touched(id: string): void {
    if (this.#changelog !== null) this.#dirty.add(id);
  }
}

function sizeOf(record: BufferedRecord): number {
  return TIME_BYTES + record.id.length + record.estimatedBytes;
}
