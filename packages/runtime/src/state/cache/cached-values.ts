import type { RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../../serdes/serde.ts';
import { CACHE_HEADERS_LENGTH_BYTES, CACHE_TIMESTAMP_BYTES } from '../limits.ts';
import { ValueCodec, type HeaderKeeping } from '../memory/value-codec.ts';
import { ByteCounter } from './byte-counter.ts';
import type { CacheEntry } from './cache-entry.ts';

export interface CachedValueOptions {
  /** Entries have timestamps, even where the store below keeps none. */
  readonly isTimestamped: boolean;
  readonly headers: HeaderKeeping;
}

/** The values of a record cache: what is kept of them, what they count, and how a reader sees them. */
export class CachedValues<V> {
  readonly #codec: ValueCodec<V>;
  readonly #counter = new ByteCounter();
  readonly #isTimestamped: boolean;
  readonly #overheadBytes: number;
  readonly keepsHeaders: boolean;

  constructor(
    serde: RecordSerde<V>,
    topic: string,
    { isTimestamped, headers }: CachedValueOptions,
  ) {
    this.#codec = new ValueCodec(serde, topic, headers);
    this.#isTimestamped = isTimestamped;
    this.#overheadBytes =
      (isTimestamped ? CACHE_TIMESTAMP_BYTES : 0) +
      (headers === 'none' ? 0 : CACHE_HEADERS_LENGTH_BYTES);
    this.keepsHeaders = headers === 'kept';
  }

  toStored(value: V, headers: RecordHeaders | null | undefined): unknown {
    return this.#codec.toStored(value, headers);
  }

  fromStored(stored: unknown): V {
    return this.#codec.fromStored(stored);
  }

  timestampOf(entry: CacheEntry<unknown>): number {
    return this.#isTimestamped ? entry.timestamp : -1;
  }

  /** As Kafka Streams counts a value with its timestamp; nothing for a deletion. */
  bytesOf(stored: unknown): number {
    if (stored === null) return 0;
    return this.#overheadBytes + this.#counter.count(this.#codec.storedSerde, stored);
  }

  /** Of a stored value, as a reader sees them; undefined if entries have none. */
  headersOf(stored: unknown): RecordHeaders | undefined {
    return this.#codec.headersOf(stored);
  }

  /** An entry that is not deleted, under the key that readers see. */
  view<R>(
    key: R,
    entry: CacheEntry<unknown>,
  ): { key: R; value: V; timestamp: number; headers?: RecordHeaders } {
    const value = this.#codec.fromStored(entry.stored);
    const timestamp = this.timestampOf(entry);
    const headers = this.#codec.headersOf(entry.stored);
    return headers === undefined ? { key, value, timestamp } : { key, value, timestamp, headers };
  }
}
