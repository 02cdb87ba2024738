import { toBuffer } from '../../serdes/record-serde.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { bytesSerde } from '../../serdes/simple.ts';

/**
 * What an in-memory store keeps of a value: the value itself if its type cannot be changed in place,
 * otherwise its bytes, so that nobody who holds the value can change the store.
 */
export class ValueCodec<V> {
  readonly #serde: RecordSerde<V>;
  readonly #keepsValue: boolean;
  readonly #topic: string;
  /** Writes what is kept to the changelog, without serializing it a second time. */
  readonly storedSerde: RecordSerde<unknown>;

  constructor(serde: RecordSerde<V>, topic: string) {
    this.#serde = serde;
    this.#topic = topic;
    this.#keepsValue = serde.isImmutable === true;
    this.storedSerde = (this.#keepsValue ? serde : bytesSerde) as RecordSerde<unknown>;
  }

  toStored(value: V): unknown {
    if (this.#keepsValue) return value;
    const bytes = this.#serde.serialize(value, this.#topic, null);
    // A serde may hand out a view of a larger buffer, or reuse one.
    return Buffer.from(bytes);
  }

  fromStored(stored: unknown): V {
    if (this.#keepsValue) return stored as V;
    const bytes = stored as Buffer;
    return this.#serde.read(bytes, 0, bytes.length);
  }

  /** From a changelog record, free of its buffer. */
  storedFromBytes(source: Buffer, start: number, end: number): unknown {
    if (this.#keepsValue) return this.#serde.read(source, start, end);
    return Buffer.from(toBuffer(source.subarray(start, end)));
  }
}
