import { recordSerde } from './record-serde.ts';
import type { RecordSerde } from './serde.ts';
import { wrongType } from './serialization-error.ts';

// Below these lengths a loop over ASCII beats the call into native code (measured: 8 characters are
// written in 27 ns against 88, read in 43 ns against 75); above them the native call wins.
const WRITE_LOOP_MAX_CHARS = 32;
const READ_LOOP_MAX_BYTES = 12;
const UTF8_MAX_BYTES_PER_CHAR = 3;

type Utf8Slice = (this: Buffer, start: number, end: number) => string;
type Utf8Write = (this: Buffer, text: string, start: number, length: number) => number;

/** Node's Buffer has these two beside `toString` and `write`, without their argument checks. */
const fast = Buffer.prototype as { readonly utf8Slice?: Utf8Slice; readonly utf8Write?: Utf8Write };

const utf8Slice: Utf8Slice =
  fast.utf8Slice ??
  function (start, end) {
    return this.toString('utf8', start, end);
  };

const utf8Write: Utf8Write =
  fast.utf8Write ??
  function (text, start, length) {
    return this.write(text, start, length, 'utf8');
  };

/** In Node since 20, in TypeScript's library since ES2024. */
type WellFormedString = string & { isWellFormed(): boolean };

/** A lone surrogate has no UTF-8 form; Java writes a question mark for it, and so do we. */
function wellFormed(text: string): string {
  return (text as WellFormedString).isWellFormed() ? text : text.replaceAll(/\p{Surrogate}/gu, '?');
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

/** Writes UTF-8; -1 when it does not fit. */
export function writeUtf8(text: string, target: Buffer, position: number): number {
  const { length } = text;
  const space = target.length - position;
  if (length <= WRITE_LOOP_MAX_CHARS) {
    if (length > space) return -1;
    let i = 0;
    for (; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) break;
      target[position + i] = code;
    }
    if (i === length) return position + length;
  }
  if (length * UTF8_MAX_BYTES_PER_CHAR <= space) {
    // As many bytes as characters: all of it was ASCII, and nothing has to be looked at again.
    const written = utf8Write.call(target, text, position, space);
    if (written === length) return position + written;
  }
  const valid = wellFormed(text);
  if (
    valid.length * UTF8_MAX_BYTES_PER_CHAR > space &&
    (valid.length > space || Buffer.byteLength(valid) > space)
  ) {
    return -1;
  }
  return position + utf8Write.call(target, valid, position, space);
}

/** Reads UTF-8; malformed bytes become U+FFFD, as many as in Java. */
export function readUtf8(source: Buffer, start: number, end: number): string {
  if (end - start > READ_LOOP_MAX_BYTES) return decodeUtf8(source, start, end);
  let text = '';
  let i = start;
  for (; i + 4 <= end; i += 4) {
    const a = source[i] as number;
    const b = source[i + 1] as number;
    const c = source[i + 2] as number;
    const d = source[i + 3] as number;
    if ((a | b | c | d) > 0x7f) return decodeUtf8(source, start, end);
    text += String.fromCharCode(a, b, c, d);
  }
  for (; i < end; i++) {
    const code = source[i] as number;
    if (code > 0x7f) return decodeUtf8(source, start, end);
    text += String.fromCharCode(code);
  }
  return text;
}

const REPLACEMENT = '\ufffd';
/** First byte of U+D000 to U+DFFF; with a second byte from here on it is a surrogate, which UTF-8 must not have. */
const SURROGATE_LEAD = 0xed;
const SURROGATE_SECOND_MIN = 0xa0;

function decodeUtf8(source: Buffer, start: number, end: number): string {
  const text = utf8Slice.call(source, start, end);
  return text.includes(REPLACEMENT) ? decodeMalformed(source, start, end) : text;
}

/** Node replaces each byte of a surrogate, Java the whole of it. */
function decodeMalformed(source: Buffer, start: number, end: number): string {
  let text = '';
  let from = start;
  for (let i = start; i + 1 < end; i++) {
    if (source[i] !== SURROGATE_LEAD || !isContinuation(source[i + 1])) continue;
    if ((source[i + 1] as number) < SURROGATE_SECOND_MIN) continue;
    text += utf8Slice.call(source, from, i) + REPLACEMENT;
    i += i + 2 < end && isContinuation(source[i + 2]) ? 2 : 1;
    from = i + 1;
  }
  return text + utf8Slice.call(source, from, end);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 2;
}

/** UTF-8 text, as Kafka's `StringSerializer` writes it. */
export const stringSerde: RecordSerde<string> = recordSerde<string>({
  name: 'string',
  readsAnything: true,
  write(value, target, position) {
    if (typeof value !== 'string') throw wrongType('string', 'strings', value);
    return writeUtf8(value, target, position);
  },
  read: readUtf8,
  maxBytes: (value) => (typeof value === 'string' ? value.length * UTF8_MAX_BYTES_PER_CHAR : 0),
  isImmutable: true,
  mapKey(value) {
    if (typeof value !== 'string') throw wrongType('string', 'strings', value);
    return wellFormed(value);
  },
  asciiText: (value) => (typeof value === 'string' && isAscii(value) ? value : null),
});
