import { recordSerde, toBuffer } from './record-serde.ts';
import type { RecordSerde } from './serde.ts';
import { SerializationError, wrongLength, wrongType } from './serialization-error.ts';

/** Kafka's 1-byte `BooleanSerializer`: 1 or 0. */
export const booleanSerde: RecordSerde<boolean> = recordSerde<boolean>({
  name: 'boolean',
  write(value, target, position) {
    if (typeof value !== 'boolean') throw wrongType('boolean', 'booleans', value);
    if (target.length - position < 1) return -1;
    target[position] = value ? 1 : 0;
    return position + 1;
  },
  read(source, start, end) {
    if (end - start !== 1) throw wrongLength('boolean', 1, end - start);
    const byte = source[start];
    if (byte !== 0 && byte !== 1) {
      throw new SerializationError(`The serde "boolean" reads 0 or 1, but got ${String(byte)}.`);
    }
    return byte === 1;
  },
  maxBytes: () => 1,
  isImmutable: true,
  mapKey(value) {
    if (typeof value !== 'boolean') throw wrongType('boolean', 'booleans', value);
    return value ? 1 : 0;
  },
});

/**
 * Kafka's `ByteArraySerializer`, `BytesSerializer` and `ByteBufferSerializer`: the bytes as they are.
 * What is read is a copy of its own.
 */
export const bytesSerde: RecordSerde<Uint8Array> = recordSerde<Uint8Array>({
  name: 'bytes',
  readsAnything: true,
  write(value, target, position) {
    if (!(value instanceof Uint8Array)) throw wrongType('bytes', 'Uint8Arrays', value);
    if (value.length > target.length - position) return -1;
    target.set(value, position);
    return position + value.length;
  },
  read: (source, start, end) => Buffer.from(source.subarray(start, end)),
  isDetached: true,
  maxBytes: (value) => value.length,
  mapKey: (value) => toBuffer(value).toString('latin1'),
});

/** Kafka's `VoidSerializer`: nothing but null, which passes by every serde. */
export const voidSerde: RecordSerde<null> = recordSerde<null>({
  name: 'void',
  write(value) {
    throw wrongType('void', 'nothing but null', value);
  },
  read(_source, start, end) {
    throw new SerializationError(
      `The serde "void" reads nothing but null, but got ${String(end - start)} bytes.`,
    );
  },
  maxBytes: () => 0,
  isImmutable: true,
});
