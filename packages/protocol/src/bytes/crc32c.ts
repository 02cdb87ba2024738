import { crc32c as nativeCrc32c } from '@node-rs/crc32';
import { NATIVE_CRC_MIN_BYTES } from '../limits.ts';

const CASTAGNOLI_REVERSED = 0x82f63b78;

const table = makeTable();

function makeTable(): Int32Array {
  const entries = new Int32Array(256);
  for (let i = 0; i < 256; i++) {
    let bits = i;
    for (let bit = 0; bit < 8; bit++) {
      bits = bits & 1 ? (bits >>> 1) ^ CASTAGNOLI_REVERSED : bits >>> 1;
    }
    entries[i] = bits;
  }
  return entries;
}

/**
 * CRC-32C (Castagnoli) of `buffer[start, end)`, unsigned. `seed` is the CRC of what came before, so
 * that a checksum over several pieces can be taken piece by piece.
 *
 * Crossing into the native library costs about a quarter of a microsecond, so short inputs stay in
 * JavaScript.
 */
export function crc32c(buffer: Buffer, start: number, end: number, seed = 0): number {
  if (end - start >= NATIVE_CRC_MIN_BYTES) {
    return nativeCrc32c(buffer.subarray(start, end), seed);
  }
  let bits = ~seed;
  for (let i = start; i < end; i++) {
    bits = (table[(bits ^ (buffer[i] as number)) & 0xff] as number) ^ (bits >>> 8);
  }
  return ~bits >>> 0;
}
