import { RecordHeaders } from '@millrace/protocol';
import type { DataType } from './data-types.ts';
import { messageOf } from './errors.ts';

export interface InputRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders | null;
  /** Undefined: the key decides. */
  readonly partition: number | undefined;
  /** Epoch ms; undefined: now. */
  readonly timestamp: number | undefined;
}

export interface TextFormat {
  /** Between key and value; undefined: lines are values. */
  readonly keySeparator: string | undefined;
  /** A key or value that is this text is null. */
  readonly nullText: string | undefined;
  readonly key: DataType;
  readonly value: DataType;
}

/** @throws Error that says what is wrong with the line */
export function recordOfText(line: string, format: TextFormat): InputRecord {
  const { keySeparator, nullText, key, value } = format;
  let keyText: string | null = null;
  let valueText = line;
  if (keySeparator !== undefined) {
    const at = line.indexOf(keySeparator);
    if (at < 0) {
      throw new TypeError(
        `the key separator '${keySeparator}' is missing${keySeparator === '\t' ? ' (a tab)' : ''}`,
      );
    }
    keyText = line.slice(0, at);
    valueText = line.slice(at + keySeparator.length);
  }
  return {
    key: keyText === null || keyText === nullText ? null : part('key', () => key.fromText(keyText)),
    value: valueText === nullText ? null : part('value', () => value.fromText(valueText)),
    headers: null,
    partition: undefined,
    timestamp: undefined,
  };
}

const FIELDS = ['key', 'value', 'headers', 'partition', 'timestamp'];
/** What `consume --json` tells beside them. */
const IGNORED_FIELDS = ['topic', 'offset'];

/** A line as `consume --json` writes it. @throws Error that says what is wrong with the line */
export function recordOfJson(
  line: string,
  { key, value }: Pick<TextFormat, 'key' | 'value'>,
): InputRecord {
  const record: unknown = JSON.parse(line);
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    throw new TypeError('expected a JSON object such as {"key": "k", "value": "v"}');
  }
  const unknown = Object.keys(record).filter(
    (name) => !FIELDS.includes(name) && !IGNORED_FIELDS.includes(name),
  );
  if (unknown.length > 0) {
    throw new TypeError(`${unknown.join(', ')} is not known; a record has ${FIELDS.join(', ')}`);
  }
  const given = record as Readonly<Record<string, unknown>>;
  if (given['value'] === undefined) {
    throw new TypeError('there is no value; a tombstone has "value": null');
  }
  return {
    key: bytesOf('key', given['key'], key),
    value: bytesOf('value', given['value'], value),
    headers: headersOf(given['headers']),
    partition: numberOf('partition', given['partition']),
    timestamp: numberOf('timestamp', given['timestamp']),
  };
}

function bytesOf(name: string, value: unknown, type: DataType): Buffer | null {
  if (value === undefined || value === null) return null;
  return part(name, () => type.fromJson(value));
}

function part(name: string, read: () => Buffer): Buffer {
  try {
    return read();
  } catch (error) {
    throw new TypeError(`its ${name}: ${messageOf(error)}`, { cause: error });
  }
}

function numberOf(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`its ${name} is no whole number from 0 on`);
}

function headersOf(value: unknown): RecordHeaders | null {
  if (value === undefined || value === null) return null;
  const isList = Array.isArray(value);
  if (!isList) throw new TypeError('its headers are no list of {"key": ..., "value": ...}');
  const headers = new RecordHeaders();
  for (const header of value as readonly unknown[]) {
    const { key, value: content } = (header ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof key !== 'string') throw new TypeError('a header has no "key" that is a string');
    headers.add(key, headerBytes(content));
  }
  return headers;
}

function headerBytes(content: unknown): Buffer | null {
  if (content === undefined || content === null) return null;
  if (typeof content === 'string') return Buffer.from(content, 'utf8');
  const { base64 } = content as Readonly<Record<string, unknown>>;
  if (typeof base64 === 'string') return Buffer.from(base64, 'base64');
  throw new TypeError('the "value" of a header is no string, {"base64": ...} or null');
}
