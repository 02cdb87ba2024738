import { isUtf8 } from 'node:buffer';
import { serdes, type RecordSerde } from '@millrace/runtime/cluster';
import { CommandError, messageOf } from './errors.ts';
import { toJsonLine } from './json-lines.ts';

/** How the bytes of a key or value are written in text and in JSON. */
export interface DataType {
  readonly name: string;
  toText(bytes: Buffer): string;
  fromText(text: string): Buffer;
  toJson(bytes: Buffer): unknown;
  fromJson(value: unknown): Buffer;
}

/** Bytes that are not what their type says are shown in JSON like this, and may be given so. */
interface Base64 {
  readonly base64: string;
}

const utf8Of = (bytes: Buffer): string => bytes.toString('utf8');

const text: DataType = {
  name: 'text',
  toText: utf8Of,
  fromText: (given) => Buffer.from(given, 'utf8'),
  toJson: (bytes) => (isUtf8(bytes) ? utf8Of(bytes) : toBase64(bytes)),
  fromJson: (value) => {
    if (typeof value === 'string') return Buffer.from(value, 'utf8');
    return fromBase64(value) ?? refuse('a string or {"base64": ...}', value);
  },
};

const json: DataType = {
  name: 'json',
  toText: utf8Of,
  fromText: (given) => {
    JSON.parse(given);
    return Buffer.from(given, 'utf8');
  },
  toJson: (bytes) => {
    try {
      return JSON.parse(utf8Of(bytes)) as unknown;
    } catch (error) {
      if (error instanceof SyntaxError) return toBase64(bytes);
      throw error;
    }
  },
  fromJson: (value) => fromBase64(value) ?? Buffer.from(toJsonLine(value), 'utf8'),
};

function encoded(name: 'hex' | 'base64', pattern: RegExp): DataType {
  const fromText = (given: string): Buffer => {
    if (!pattern.test(given)) refuse(name, given);
    return Buffer.from(given, name);
  };
  return {
    name,
    toText: (bytes) => bytes.toString(name),
    fromText,
    toJson: (bytes) => bytes.toString(name),
    fromJson: (value) => (typeof value === 'string' ? fromText(value) : refuse(name, value)),
  };
}

/** One of Kafka's own formats. */
function ofSerde<T>(
  name: string,
  serde: RecordSerde<T>,
  parse: (text: string) => T | null,
): DataType {
  const read = (bytes: Buffer): T => serde.deserialize(bytes, '', null);
  const fromText = (given: string): Buffer => {
    const value = parse(given.trim());
    if (value === null) return refuse(`a ${name}`, given);
    return Buffer.from(serde.serialize(value, '', null));
  };
  return {
    name,
    toText: (bytes) => String(read(bytes)),
    fromText,
    toJson: (bytes) => {
      try {
        return read(bytes);
      } catch (error) {
        if ((error as { code?: string }).code === 'SERIALIZATION_FAILED') return toBase64(bytes);
        throw error;
      }
    },
    fromJson: (value) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? fromText(String(value))
        : (fromBase64(value) ?? refuse(`a ${name}`, value)),
  };
}

function parseWhole(given: string): number | null {
  return /^[+-]?\d+$/.test(given) ? Number(given) : null;
}

function parseNumber(given: string): number | null {
  const value = Number(given);
  return given === '' || (Number.isNaN(value) && given !== 'NaN') ? null : value;
}

const types = [
  text,
  json,
  encoded('hex', /^(?:[0-9a-f]{2})*$/i),
  encoded('base64', /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/),
  ofSerde('integer', serdes.integer(), parseWhole),
  ofSerde('long', serdes.bigint(), (given) => (/^[+-]?\d+$/.test(given) ? BigInt(given) : null)),
  ofSerde('short', serdes.short(), parseWhole),
  ofSerde('double', serdes.double(), parseNumber),
  ofSerde('float', serdes.float(), parseNumber),
  ofSerde('boolean', serdes.boolean(), (given) =>
    given === 'true' || given === 'false' ? given === 'true' : null,
  ),
  ofSerde('uuid', serdes.uuid(), (given) => given),
];

export const dataTypes: ReadonlyMap<string, DataType> = new Map(
  types.map((type) => [type.name, type]),
);

/** What is shown of bytes in text: an error names the type that would do. */
export function textOf(type: DataType, bytes: Buffer, what: string): string {
  try {
    return type.toText(bytes);
  } catch (error) {
    throw new CommandError(
      'DATA_UNREADABLE',
      `${what} is no ${type.name}: ${messageOf(error)} --key-type and --value-type name other types, such as hex.`,
      { cause: error },
    );
  }
}

function toBase64(bytes: Buffer): Base64 {
  return { base64: bytes.toString('base64') };
}

function fromBase64(value: unknown): Buffer | null {
  if (typeof value !== 'object' || value === null) return null;
  const keys = Object.keys(value);
  const { base64 } = value as Partial<Base64>;
  if (keys.length !== 1 || typeof base64 !== 'string') return null;
  return dataTypes.get('base64')?.fromText(base64) ?? null;
}

function refuse(expected: string, given: unknown): never {
  const shown = typeof given === 'string' ? `'${given}'` : toJsonLine(given);
  throw new TypeError(`expected ${expected}, not ${shown}`);
}
