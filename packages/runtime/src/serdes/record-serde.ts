import type { RecordHeaders } from '@millrace/protocol';
import { SERIALIZED_INITIAL_BYTES, SERIALIZED_MAX_BYTES } from '../limits.ts';
import type { RecordSerde, Snapshot } from './serde.ts';
import { SerializationError } from './serialization-error.ts';

/** The two functions that a built-in serde consists of; the rest follows from them. */
export interface SerdeFunctions<T> {
  readonly name: string;
  readonly write: (value: T, target: Buffer, position: number) => number;
  readonly read: (source: Buffer, start: number, end: number, headers?: RecordHeaders | null) => T;
  /** Bytes that `value` needs at most; without it `serialize` tries ever larger buffers. */
  readonly maxBytes?: (value: T) => number;
  readonly isImmutable?: boolean;
  readonly isDetached?: boolean;
  readonly readsAnything?: boolean;
  readonly mapKey?: (value: T) => string | number;
  readonly asciiText?: (value: T) => string | null;
  readonly fixedBytes?: number;
  readonly unhashedSuffixBytes?: number;
  readonly snapshot?: Snapshot<T>;
}

/** Completes a serde given by its record-path functions with `serialize` and `deserialize`. */
export function recordSerde<T>(functions: SerdeFunctions<T>): RecordSerde<T> {
  const { read } = functions;
  return {
    ...functions,
    serialize: (value: T) => serialized(functions, value),
    deserialize(bytes: Uint8Array): T {
      const source = toBuffer(bytes);
      return read(source, 0, source.length);
    },
  };
}

function serialized<T>({ name, write, maxBytes }: SerdeFunctions<T>, value: T): Uint8Array {
  let length = maxBytes?.(value) ?? SERIALIZED_INITIAL_BYTES;
  for (;;) {
    const target = Buffer.allocUnsafe(length);
    const end = write(value, target, 0);
    if (end >= 0) return target.subarray(0, end);
    if (length >= SERIALIZED_MAX_BYTES) {
      throw new SerializationError(
        `The serde "${name}" needs more than ${String(SERIALIZED_MAX_BYTES)} bytes for one value.`,
      );
    }
    length = length * 2;
  }
}

export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
