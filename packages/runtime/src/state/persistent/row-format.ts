import { readInt64AsNumber, RecordHeaders, writeInt64FromNumber } from '@millrace/protocol';
import { readHeaders, writeHeaders } from '../rows/row-headers.ts';
import type { ValueCodec } from '../memory/value-codec.ts';

const TIMESTAMP_BYTES = 8;

export interface ReadValue {
  stored: unknown;
  timestamp: number;
}

/**
 * A row's value on disk: int64 timestamp (-1: none), then, in stores that keep headers, their number
 * and each one's name and value with int32 lengths, then the value's own bytes.
 */
export class RowFormat<V> {
  readonly #values: ValueCodec<V>;
  /** Reused: whoever reads takes it at once. */
  readonly #read: ReadValue = { stored: null, timestamp: -1 };

  constructor(values: ValueCodec<V>) {
    this.#values = values;
  }

  /** Returns the end, or -1 if `target` is too small. */
  write(stored: unknown, timestamp: number, target: Buffer, position: number): number {
    if (position + TIMESTAMP_BYTES > target.length) return -1;
    let end = writeInt64FromNumber(target, position, timestamp);
    if (this.#values.keepsHeaders) {
      end = writeHeaders(this.#values.headersOf(stored), target, end);
      if (end < 0) return -1;
    }
    return this.#values.storedSerde.write(stored, target, end);
  }

  /** Nothing of `source` is kept. */
  read(source: Buffer): ReadValue {
    this.#read.timestamp = readInt64AsNumber(source, 0);
    const { storedSerde } = this.#values;
    if (!this.#values.keepsHeaders) {
      this.#read.stored = storedSerde.read(source, TIMESTAMP_BYTES, source.length);
      return this.#read;
    }
    const headers = new RecordHeaders();
    const start = readHeaders(source, TIMESTAMP_BYTES, headers);
    this.#read.stored = this.#values.joined(
      storedSerde.read(source, start, source.length),
      headers,
    );
    return this.#read;
  }
}
