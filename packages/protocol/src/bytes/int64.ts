import { readInt32, writeInt32 } from './int32.ts';

const TWO_32 = 2 ** 32;

/**
 * An int64 as a number, without a BigInt in between. Exact between -2^53 and 2^53, which every
 * timestamp is; rounded to the nearest double beyond. No bounds check: the caller has looked.
 */
export function readInt64AsNumber(source: Uint8Array, position: number): number {
  return readInt32(source, position) * TWO_32 + (readInt32(source, position + 4) >>> 0);
}

/** Writes a safe integer as an int64; returns the end. No bounds check: the caller has made room. */
export function writeInt64FromNumber(target: Uint8Array, position: number, value: number): number {
  const high = Math.floor(value / TWO_32);
  return writeInt32(target, writeInt32(target, position, high), value - high * TWO_32);
}
