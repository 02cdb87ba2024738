import { BUFFER_FIELD_INITIAL_BYTES, BUFFER_FIELD_MAX_BYTES } from '../limits.ts';
import { SerializationError } from '../../serdes/serialization-error.ts';
import type { RecordSerde } from '../../serdes/serde.ts';

/** Turns keys and values into their bytes as latin1 text, and back; one reused buffer in between. */
export class ByteText {
  #buffer = Buffer.allocUnsafeSlow(BUFFER_FIELD_INITIAL_BYTES);

  write<T>(value: T, serde: RecordSerde<T>): string {
    for (;;) {
      const end = serde.write(value, this.#buffer, 0);
      if (end >= 0) return this.#buffer.toString('latin1', 0, end);
      this.#grow(this.#buffer.length * 2, serde.name);
    }
  }

  read<T>(bytes: string, serde: RecordSerde<T>): T {
    if (bytes.length > this.#buffer.length) this.#grow(bytes.length, serde.name);
    const end = this.#buffer.write(bytes, 'latin1');
    return serde.read(this.#buffer, 0, end);
  }

  /** The bytes at the start of a buffer; valid until the next call. */
  bytes(text: string): Buffer {
    if (text.length > this.#buffer.length) this.#grow(text.length, 'latin1');
    this.#buffer.write(text, 'latin1');
    return this.#buffer;
  }

  #grow(bytes: number, serde: string): void {
    if (this.#buffer.length >= BUFFER_FIELD_MAX_BYTES) {
      throw new SerializationError(
        `A key or value of the serde "${serde}" is longer than ${String(BUFFER_FIELD_MAX_BYTES)} bytes.`,
      );
    }
    this.#buffer = Buffer.allocUnsafeSlow(Math.min(bytes, BUFFER_FIELD_MAX_BYTES));
  }
}
