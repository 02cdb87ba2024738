import { LZ4_MAX_EXPANSION } from '../limits.ts';
import { damaged } from './bounds.ts';

/**
 * The lz4 frame format, as far as it can be read without decoding: a descriptor, then blocks of a
 * length and that many bytes each, then an empty block.
 */
export interface Lz4Frame {
  readonly blocks: readonly Lz4Block[];
  /** Bytes that no block exceeds when decoded. */
  readonly blockMaxBytes: number;
  /** Bytes that the frame cannot exceed when decoded. */
  readonly boundBytes: number;
  /** As the frame says; null when it does not. */
  readonly contentBytes: number | null;
  /** Every block stands for itself and nothing has a checksum: what Kafka's clients write. */
  readonly isPlain: boolean;
  /** Where the frame ends. What follows it is not looked at, as in Kafka's own reader. */
  readonly end: number;
}

export interface Lz4Block {
  readonly start: number;
  readonly end: number;
  readonly isStored: boolean;
}

const MAGIC = 0x184d2204;
const VERSION = 1;
/** Magic, flags, block size and header checksum; the content size comes before the last. */
const DESCRIPTOR_BYTES = 7;
const CONTENT_SIZE_BYTES = 8;
const BLOCK_HEADER_BYTES = 4;
const CHECKSUM_BYTES = 4;
const INDEPENDENT_BLOCKS_FLAG = 0x20;
const BLOCK_CHECKSUM_FLAG = 0x10;
const CONTENT_SIZE_FLAG = 0x08;
const CONTENT_CHECKSUM_FLAG = 0x04;
const DICTIONARY_FLAG = 0x01;
/** Set in a block's header: stored as it is. */
const STORED_BIT = 0x80000000;
/** By the three bits of the block size byte, from 4 on. */
const BLOCK_MAX_BYTES = [64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024];

/** Bytes that the block cannot exceed when decoded. */
export function blockBoundBytes({ start, end, isStored }: Lz4Block, blockMaxBytes: number): number {
  const size = end - start;
  return isStored ? size : Math.min(blockMaxBytes, size * LZ4_MAX_EXPANSION);
}

/** Walks the block headers; throws CorruptRecordError when they lead out of `source`. */
export function readLz4Frame(source: Buffer, what: string): Lz4Frame {
  if (source.length < DESCRIPTOR_BYTES || source.readUInt32LE(0) !== MAGIC) {
    throw damaged('lz4', what, 'no frame starts here');
  }
  const flags = source[4] as number;
  const blockMaxBytes = BLOCK_MAX_BYTES[(((source[5] as number) >> 4) & 0x07) - 4];
  if (flags >> 6 !== VERSION || blockMaxBytes === undefined) {
    throw damaged('lz4', what, `frame descriptor ${source.toString('hex', 4, 6)}`);
  }
  if ((flags & DICTIONARY_FLAG) !== 0) throw damaged('lz4', what, 'the frame wants a dictionary');
  const hasBlockChecksum = (flags & BLOCK_CHECKSUM_FLAG) !== 0;
  const hasContentChecksum = (flags & CONTENT_CHECKSUM_FLAG) !== 0;

  let position = DESCRIPTOR_BYTES;
  let contentBytes: number | null = null;
  if ((flags & CONTENT_SIZE_FLAG) !== 0) {
    position += CONTENT_SIZE_BYTES;
    if (position > source.length) throw damaged('lz4', what, 'cut off inside its descriptor');
    contentBytes = Number(source.readBigUInt64LE(6));
  }
  const blocks: Lz4Block[] = [];
  let boundBytes = 0;
  for (;;) {
    if (source.length - position < BLOCK_HEADER_BYTES) {
      throw damaged('lz4', what, `cut off before a block at byte ${position}`);
    }
    const header = source.readUInt32LE(position);
    position += BLOCK_HEADER_BYTES;
    if (header === 0) break;
    const isStored = header >= STORED_BIT;
    const size = header & 0x7fffffff;
    if (size > blockMaxBytes || size > source.length - position) {
      throw damaged('lz4', what, `a block of ${size} bytes at byte ${position} does not fit`);
    }
    const end = position + size;
    const block = { start: position, end, isStored };
    blocks.push(block);
    boundBytes += blockBoundBytes(block, blockMaxBytes);
    position = end + (hasBlockChecksum ? CHECKSUM_BYTES : 0);
  }
  const end = position + (hasContentChecksum ? CHECKSUM_BYTES : 0);
  if (end > source.length) throw damaged('lz4', what, 'cut off before its checksum');
  const isIndependent = (flags & INDEPENDENT_BLOCKS_FLAG) !== 0;
  const isPlain = isIndependent && !hasBlockChecksum && !hasContentChecksum;
  return { blocks, blockMaxBytes, boundBytes, contentBytes, isPlain, end };
}
