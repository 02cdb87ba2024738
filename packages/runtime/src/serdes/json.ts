import type { StandardSchemaV1 } from '@standard-schema/spec';
import { recordSerde } from './record-serde.ts';
import type { RecordSerde } from './serde.ts';
import { SerializationError, describeValue } from './serialization-error.ts';
import { readUtf8, stringSerde, writeUtf8 } from './string.ts';
import { validate, type SchemaOptions } from './validation.ts';

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

function jsonSerde<T>(fromText: (text: string) => T, toJson: (value: T) => string): RecordSerde<T> {
  return recordSerde<T>({
    name: 'json',
    write: (value, target, position) => writeUtf8(toJson(value), target, position),
    read: (source, start, end) => fromText(readUtf8(source, start, end)),
    isDetached: true,
    // Taking and restoring the text costs half of what bytes cost, and a string is smaller than a Buffer.
    snapshot: {
      take: toJson,
      restore: (text) => fromText(text as string),
      serde: stringSerde,
    },
  });
}

const unchecked = jsonSerde(parse, stringify);

/**
 * JSON text in UTF-8. As a key, two objects are equal if their JSON text is, order of properties
 * included.
 *
 * Without a schema the type is the caller's word, `serdes.json<Flight>()`, or that of what is written
 * there (`mapValues((flight) => ..., { value: serdes.json() })`): nothing is checked. With one (any validator that
 * speaks Standard Schema: zod, valibot, arktype) the type is what the schema makes of the JSON, and
 * what does not pass is a `SerializationError`. `validateOnWrite` asks the schema about the JSON that
 * is to be written, so that nothing is written that could not be read.
 */
export function json<T = never>(): RecordSerde<T>;
export function json<S extends StandardSchemaV1>(
  schema: S,
  options?: SchemaOptions,
): RecordSerde<StandardSchemaV1.InferOutput<S>>;
export function json(
  schema?: StandardSchemaV1,
  { validateOnWrite = false }: SchemaOptions = {},
): RecordSerde<unknown> {
  if (schema === undefined) return unchecked;
  return jsonSerde(
    (text) => validate(schema, parse(text), 'json', 'read'),
    (value) => {
      const text = stringify(value);
      if (validateOnWrite) validate(schema, parse(text), 'json', 'write');
      return text;
    },
  );
}
