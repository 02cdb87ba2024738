import { recordSerde } from './record-serde.ts';
import type { RecordSerde } from './serde.ts';
import { SerializationError, describeValue } from './serialization-error.ts';
import { readUtf8, writeUtf8 } from './string.ts';

const UTF8_MAX_BYTES_PER_CHAR = 3;

function stringify(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new SerializationError(`The serde "json" could not write ${describeValue(value)}.`, {
      cause,
    });
  }
  // `undefined`, functions and symbols have no JSON form, whatever the signature of stringify says.
  if (text === undefined) {
    throw new SerializationError(`The serde "json" has no form for ${describeValue(value)}.`);
  }
  return text;
}

const jsonSerde: RecordSerde<unknown> = recordSerde<unknown>({
  name: 'json',
  write: (value, target, position) => writeUtf8(stringify(value), target, position),
  read(source, start, end) {
    const text = readUtf8(source, start, end);
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new SerializationError('The serde "json" read bytes that are no JSON.', { cause });
    }
  },
  maxBytes: (value) => stringify(value).length * UTF8_MAX_BYTES_PER_CHAR,
});

/**
 * JSON text in UTF-8. The type is the caller's word: nothing is checked when a record is read. As a
 * key, two objects are equal if their JSON text is, order of properties included.
 */
export function json<T>(): RecordSerde<T> {
  return jsonSerde as RecordSerde<T>;
}
