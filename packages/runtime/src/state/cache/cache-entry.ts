import type { RecordHeaders } from '@millrace/protocol';
import type { MapKey } from '../memory/key-codec.ts';
import type { Sortable } from '../memory/sorted-index.ts';
import type { CachedOrigin, OriginCopy } from './caching-context.ts';

/**
 * A row in a record cache: dirty, with the last record that wrote it, until it is let go; then clean,
 * as a copy of the store's row. Linked by age of use, and, while dirty, by age of the last write.
 */
export class CacheEntry<K> implements Sortable, OriginCopy {
  readonly key: K;
  readonly mapKey: MapKey;
  /** -1 in a key-value store. */
  readonly windowStart: number;
  /** Length of the key in the cache, as Kafka Streams counts it. */
  readonly keyBytes: number;
  /** null: deleted. */
  stored: unknown = null;
  timestamp = -1;
  headers: RecordHeaders | null = null;
  isDirty = false;
  sizeBytes = 0;

  topic: string | null = null;
  partition = -1;
  baseOffset = -1n;
  offsetDelta = 0;
  rawKey: Buffer | null = null;
  rawValue: Buffer | null = null;

  sortKey: string | null = null;
  isRemoved = false;

  older: CacheEntry<K> | null = null;
  newer: CacheEntry<K> | null = null;
  dirtyBefore: CacheEntry<K> | null = null;
  dirtyAfter: CacheEntry<K> | null = null;

  constructor(key: K, mapKey: MapKey, keyBytes: number, windowStart = -1) {
    this.key = key;
    this.mapKey = mapKey;
    this.keyBytes = keyBytes;
    this.windowStart = windowStart;
  }
}

/** What a cache lets go: an entry as it was then, whatever is written to it meanwhile. */
export class CachedChange<K> implements CachedOrigin {
  readonly entry: CacheEntry<K>;
  readonly stored: unknown;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
  readonly topic: string | null;
  readonly partition: number;
  readonly #baseOffset: bigint;
  readonly #offsetDelta: number;
  readonly rawKey: Buffer | null;
  readonly rawValue: Buffer | null;

  constructor(entry: CacheEntry<K>) {
    this.entry = entry;
    this.stored = entry.stored;
    this.timestamp = entry.timestamp;
    this.headers = entry.headers;
    this.topic = entry.topic;
    this.partition = entry.partition;
    this.#baseOffset = entry.baseOffset;
    this.#offsetDelta = entry.offsetDelta;
    this.rawKey = entry.rawKey;
    this.rawValue = entry.rawValue;
  }
  get offset(): bigint {
    return this.#baseOffset + BigInt(this.#offsetDelta);
  }
}
