import { readInt64AsNumber, writeInt64FromNumber } from '@millrace/protocol';
import { composite } from './custom-serde.ts';
import { recordSerde } from './record-serde.ts';
import { isDetached, type RecordSerde, type Serde } from './serde.ts';
import { SerializationError, wrongType } from './serialization-error.ts';
import { Windowed } from './windowed-key.ts';

const TIMESTAMP_BYTES = 8;

export function writeTimestamp(timestamp: number, target: Buffer, position: number): number {
  return writeInt64FromNumber(target, position, timestamp);
}

export function readTimestamp(source: Buffer, position: number): number {
  return readInt64AsNumber(source, position);
}

/** What stands behind the key's own bytes. */
interface WindowForm {
  readonly bytes: number;
  write(window: Windowed<unknown>, target: Buffer, position: number): number;
  windowed<K>(key: K, source: Buffer, position: number): Windowed<K>;
}

function windowedSerde<K>(
  kind: string,
  inner: RecordSerde<K>,
  form: WindowForm,
): RecordSerde<Windowed<K>> {
  const name = `${kind}(${inner.name})`;
  return recordSerde<Windowed<K>>({
    name,
    unhashedSuffixBytes: form.bytes,
    isImmutable: inner.isImmutable === true,
    isDetached: isDetached(inner),
    write(value, target, position) {
      if (!(value instanceof Windowed)) throw wrongType(name, 'windowed keys', value);
      const end = inner.write(value.key, target, position);
      if (end < 0 || target.length - end < form.bytes) return -1;
      return form.write(value, target, end);
    },
    read(source, start, end, headers) {
      const keyEnd = end - form.bytes;
      if (keyEnd < start) {
        // As in Kafka, no bytes at all are no key.
        if (end === start) return null as unknown as Windowed<K>;
        throw new SerializationError(
          `The serde "${name}" reads a key and ${String(form.bytes)} bytes of its window, but got ${String(end - start)} bytes.`,
        );
      }
      return form.windowed(inner.read(source, start, keyEnd, headers), source, keyEnd);
    },
  });
}

function invalidWindow(kind: string, start: number, end: number): SerializationError {
  return new SerializationError(
    `The serde "${kind}" read the window ${String(start)}/${String(end)}, which cannot be. ` +
      'Was the key written with another serde?',
  );
}

/**
 * The key of a windowed table as Kafka's `TimeWindowedSerializer` writes it to topics: the key's own
 * bytes, then the window's start (8 bytes). The end is not written; it is start + `sizeMs` when
 * read, so the size must be the one that the windows were made with.
 */
export function timeWindowed<K>(inner: RecordSerde<K>, sizeMs: number): RecordSerde<Windowed<K>>;
export function timeWindowed<K>(inner: Serde<K>, sizeMs: number): Serde<Windowed<K>>;
export function timeWindowed<K>(inner: Serde<K>, sizeMs: number): Serde<Windowed<K>> {
  const form: WindowForm = {
    bytes: TIMESTAMP_BYTES,
    write: ({ start }, target, position) => writeTimestamp(start, target, position),
    windowed(key, source, position) {
      const start = readTimestamp(source, position);
      if (start < 0 || !Number.isSafeInteger(start)) {
        throw invalidWindow('timeWindowed', start, start + sizeMs);
      }
      return new Windowed(key, start, start + sizeMs);
    },
  };
  return composite(inner, (key) => windowedSerde('timeWindowed', key, form));
}

const SESSION_FORM: WindowForm = {
  bytes: 2 * TIMESTAMP_BYTES,
  write: ({ start, end }, target, position) =>
    writeTimestamp(start, target, writeTimestamp(end, target, position)),
  windowed(key, source, position) {
    const end = readTimestamp(source, position);
    const start = readTimestamp(source, position + TIMESTAMP_BYTES);
    if (start < 0 || end < start || !Number.isSafeInteger(end)) {
      throw invalidWindow('sessionWindowed', start, end);
    }
    return new Windowed(key, start, end);
  },
};

/**
 * The key of a session as Kafka's `SessionWindowedSerializer` writes it: the key's own bytes, then
 * the end and the start of the session (8 bytes each). Both ends lie within a session.
 */
export function sessionWindowed<K>(inner: RecordSerde<K>): RecordSerde<Windowed<K>>;
export function sessionWindowed<K>(inner: Serde<K>): Serde<Windowed<K>>;
export function sessionWindowed<K>(inner: Serde<K>): Serde<Windowed<K>> {
  return composite(inner, (key) => windowedSerde('sessionWindowed', key, SESSION_FORM));
}
