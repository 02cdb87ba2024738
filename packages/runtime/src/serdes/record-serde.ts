import type { RecordSerde, Serde, Snapshot } from './serde.ts';

/** The two functions that a built-in serde consists of; the rest follows from them. */
export interface SerdeFunctions<T> {
  readonly name: string;
  readonly write: (value: T, target: Buffer, position: number) => number;
  readonly read: (source: Buffer, start: number, end: number) => T;
  /** Bytes that `value` needs at most; what `serialize` allocates at first. */
  readonly maxBytes: (value: T) => number;
  readonly isImmutable?: boolean;
  readonly mapKey?: (value: T) => string | number;
  readonly unhashedSuffixBytes?: number;
  readonly snapshot?: Snapshot<T>;
}

/** Completes a serde given by its record-path functions with `serialize` and `deserialize`. */
export function recordSerde<T>(functions: SerdeFunctions<T>): RecordSerde<T> {
  const { write, read, maxBytes } = functions;
  return {
    ...functions,
    serialize(value: T): Uint8Array {
      const target = Buffer.allocUnsafe(maxBytes(value));
      return target.subarray(0, write(value, target, 0));
    },
    deserialize(bytes: Uint8Array): T {
      const source = toBuffer(bytes);
      return read(source, 0, source.length);
    },
  };
}

export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A serde as the record path wants it. A serde of the user's with only `serialize` and
 * `deserialize` is adapted; `topic` is what it is told, and headers are null there.
 */
export function toRecordSerde<T>(serde: Serde<T>, topic: string): RecordSerde<T> {
  if (serde.write !== undefined && serde.read !== undefined) return serde as RecordSerde<T>;
  const adapted: RecordSerde<T> = {
    name: serde.name,
    serialize: (value, toTopic, headers) => serde.serialize(value, toTopic, headers),
    deserialize: (bytes, fromTopic, headers) => serde.deserialize(bytes, fromTopic, headers),
    write(value, target, position) {
      const bytes = serde.serialize(value, topic, null);
      if (bytes.length > target.length - position) return -1;
      target.set(bytes, position);
      return position + bytes.length;
    },
    read: (source, start, end) => serde.deserialize(source.subarray(start, end), topic, null),
    ...(serde.isImmutable === undefined ? {} : { isImmutable: serde.isImmutable }),
    ...(serde.snapshot === undefined ? {} : { snapshot: serde.snapshot }),
    ...(serde.unhashedSuffixBytes === undefined
      ? {}
      : { unhashedSuffixBytes: serde.unhashedSuffixBytes }),
  };
  if (serde.mapKey !== undefined) {
    adapted.mapKey = (value) => (serde as Required<Pick<Serde<T>, 'mapKey'>>).mapKey(value);
  }
  return adapted;
}
