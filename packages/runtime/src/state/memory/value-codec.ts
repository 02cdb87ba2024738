import type { RecordSerde, Snapshot } from '../../serdes/serde.ts';
import { bytesSerde } from '../../serdes/simple.ts';

/**
 * What an in-memory store keeps of a value: the value itself if its type cannot be changed in place,
 * otherwise a snapshot, so that nobody who holds the value can change the store.
 */
export class ValueCodec<V> {
  readonly #snapshot: Snapshot<V> | null;
  /** Writes what is kept, with the bytes that the value has, and reads it. */
  readonly storedSerde: RecordSerde<unknown>;

  constructor(serde: RecordSerde<V>, topic: string) {
    this.#snapshot = serde.isImmutable === true ? null : (serde.snapshot ?? bytesOf(serde, topic));
    this.storedSerde = this.#snapshot?.serde ?? serde;
  }

  toStored(value: V): unknown {
    return this.#snapshot === null ? value : this.#snapshot.take(value);
  }

  fromStored(stored: unknown): V {
    return this.#snapshot === null ? (stored as V) : this.#snapshot.restore(stored);
  }
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
