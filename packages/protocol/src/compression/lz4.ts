import { compressFrameSync, decompressFrameSync } from 'lz4-napi';
import { LZ4_MAX_EXPANSION } from '../limits.ts';
import { damaged, messageOf, tooLarge } from './bounds.ts';

/**
 * The lz4 frame format. Frames are written with independent blocks and without content checksum,
 * as Kafka's Java clients do; the level that Java knows has no counterpart in this library.
 */
const MAGIC = 0x184d2204;
const VERSION = 1;
const DESCRIPTOR_BYTES = 7;
const BLOCK_HEADER_BYTES = 4;
const CHECKSUM_BYTES = 4;
/** Set in a block's header: stored as it is. */
const STORED_BIT = 0x80000000;
/** By the three bits of the descriptor's second byte, from 4 on. */
const BLOCK_MAX_BYTES = [64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024];

export function compressLz4(source: Buffer): Buffer {
  return compressFrameSync(source);
}

export function decompressLz4(source: Buffer, maxBytes: number, what: string): Buffer {
  const frame = measureFrame(source, what);
  // A frame's last block may be partly filled: allow for it here, and look again afterwards.
  if (frame.bound > maxBytes + frame.blockMax) throw tooLarge('lz4', what, frame.bound, maxBytes);
  let result: Buffer;
  try {
    result = decompressFrameSync(source.subarray(0, frame.end));
  } catch (error) {
    throw damaged('lz4', what, messageOf(error), error);
  }
  if (result.length > maxBytes) throw tooLarge('lz4', what, result.length, maxBytes);
  return result;
}

interface Frame {
  /** Bytes that it cannot exceed when decoded. */
  readonly bound: number;
  readonly blockMax: number;
  readonly end: number;
}

/** Walks the block headers without decoding. What follows the frame is left alone, as Java does. */
function measureFrame(source: Buffer, what: string): Frame {
  if (source.length < DESCRIPTOR_BYTES || source.readUInt32LE(0) !== MAGIC) {
    throw damaged('lz4', what, 'no frame starts here');
  }
  const flags = source[4] as number;
  const blockMax = BLOCK_MAX_BYTES[(((source[5] as number) >> 4) & 0x07) - 4];
  if (flags >> 6 !== VERSION || blockMax === undefined) {
    throw damaged('lz4', what, `frame descriptor ${source.toString('hex', 4, 6)}`);
  }
  const hasBlockChecksum = (flags & 0x10) !== 0;
  const hasContentSize = (flags & 0x08) !== 0;
  const hasContentChecksum = (flags & 0x04) !== 0;
  if ((flags & 0x01) !== 0) throw damaged('lz4', what, 'the frame wants a dictionary');

  let position = DESCRIPTOR_BYTES + (hasContentSize ? 8 : 0);
  let bound = 0;
  for (;;) {
    if (source.length - position < BLOCK_HEADER_BYTES) {
      throw damaged('lz4', what, `cut off before a block at byte ${position}`);
    }
    const header = source.readUInt32LE(position);
    position += BLOCK_HEADER_BYTES;
    if (header === 0) break;
    const isStored = (header & STORED_BIT) !== 0;
    const size = header & 0x7fffffff;
    if (size > blockMax || size > source.length - position) {
      throw damaged('lz4', what, `a block of ${size} bytes at byte ${position} does not fit`);
    }
    bound += isStored ? size : Math.min(blockMax, size * LZ4_MAX_EXPANSION);
    position += size + (hasBlockChecksum ? CHECKSUM_BYTES : 0);
  }
  const end = position + (hasContentChecksum ? CHECKSUM_BYTES : 0);
  if (end > source.length) throw damaged('lz4', what, 'cut off before its checksum');
  return { bound, blockMax, end };
}
