import { RecordHeaders } from '@millrace/protocol';
import type { RecordCursor } from '@millrace/protocol';
import type { RecordSerde, Snapshot } from '../../serdes/serde.ts';
import { bytesSerde } from '../../serdes/simple.ts';

/**
 * What a store does with the headers of the record that wrote a value (KIP-1271). `empty` is what the
 * DSL's stores do under `dsl.store.format=HEADERS`: as in Kafka Streams, the entries have headers, but
 * none in them, and only a tombstone's changelog record carries the record's.
 */
export type HeaderKeeping = 'none' | 'empty' | 'kept';

/** A stored value with its headers. */
class WithHeaders {
  readonly stored: unknown;
  readonly headers: RecordHeaders;

  constructor(stored: unknown, headers: RecordHeaders) {
    this.stored = stored;
    this.headers = headers;
  }
}

/**
 * What an in-memory store keeps of a value: the value itself if its type cannot be changed in place,
 * otherwise a snapshot, so that nobody who holds the value can change the store.
 */
export class ValueCodec<V> {
  readonly #snapshot: Snapshot<V> | null;
  readonly #headers: HeaderKeeping;
  readonly #keepsHeaders: boolean;
  /** Writes what is kept, with the bytes that the value has. */
  readonly storedSerde: RecordSerde<unknown>;

  constructor(serde: RecordSerde<V>, topic: string, headers: HeaderKeeping = 'none') {
    this.#snapshot = serde.isImmutable === true ? null : (serde.snapshot ?? bytesOf(serde, topic));
    this.#headers = headers;
    this.#keepsHeaders = headers === 'kept';
    const stored: RecordSerde<unknown> = this.#snapshot?.serde ?? serde;
    this.storedSerde = this.#keepsHeaders ? withoutHeaders(stored) : stored;
  }

  toStored(value: V, headers: RecordHeaders | null | undefined): unknown {
    const stored = this.#snapshot === null ? value : this.#snapshot.take(value);
    if (!this.#keepsHeaders) return stored;
    return new WithHeaders(stored, headers?.copy() ?? new RecordHeaders());
  }

  fromStored(stored: unknown): V {
    const kept = this.#keepsHeaders ? (stored as WithHeaders).stored : stored;
    return this.#snapshot === null ? (kept as V) : this.#snapshot.restore(kept);
  }

  /** Of an entry as a reader sees it; undefined if the store's entries have none. */
  headersOf(stored: unknown): RecordHeaders | undefined {
    if (this.#headers === 'none') return undefined;
    return this.#keepsHeaders ? (stored as WithHeaders).headers.copy() : new RecordHeaders();
  }

  /** What the changelog record carries. */
  changelogHeaders(
    stored: unknown,
    headers: RecordHeaders | null | undefined,
  ): RecordHeaders | null {
    if (this.#headers === 'none' || headers === undefined) return null;
    return this.#keepsHeaders || stored === null ? headers : null;
  }

  /** Whether what is kept has headers of its own. */
  get keepsHeaders(): boolean {
    return this.#keepsHeaders;
  }

  /** What `storedSerde` wrote, and the headers that go with it, as it is kept. */
  joined(stored: unknown, headers: RecordHeaders): unknown {
    return this.#keepsHeaders ? new WithHeaders(stored, headers) : stored;
  }

  /** The changelog's value under the cursor as it is kept; null for a tombstone. */
  restored(cursor: RecordCursor): unknown {
    const { buffer, valueStart, valueEnd } = cursor;
    if (valueStart < 0) return null;
    const stored = this.storedSerde.read(buffer, valueStart, valueEnd);
    return this.#keepsHeaders ? new WithHeaders(stored, cursor.headers()) : stored;
  }
}

function withoutHeaders(serde: RecordSerde<unknown>): RecordSerde<unknown> {
  return {
    ...serde,
    write: (value, target, position) =>
      serde.write((value as WithHeaders).stored, target, position),
  };
}

/** The value's bytes, when its serde knows nothing better. */
function bytesOf<V>(serde: RecordSerde<V>, topic: string): Snapshot<V> {
  return {
    // A copy: a serde may hand out a view of a larger buffer, or reuse one.
    take: (value) => Buffer.from(serde.serialize(value, topic, null)),
    restore: (stored) => serde.read(stored as Buffer, 0, (stored as Buffer).length),
    serde: bytesSerde,
  };
}
