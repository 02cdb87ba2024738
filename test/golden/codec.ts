import { RecordHeaders } from '@millrace/protocol';
import { serdes, Windowed, type Serde } from '@millrace/runtime';
import type { Json, JsonObject } from './case.ts';
import { inJavaWords } from './errors.ts';
import { GoldenFailure } from './expressions.ts';

/** UTF-8, except that text with a `!` is refused both ways. */
const picky: Serde<string> = {
  name: 'picky',
  serialize: (value) => Buffer.from(refuse(value)),
  deserialize: (bytes) => refuse(Buffer.from(bytes).toString()),
};

function refuse(value: string): string {
  if (value.includes('!')) {
    throw new GoldenFailure(
      'org.apache.kafka.common.errors.SerializationException',
      `picky refuses ${value}`,
    );
  }
  return value;
}

/** A case's serde by name; no name, no serde. */
export function serdeOf(name: string | undefined): Serde<unknown> | undefined {
  if (name === undefined) return undefined;
  if (name.startsWith('timeWindowed:')) {
    return serdes.timeWindowed(serdes.string(), Number(name.slice('timeWindowed:'.length)));
  }
  switch (name) {
    case 'string':
      return serdes.string();
    case 'long':
      return serdes.long();
    case 'int':
      return serdes.integer();
    case 'short':
      return serdes.short();
    case 'bytes':
      return serdes.bytes();
    case 'void':
      return serdes.void();
    case 'picky':
      return picky;
    default:
      throw new Error(`no serde ${name}`);
  }
}

/** An input's key or value as bytes: null, `{"hex"}`, or a text or number by its serde. */
export function encode(value: Json | undefined, serde: string): Buffer | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'object') return Buffer.from((value as JsonObject)['hex'] as string, 'hex');
  if (serde === 'long' || serde === 'int' || serde === 'short') {
    return Buffer.from((serdeOf(serde) as Serde<unknown>).serialize(value, '', null));
  }
  return Buffer.from(String(value));
}

export function encodeHeaders(
  headers: readonly (readonly [string, Json])[] | undefined,
): RecordHeaders | null {
  if (headers === undefined || headers.length === 0) return null;
  const encoded = new RecordHeaders();
  for (const [name, value] of headers) encoded.add(name, encode(value, 'string'));
  return encoded;
}

export function showHeaders(headers: RecordHeaders): Json {
  return headers.toArray().map(({ key, value }) => {
    if (value === null) return [key, null];
    if (key.startsWith('__streams.errors.')) return [key, inJavaWords(key, value.toString())];
    const isText = value.every((byte) => byte >= 32 && byte !== 127);
    return [key, isText ? value.toString() : { hex: value.toString('hex') }];
  });
}

/** `field` and `fieldHex` of an output; without a serde, or if it can't read the bytes, only hex. */
export function show(
  field: string,
  bytes: Uint8Array | null,
  serde: string | undefined,
): JsonObject {
  if (bytes === null) return { [field]: null };
  let shown: Json | undefined;
  if (serde !== undefined) {
    try {
      shown = toJson((serdeOf(serde) as Serde<unknown>).deserialize(bytes, '', null));
    } catch {
      shown = undefined;
    }
  }
  const hex = { [`${field}Hex`]: Buffer.from(bytes).toString('hex') };
  if (shown === undefined) return hex;
  return serde === 'string' ? { [field]: shown } : { [field]: shown, ...hex };
}

export function toJson(value: unknown): Json {
  if (value instanceof Windowed) {
    return { key: toJson(value.key), start: value.start, end: value.end };
  }
  if (value instanceof Uint8Array) return { hex: Buffer.from(value).toString('hex') };
  return value as Json;
}
