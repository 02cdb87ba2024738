import { gunzipSync, gzipSync } from 'node:zlib';
import { GZIP_MAX_EXPANSION } from '../limits.ts';
import { damaged, messageOf, tooLarge } from './bounds.ts';

/** Bytes: zlib's pieces of output; larger ones save calls on large batches. */
const MIN_CHUNK_BYTES = 16 * 1024;
const MAX_CHUNK_BYTES = 1024 * 1024;
/** Bytes of a member's trailer that hold its size modulo 2^32. */
const SIZE_TRAILER_BYTES = 4;

export function gzip(source: Buffer, level?: number): Buffer {
  return level === undefined ? gzipSync(source) : gzipSync(source, { level });
}

/** zlib itself stops at `maxBytes`, whatever the trailer claims. */
export function gunzip(source: Buffer, maxBytes: number, what: string): Buffer {
  try {
    return gunzipSync(source, {
      maxOutputLength: Math.max(1, maxBytes),
      chunkSize: chunkSize(source, maxBytes),
    });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge('gzip', what, 'more', maxBytes, error);
    throw damaged('gzip', what, messageOf(error), error);
  }
}

/** The trailer's claim only sizes the pieces, within bounds, so a lie costs nothing. */
function chunkSize(source: Buffer, maxBytes: number): number {
  if (source.length < SIZE_TRAILER_BYTES) return MIN_CHUNK_BYTES;
  const claimed = source.readUInt32LE(source.length - SIZE_TRAILER_BYTES);
  const possible = Math.min(claimed, source.length * GZIP_MAX_EXPANSION, maxBytes);
  // One byte more than the data: zlib then sees the end without asking for another piece.
  return Math.max(MIN_CHUNK_BYTES, Math.min(possible + 1, MAX_CHUNK_BYTES));
}
