import type { Definition } from './definition.ts';
import { parseDurationMs } from '../duration.ts';

/** The value as its type has it, or null with the reason why it is none. */
export type Coerced =
  | { readonly value: unknown; readonly problem: null }
  | { readonly value: null; readonly problem: string };

const MAX_INT = 0x7fffffff;

/** Text, as files and the environment have it, becomes what the type says; values of the type stay. */
export function coerce(definition: Definition, raw: unknown): Coerced {
  switch (definition.type) {
    case 'string':
      return typeof raw === 'string' ? ok(raw) : wrong('a string');
    case 'nullableString':
      return raw === null || typeof raw === 'string' ? ok(raw) : wrong('a string or null');
    case 'boolean':
      if (typeof raw === 'boolean') return ok(raw);
      if (raw === 'true' || raw === 'false') return ok(raw === 'true');
      return wrong('true or false');
    case 'int':
    case 'long':
    case 'nullableInt':
    case 'nullableLong':
      if (raw === null && definition.type.startsWith('nullable')) return ok(null);
      return coerceInteger(definition, raw);
    case 'double':
      return coerceDouble(raw);
    case 'list':
      return coerceList(raw);
    case 'deserializationHandler':
    case 'processingHandler':
    case 'productionHandler':
      return coerceHandler(raw);
    case 'timestampExtractor':
      return raw === null || typeof raw === 'function' ? ok(raw) : wrong('a function');
    case 'serde':
      return raw === null || isSerde(raw) ? ok(raw) : wrong('a serde');
  }
}

/** Also by the names of Kafka Streams' own classes, so that a configuration can be carried over. */
const handlerClasses: ReadonlyMap<string, string> = new Map([
  ['LogAndFailExceptionHandler', 'fail'],
  ['LogAndContinueExceptionHandler', 'continue'],
  ['LogAndFailProcessingExceptionHandler', 'fail'],
  ['LogAndContinueProcessingExceptionHandler', 'continue'],
  ['DefaultProductionExceptionHandler', 'fail'],
]);

function coerceHandler(raw: unknown): Coerced {
  if (typeof raw === 'function' || raw === 'fail' || raw === 'continue') return ok(raw);
  const name = typeof raw === 'string' ? raw.replace('org.apache.kafka.streams.errors.', '') : '';
  const known = handlerClasses.get(name);
  return known === undefined ? wrong("'fail', 'continue' or a function") : ok(known);
}

function coerceInteger(definition: Definition, raw: unknown): Coerced {
  const isDuration = definition.name.endsWith('.ms');
  const what = isDuration ? "milliseconds, or a duration such as '30s'" : 'a whole number';
  let value: number | null = null;
  if (typeof raw === 'number') value = raw;
  else if (typeof raw === 'bigint') value = Number(raw);
  else if (typeof raw === 'string') {
    if (isDuration) value = parseDurationMs(raw);
    else if (/^-?\d+$/.test(raw.trim())) value = Number(raw);
  }
  if (value === null || !Number.isSafeInteger(value)) return wrong(what);
  const isLong = definition.type === 'long' || definition.type === 'nullableLong';
  if (!isLong && Math.abs(value) > MAX_INT) return wrong(`${what} of 32 bits`);
  return ok(value);
}

function coerceDouble(raw: unknown): Coerced {
  const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  return typeof value === 'number' && Number.isFinite(value) ? ok(value) : wrong('a number');
}

function coerceList(raw: unknown): Coerced {
  if (typeof raw === 'string') {
    return ok(
      raw
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    );
  }
  if (Array.isArray(raw) && raw.every((entry) => typeof entry === 'string')) return ok(raw);
  return wrong('a list of strings, or one string with commas');
}

function isSerde(raw: unknown): boolean {
  return (
    typeof raw === 'object' &&
    raw !== null &&
    'serialize' in raw &&
    typeof raw.serialize === 'function' &&
    'deserialize' in raw &&
    typeof raw.deserialize === 'function'
  );
}

function ok(value: unknown): Coerced {
  return { value, problem: null };
}

function wrong(expected: string): Coerced {
  return { value: null, problem: `must be ${expected}` };
}
