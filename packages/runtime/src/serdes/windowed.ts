import type { RecordSerde, Serde } from './serde.ts';
import { toRecordSerde } from './record-serde.ts';
import { SerializationError, describeValue } from './serialization-error.ts';
import { Windowed } from './windowed-key.ts';

const TIMESTAMP_BYTES = 8;
const TWO_POW_32 = 4_294_967_296;

export function writeTimestamp(timestamp: number, target: Buffer, position: number): number {
  const high = Math.floor(timestamp / TWO_POW_32);
  target.writeInt32BE(high, position);
  return target.writeUInt32BE(timestamp - high * TWO_POW_32, position + 4);
}

export function readTimestamp(source: Buffer, position: number): number {
  return source.readInt32BE(position) * TWO_POW_32 + source.readUInt32BE(position + 4);
}

/**
 * The key of a windowed table as Kafka's `TimeWindowedSerializer` writes it to topics: the key's own
 * bytes, then the window's start (8 bytes). The end is not written; it is start + `sizeMs` when
 * read, so the size must be the one that the windows were made with.
 */
export function timeWindowed<K>(inner: Serde<K>, sizeMs: number): RecordSerde<Windowed<K>> {
  const key = toRecordSerde(inner, '');
  const name = `timeWindowed(${key.name})`;
  const serde: RecordSerde<Windowed<K>> = {
    name,
    unhashedSuffixBytes: TIMESTAMP_BYTES,
    isImmutable: key.isImmutable === true,
    write(value, target, position) {
      if (!(value instanceof Windowed)) {
        throw new SerializationError(
          `The serde "${name}" writes windowed keys, but got ${describeValue(value)}.`,
        );
      }
      const end = key.write(value.key, target, position);
      if (end < 0 || target.length - end < TIMESTAMP_BYTES) return -1;
      return writeTimestamp(value.start, target, end);
    },
    read(source, start, end) {
      const keyEnd = end - TIMESTAMP_BYTES;
      if (keyEnd < start) {
        throw new SerializationError(
          `The serde "${name}" reads a key and 8 bytes of window start, but got ${String(end - start)} bytes.`,
        );
      }
      const windowStart = readTimestamp(source, keyEnd);
      return new Windowed(key.read(source, start, keyEnd), windowStart, windowStart + sizeMs);
    },
    serialize(value, topic, headers) {
      const bytes = inner.serialize(value.key, topic, headers);
      const target = Buffer.allocUnsafe(bytes.length + TIMESTAMP_BYTES);
      target.set(bytes);
      writeTimestamp(value.start, target, bytes.length);
      return target;
    },
    deserialize(bytes) {
      const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return serde.read(source, 0, source.length);
    },
  };
  return serde;
}
