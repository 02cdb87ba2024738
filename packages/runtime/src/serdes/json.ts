import type { RecordSerde } from './serde.ts';
import { SerializationError, describeValue } from './serialization-error.ts';
import { readUtf8, stringSerde, writeUtf8 } from './string.ts';

/** `undefined`, functions and symbols have no JSON form, whatever the declared type says. */
const toText = JSON.stringify as (value: unknown) => string | undefined;

function stringify(value: unknown): string {
  let text: string | undefined;
  try {
    text = toText(value);
  } catch (cause) {
    throw new SerializationError(`The serde "json" could not write ${describeValue(value)}.`, {
      cause,
    });
  }
  if (text === undefined) {
    throw new SerializationError(`The serde "json" has no form for ${describeValue(value)}.`);
  }
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new SerializationError('The serde "json" read bytes that are no JSON.', { cause });
  }
}

const jsonSerde: RecordSerde<unknown> = {
  name: 'json',
  write: (value, target, position) => writeUtf8(stringify(value), target, position),
  read: (source, start, end) => parse(readUtf8(source, start, end)),
  serialize: (value) => stringSerde.serialize(stringify(value), '', null),
  deserialize: (bytes) => parse(stringSerde.deserialize(bytes, '', null)),
  // Taking and restoring the text costs half of what bytes cost, and a string is smaller than a Buffer.
  snapshot: {
    take: stringify,
    restore: (text) => parse(text as string),
    serde: stringSerde,
  },
};

/**
 * JSON text in UTF-8. The type is the caller's word: nothing is checked when a record is read. As a
 * key, two objects are equal if their JSON text is, order of properties included.
 */
export function json<T>(): RecordSerde<T> {
  return jsonSerde as RecordSerde<T>;
}
