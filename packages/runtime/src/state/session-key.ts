import { writeTimestamp } from '../serdes/windowed.ts';
import type { KeyCodec } from './memory/key-codec.ts';

const TIME_BYTES = 8;
/** What stands behind the key's own bytes: the session's end, then its start. */
export const SESSION_SUFFIX_BYTES = 2 * TIME_BYTES;

/** Writes key, end and start to the start of the codec's buffer; returns their end. */
export function writeSessionKey<K>(keys: KeyCodec<K>, key: K, start: number, end: number): number {
  const keyEnd = keys.write(key);
  const { buffer } = keys;
  return writeTimestamp(start, buffer, writeTimestamp(end, buffer, keyEnd));
}
