import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import { readTimestamp } from '../../serdes/windowed.ts';
import { CLEAN_ROWS_MAX_BYTES } from '../limits.ts';
import { KeyCodec } from '../memory/key-codec.ts';
import { ValueCodec, type HeaderKeeping } from '../memory/value-codec.ts';
import { isInvalidRange } from '../invalid-range.ts';
import { StoreMeasures } from '../measures.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { PersistentStore, StoreContext } from '../store.ts';
import type { WindowEntry, WindowStore } from '../window-store.ts';
import { environmentOf } from './environment-of.ts';
import type { StateEnvironment } from './environment.ts';
import { textKeyedCodec } from './keyed-codec.ts';
import type { RowCodec } from './layered-table.ts';
import { RowFormat } from './row-format.ts';
import type { Row } from './row.ts';
import { readStreamTime, writeStreamTime } from './stream-time.ts';
import {
  highestRowKey,
  isInRange,
  lowestRowKey,
  startOf,
  WINDOW_SUFFIX_BYTES,
  writeWindowKey,
  type WindowRange,
} from './window-row-key.ts';
import { WindowSegments } from './window-segments.ts';

export interface PersistentWindowStoreOptions {
  readonly windowSizeMs: number;
  readonly retentionMs: number;
  readonly segmentMs: number;
  /** Default: timestamped. A plain store's entries have the timestamp -1. */
  readonly isTimestamped?: boolean;
  readonly headers?: HeaderKeeping;
}

/**
 * A window store on disk, in segments: a window expires by its start, and is let go with its whole
 * segment. After a restart the store goes on from the changelog offset and the stream time that its
 * contents stand at, so that nothing which had expired is found again.
 */
export class PersistentWindowStore<K, V> implements WindowStore<K, V>, PersistentStore {
  readonly name: string;
  readonly isPersistent = true;
  readonly windowSizeMs: number;
  readonly segmentMs: number;
  readonly measures = new StoreMeasures('lmdb-window-state');
  isOpen = false;

  readonly #retentionMs: number;
  readonly #keys: KeyCodec<K>;
  readonly #values: ValueCodec<V>;
  readonly #codec: RowCodec<string>;
  readonly #isTimestamped: boolean;
  #environment: StateEnvironment | null = null;
  #segments: WindowSegments | null = null;
  #context: StoreContext | null = null;
  #changelog: PartitionAppender | null = null;
  #observedStreamTime = -1;
  #committedOffset: bigint | null = null;
  #committedStreamTime = -1;
  // An aggregation gets a window and then puts it: the second look-up is spared.
  readonly #remembersKey: boolean;
  #found: Row<string> | null = null;
  #lastKey: K | undefined;
  #lastStart = -1;
  #lastRowKey = '';

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    options: PersistentWindowStoreOptions,
  ) {
    const { retentionMs, segmentMs } = options;
    this.name = name;
    this.windowSizeMs = options.windowSizeMs;
    this.segmentMs = segmentMs;
    this.#retentionMs = retentionMs;
    this.#keys = new KeyCodec(keySerde, WINDOW_SUFFIX_BYTES);
    this.#values = new ValueCodec(valueSerde, name, options.headers);
    this.#codec = textKeyedCodec(new RowFormat(this.#values));
    this.#isTimestamped = options.isTimestamped ?? true;
    this.#remembersKey = keySerde.isImmutable === true;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    const environment = environmentOf(context, this);
    this.#environment = environment;
    this.#segments = new WindowSegments({
      environment,
      storeName: this.name,
      segmentMs: this.segmentMs,
      codec: this.#codec,
      cleanBytesMax: CLEAN_ROWS_MAX_BYTES / (Math.ceil(this.#retentionMs / this.segmentMs) + 1),
    });
    this.#committedOffset = environment.offset(this.name);
    this.#observedStreamTime = readStreamTime(environment, this.name);
    this.#committedStreamTime = this.#observedStreamTime;
    this.#expireSegments();
    this.#context = context;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get foundTimestamp(): number {
    return this.#found === null ? -1 : this.#found.timestamp;
  }

  get(key: K, windowStart: number): V | null {
    this.#found = null;
    this.#lastKey = undefined;
    const segment = this.#isExpired(windowStart) ? undefined : this.#open.at(windowStart);
    if (segment === undefined) return null;
    const rowKey = this.#rowKey(writeWindowKey(this.#keys, key, windowStart));
    const row = segment.rows.find(rowKey);
    this.#found = row;
    if (this.#remembersKey) {
      this.#lastKey = key;
      this.#lastStart = windowStart;
      this.#lastRowKey = rowKey;
    }
    return row === null ? null : this.#values.fromStored(row.stored);
  }

  put(
    key: K,
    value: V | null,
    windowStart: number,
    timestamp = -1,
    headers?: RecordHeaders | null,
  ): void {
    const stored = value === null ? null : this.#values.toStored(value, headers);
    // The changelog first: if it refuses the record, the store is as it was. What is expired goes to
    // the changelog all the same, as Kafka's does.
    if (this.#changelog !== null) {
      const keyEnd = writeWindowKey(this.#keys, key, windowStart);
      this.#changelog.append(
        timestamp,
        this.#keys.buffer,
        0,
        keyEnd,
        stored,
        this.#values.storedSerde,
        this.#values.changelogHeaders(stored, headers),
      );
    }
    if (!this.#set(key, stored, windowStart, this.#isTimestamped ? timestamp : -1)) {
      this.#context?.recordDropped(this.name, 'the window store no longer keeps its window');
    }
  }

  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.fetchRange(key, key, from, to);
  }

  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.backwardFetchRange(key, key, from, to);
  }

  fetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    return this.#walk(this.#rangeOf(first, last, from, to), false);
  }

  backwardFetchRange(
    first: K | null,
    last: K | null,
    from: number,
    to: number,
  ): IterableIterator<WindowEntry<K, V>> {
    return this.#walk(this.#rangeOf(first, last, from, to), true);
  }

  fetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.fetchRange(null, null, from, to);
  }

  backwardFetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>> {
    return this.backwardFetchRange(null, null, from, to);
  }

  all(): IterableIterator<WindowEntry<K, V>> {
    return this.fetchAll(0, Number.MAX_SAFE_INTEGER);
  }

  backwardAll(): IterableIterator<WindowEntry<K, V>> {
    return this.backwardFetchAll(0, Number.MAX_SAFE_INTEGER);
  }

  restore(cursor: RecordCursor): void {
    const { buffer, keyStart } = cursor;
    const keyEnd = cursor.keyEnd - WINDOW_SUFFIX_BYTES;
    if (keyStart < 0 || keyEnd < keyStart) return;
    const key = this.#keys.read(buffer, keyStart, keyEnd);
    const timestamp = this.#isTimestamped ? cursor.timestamp : -1;
    this.#set(key, this.#values.restored(cursor), readTimestamp(buffer, keyEnd), timestamp);
  }

  committedOffset(): bigint | null {
    return this.#committedOffset;
  }

  commit(changelogOffset: bigint | null): void {
    this.#committedStreamTime = this.#observedStreamTime;
    this.#expireSegments();
    this.#open.commit();
    if (changelogOffset !== null) this.#committedOffset = changelogOffset;
  }

  get unspilledBytes(): number {
    return this.#open.unspilledBytes;
  }

  async spill(): Promise<void> {
    const environment = this.#environment as StateEnvironment;
    const segments = this.#open;
    const offset = this.#committedOffset;
    const streamTime = this.#committedStreamTime;
    await segments.spill();
    await writeStreamTime(environment, this.name, streamTime);
    if (offset !== null) await environment.setOffset(this.name, offset);
    await segments.dropExpired();
  }

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#found = null;
    this.#lastKey = undefined;
    this.#segments?.clear();
    this.#segments = null;
    this.#environment = null;
    this.#observedStreamTime = -1;
  }

  get #open(): WindowSegments {
    if (this.#segments === null) throw new InvariantError(`The store ${this.name} is not open`);
    return this.#segments;
  }

  /** The latest start that has expired. */
  get #expiryLimit(): number {
    return this.#observedStreamTime - this.#retentionMs;
  }

  #isExpired(windowStart: number): boolean {
    return windowStart <= this.#expiryLimit;
  }

  /** Only by a committed time: after a failure records may be processed again from before it. */
  #expireSegments(): void {
    const segments = this.#open;
    segments.expireBefore(segments.numberOf(this.#committedStreamTime - this.#retentionMs));
  }

  /** False if the store no longer keeps the window: its whole segment has expired. */
  #set(key: K, stored: unknown, windowStart: number, timestamp: number): boolean {
    if (windowStart > this.#observedStreamTime) this.#observedStreamTime = windowStart;
    const segments = this.#open;
    // What nobody can read any more is not kept, even where it counts as written.
    if (this.#isExpired(windowStart)) {
      return segments.numberOf(windowStart) >= segments.numberOf(this.#expiryLimit);
    }
    const { rows } = segments.atOrMade(windowStart);
    const found = this.#found;
    const isLast = key === this.#lastKey && windowStart === this.#lastStart;
    this.#lastKey = undefined;
    if (isLast && found !== null && !found.isForgotten) {
      rows.update(found, stored, timestamp);
      return true;
    }
    const rowKey = isLast
      ? this.#lastRowKey
      : this.#rowKey(writeWindowKey(this.#keys, key, windowStart));
    rows.put(rowKey, stored, timestamp);
    return true;
  }

  #rowKey(end: number): string {
    return this.#keys.buffer.toString('latin1', 0, end);
  }

  #rangeOf(first: K | null, last: K | null, from: number, to: number): WindowRange {
    return {
      first: first === null ? null : this.#keys.latin1(first),
      last: last === null ? null : this.#keys.latin1(last),
      from: Math.max(0, from),
      to: Math.min(to, Number.MAX_SAFE_INTEGER),
    };
  }

  /** From segment to segment; one that is dropped in between has nothing more. */
  *#walk(range: WindowRange, isReverse: boolean): IterableIterator<WindowEntry<K, V>> {
    if (isInvalidRange(range.first, range.last, this.name, this.#context?.logger)) return;
    const numbers = this.#open.between(Math.max(range.from, this.#expiryLimit + 1), range.to);
    if (isReverse) numbers.reverse();
    const lowest = lowestRowKey(range);
    const highest = highestRowKey(range);
    this.measures.openIterators++;
    try {
      for (const number of numbers) {
        const segment = this.#open.get(number);
        if (segment === undefined) continue;
        for (const row of segment.rows.range(lowest, highest, isReverse)) {
          if (isInRange(row.key, range) && !this.#isExpired(startOf(row.key)))
            yield this.#view(row);
        }
      }
    } finally {
      this.measures.openIterators--;
    }
  }

  #view({ key: rowKey, stored, timestamp }: Row<string>): WindowEntry<K, V> {
    const bytes = Buffer.from(rowKey, 'latin1');
    const keyEnd = bytes.length - WINDOW_SUFFIX_BYTES;
    const start = readTimestamp(bytes, keyEnd);
    const key = new Windowed(this.#keys.read(bytes, 0, keyEnd), start, start + this.windowSizeMs);
    const value = this.#values.fromStored(stored);
    const headers = this.#values.headersOf(stored);
    return headers === undefined ? { key, value, timestamp } : { key, value, timestamp, headers };
  }
}
