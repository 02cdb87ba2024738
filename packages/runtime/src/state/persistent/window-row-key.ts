import { writeInt32 } from '@millrace/protocol';
import { writeTimestamp } from '../../serdes/windowed.ts';
import type { KeyCodec } from '../memory/key-codec.ts';

const START_BYTES = 8;
const SEQUENCE_BYTES = 4;
const TWO_POW_32 = 4_294_967_296;
/** What stands behind the key's own bytes: the window's start and a sequence number, 0. */
export const WINDOW_SUFFIX_BYTES = START_BYTES + SEQUENCE_BYTES;

/** Keys `first` to `last` and starts `from` to `to`, all included; a null key means open. */
export interface WindowRange {
  readonly first: string | null;
  readonly last: string | null;
  readonly from: number;
  readonly to: number;
}

/** Writes key, start and sequence number to the start of the codec's buffer; returns their end. */
export function writeWindowKey<K>(keys: KeyCodec<K>, key: K, start: number): number {
  const keyEnd = keys.write(key);
  const { buffer } = keys;
  return writeInt32(buffer, writeTimestamp(start, buffer, keyEnd), 0);
}

export function startOf(rowKey: string): number {
  return timeAt(rowKey, rowKey.length - WINDOW_SUFFIX_BYTES);
}

/** The time whose 8 bytes stand there. */
export function timeAt(text: string, at: number): number {
  return int32At(text, at) * TWO_POW_32 + (int32At(text, at + START_BYTES / 2) >>> 0);
}

/** Of all row keys in the range; others may be at least as high, too. Null: open. */
export function lowestRowKey({ first, last, from }: WindowRange): string | null {
  if (first === null || first !== last) return first;
  return first + suffixText(from);
}

/** Of all row keys in the range; others may be lower. Null: open. */
export function highestRowKey({ last, to }: WindowRange): string | null {
  return last === null ? null : highestWith(last, suffixText(to));
}

/** The highest of all keys up to `last`, each with a suffix of one length up to `suffix` behind it. */
export function highestWith(last: string, suffix: string): string {
  let highest = last + suffix;
  // A key that the last one begins with is lower, but with a suffix behind it it may be higher.
  for (let length = 0; length < last.length; length++) {
    if (last.charCodeAt(length) > suffix.charCodeAt(0)) continue;
    const other = last.slice(0, length) + suffix;
    if (other > highest) highest = other;
  }
  return highest;
}

export function isInRange(rowKey: string, { first, last, from, to }: WindowRange): boolean {
  const start = startOf(rowKey);
  if (start < from || start > to) return false;
  if (first === null && last === null) return true;
  const key = rowKey.slice(0, rowKey.length - WINDOW_SUFFIX_BYTES);
  return (first === null || key >= first) && (last === null || key <= last);
}

function int32At(text: string, at: number): number {
  return (
    (text.charCodeAt(at) << 24) |
    (text.charCodeAt(at + 1) << 16) |
    (text.charCodeAt(at + 2) << 8) |
    text.charCodeAt(at + 3)
  );
}

function suffixText(start: number): string {
  const bytes = Buffer.alloc(WINDOW_SUFFIX_BYTES);
  writeTimestamp(start, bytes, 0);
  return bytes.toString('latin1');
}
