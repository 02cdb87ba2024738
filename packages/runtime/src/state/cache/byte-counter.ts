import { STORE_KEY_INITIAL_BYTES, STORE_KEY_MAX_BYTES } from '../limits.ts';
import { SerializationError } from '../../serdes/serialization-error.ts';
import type { RecordSerde } from '../../serdes/serde.ts';

/** How many bytes a value has, found out by writing it into a buffer that is used again for each. */
export class ByteCounter {
  #buffer = Buffer.allocUnsafeSlow(STORE_KEY_INITIAL_BYTES);

  count<T>(serde: RecordSerde<T>, value: T): number {
    for (;;) {
      const end = serde.write(value, this.#buffer, 0);
      if (end >= 0) return end;
      if (this.#buffer.length >= STORE_KEY_MAX_BYTES) {
        throw new SerializationError(
          `A value of the serde "${serde.name}" is longer than ${String(STORE_KEY_MAX_BYTES)} bytes.`,
        );
      }
      this.#buffer = Buffer.allocUnsafeSlow(this.#buffer.length * 2);
    }
  }
}
