import { TopologyError } from '../errors.ts';
import { recordSerde } from './record-serde.ts';
import type { RecordSerde } from './serde.ts';
import { wrongType } from './serialization-error.ts';
import { stringSerde } from './string.ts';

/** The six that every Java has, by their Java names. */
export type StringEncoding =
  'UTF-8' | 'US-ASCII' | 'ISO-8859-1' | 'UTF-16' | 'UTF-16BE' | 'UTF-16LE';

interface Encoding {
  readonly encode: (text: string) => Buffer;
  readonly decode: (bytes: Buffer) => string;
}

const REPLACEMENT = '\ufffd';
const BYTE_ORDER_MARK = 0xfeff;
/** A byte order mark read in the wrong order. */
const REVERSED_MARK = 0xfffe;

const ascii: Encoding = {
  encode: (text) => Buffer.from(text.replaceAll(/[^\0-\x7f]/gu, '?'), 'latin1'),
  decode: (bytes) => bytes.toString('latin1').replaceAll(/[\x80-\xff]/g, REPLACEMENT),
};

const latin1: Encoding = {
  encode: (text) => Buffer.from(text.replaceAll(/[^\0-\xff]/gu, '?'), 'latin1'),
  decode: (bytes) => bytes.toString('latin1'),
};

const utf16le: Encoding = {
  encode: (text) => Buffer.from(text.replaceAll(/\p{Surrogate}/gu, REPLACEMENT), 'utf16le'),
  decode: (bytes) => decodeUtf16(bytes, 0, true),
};

const utf16be: Encoding = {
  encode: (text) => utf16le.encode(text).swap16(),
  decode: (bytes) => decodeUtf16(bytes, 0, false),
};

/** Big-endian behind a byte order mark; read in the order of the mark, if there is one. */
const utf16: Encoding = {
  encode: (text) => (text === '' ? Buffer.alloc(0) : utf16be.encode(`\ufeff${text}`)),
  decode(bytes) {
    const mark = bytes.length < 2 ? 0 : bytes.readUInt16BE(0);
    const hasMark = mark === BYTE_ORDER_MARK || mark === REVERSED_MARK;
    return decodeUtf16(bytes, hasMark ? 2 : 0, mark === REVERSED_MARK);
  },
};

function decodeUtf16(bytes: Buffer, start: number, isLittleEndian: boolean): string {
  const unitAt = (at: number): number =>
    isLittleEndian ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
  let text = '';
  let at = start;
  for (; at + 1 < bytes.length; at += 2) {
    const unit = unitAt(at);
    if (isLowSurrogate(unit)) {
      text += REPLACEMENT;
    } else if (!isHighSurrogate(unit)) {
      text += String.fromCharCode(unit);
    } else if (at + 3 >= bytes.length) {
      // Java takes a character that is cut off for one malformed piece, whatever of it is there.
      return text + REPLACEMENT;
    } else {
      // Whatever follows a high surrogate goes with it, as in Java.
      const low = unitAt(at + 2);
      text += isLowSurrogate(low) ? String.fromCharCode(unit, low) : REPLACEMENT;
      at += 2;
    }
  }
  return at < bytes.length ? text + REPLACEMENT : text;
}

function isHighSurrogate(unit: number): boolean {
  return unit >> 10 === 0x36;
}

function isLowSurrogate(unit: number): boolean {
  return unit >> 10 === 0x37;
}

const encodings: Readonly<Record<Exclude<StringEncoding, 'UTF-8'>, Encoding>> = {
  'US-ASCII': ascii,
  'ISO-8859-1': latin1,
  'UTF-16': utf16,
  'UTF-16BE': utf16be,
  'UTF-16LE': utf16le,
};

/**
 * Text as Kafka's `StringSerializer` writes it with `serializer.encoding`. What an encoding has no
 * form for is replaced as in Java, and so are malformed bytes.
 */
export function stringOf(encoding: StringEncoding = 'UTF-8'): RecordSerde<string> {
  if (encoding === 'UTF-8') return stringSerde;
  if (!Object.hasOwn(encodings, encoding)) {
    throw new TopologyError(
      `There is no encoding "${encoding as string}". ` +
        `A string serde writes UTF-8, ${Object.keys(encodings).join(', ')}.`,
    );
  }
  const { encode, decode } = encodings[encoding];
  return recordSerde<string>({
    name: `string(${encoding})`,
    write(value, target, position) {
      if (typeof value !== 'string') throw wrongType('string', 'strings', value);
      const bytes = encode(value);
      if (bytes.length > target.length - position) return -1;
      target.set(bytes, position);
      return position + bytes.length;
    },
    read: (source, start, end) => decode(source.subarray(start, end)),
    isImmutable: true,
  });
}
