import type { Codec } from './codec.ts';
import { gunzip, gzip } from './gzip.ts';
import { compressLz4, decompressLz4 } from './lz4.ts';
import { compressSnappy, decompressSnappy } from './snappy.ts';
import { compressZstd, decompressZstd } from './zstd.ts';

/**
 * Compresses `source` as Kafka's clients do: gzip, snappy in xerial framing, an lz4 frame, a zstd
 * frame. `level` counts for gzip (1 to 9, default 6) and zstd (1 to 22, default 3).
 *
 * `room`: memory that the result may take from its start on instead of its own.
 */
export function compress(codec: Codec, source: Buffer, level?: number, room?: Buffer): Buffer {
  switch (codec) {
    case 'none':
      return source;
    case 'gzip':
      return gzip(source, level);
    case 'snappy':
      return compressSnappy(source);
    case 'lz4':
      return compressLz4(source, room);
    case 'zstd':
      return compressZstd(source, level);
  }
}

/**
 * The inverse. The result has at most `maxBytes` bytes; data that could yield more throws
 * DecompressedTooLargeError before it is decoded, damaged data CorruptRecordError. `what` names
 * the data in those errors.
 *
 * zstd and lz4 do not say what a block yields, so each block that is not full is taken for one:
 * data that was flushed in small pieces may be refused somewhat below the limit.
 *
 * `room`: memory that the result may take instead of its own. Then it lasts until that is used again.
 */
export function decompress(
  codec: Codec,
  source: Buffer,
  maxBytes: number,
  what = 'compressed data',
  room?: Buffer,
): Buffer {
  switch (codec) {
    case 'none':
      return source;
    case 'gzip':
      return gunzip(source, maxBytes, what);
    case 'snappy':
      return decompressSnappy(source, maxBytes, what);
    case 'lz4':
      return decompressLz4(source, maxBytes, what, room);
    case 'zstd':
      return decompressZstd(source, maxBytes, what);
  }
}
