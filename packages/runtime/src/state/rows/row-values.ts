import { RecordHeaders } from '@millrace/protocol';
import type { RecordCursor } from '@millrace/protocol';
import { isDetached, type RecordSerde } from '../../serdes/serde.ts';
import { SerializationError } from '../../serdes/serialization-error.ts';
import { STORE_VALUE_INITIAL_BYTES, STORE_VALUE_MAX_BYTES } from '../limits.ts';
import type { HeaderKeeping } from '../memory/value-codec.ts';
import type { ByteSpan } from './byte-span.ts';
import { copyBytes } from './copy-bytes.ts';
import { readHeaders, writeHeaders } from './row-headers.ts';

/**
 * What a row keeps of a value: its serde's bytes, in stores that keep headers with the headers before
 * them. What is written lies in memory that the next value is written into.
 */
export class RowValues<V> {
  readonly #serde: RecordSerde<V>;
  readonly #headers: HeaderKeeping;
  readonly #isDetached: boolean;
  #buffer = Buffer.allocUnsafeSlow(STORE_VALUE_INITIAL_BYTES);
  /** What was written or restored last, as a row keeps it. */
  readonly row: ByteSpan = { buffer: this.#buffer, start: 0, end: 0 };
  /** The value in it, without headers. */
  readonly payload: ByteSpan = { buffer: this.#buffer, start: 0, end: 0 };

  constructor(serde: RecordSerde<V>, headers: HeaderKeeping = 'none') {
    this.#serde = serde;
    this.#headers = headers;
    this.#isDetached = isDetached(serde);
  }

  /** Sets `row` and `payload`. */
  write(value: V, headers: RecordHeaders | null | undefined): void {
    for (;;) {
      const start = this.#headers === 'kept' ? writeHeaders(headers, this.#buffer, 0) : 0;
      const end = start < 0 ? -1 : this.#serde.write(value, this.#buffer, start);
      if (end >= 0) {
        this.#set(this.#buffer, start, end);
        return;
      }
      this.#grow();
    }
  }

  /** Sets `row` and `payload` to the value under the cursor, which has one. */
  restore(cursor: RecordCursor): void {
    const { buffer, valueStart, valueEnd } = cursor;
    if (this.#headers !== 'kept') {
      this.#set(buffer, valueStart, valueEnd);
      this.row.start = valueStart;
      return;
    }
    const headers = cursor.headers();
    for (;;) {
      const start = writeHeaders(headers, this.#buffer, 0);
      const end = start + valueEnd - valueStart;
      if (start >= 0 && end <= this.#buffer.length) {
        copyBytes(buffer, valueStart, valueEnd, this.#buffer, start);
        this.#set(this.#buffer, start, end);
        return;
      }
      this.#grow();
    }
  }

  /** A value that shares no memory with the row. */
  read({ buffer, start, end }: ByteSpan): V {
    const valueStart = this.#headers === 'kept' ? readHeaders(buffer, start, null) : start;
    if (this.#isDetached) return this.#serde.read(buffer, valueStart, end);
    const copy = Buffer.from(buffer.subarray(valueStart, end));
    return this.#serde.read(copy, 0, copy.length);
  }

  /** Of a row as a reader sees it; undefined if the store's entries have none. */
  headersOf({ buffer, start }: ByteSpan): RecordHeaders | undefined {
    if (this.#headers === 'none') return undefined;
    const headers = new RecordHeaders();
    if (this.#headers === 'kept') readHeaders(buffer, start, headers);
    return headers;
  }

  /** What the changelog record carries. */
  changelogHeaders(
    isTombstone: boolean,
    headers: RecordHeaders | null | undefined,
  ): RecordHeaders | null {
    if (this.#headers === 'none' || headers === undefined) return null;
    return this.#headers === 'kept' || isTombstone ? headers : null;
  }

  #set(buffer: Buffer, start: number, end: number): void {
    this.row.buffer = buffer;
    this.row.start = 0;
    this.row.end = end;
    this.payload.buffer = buffer;
    this.payload.start = start;
    this.payload.end = end;
  }

  #grow(): void {
    if (this.#buffer.length >= STORE_VALUE_MAX_BYTES) {
      throw new SerializationError(
        `A value of the serde "${this.#serde.name}" is longer than ${String(STORE_VALUE_MAX_BYTES)} bytes.`,
      );
    }
    this.#buffer = Buffer.allocUnsafeSlow(this.#buffer.length * 2);
  }
}
