import { compressSync, decompressFrameSync, uncompressSync } from 'lz4-napi';
import { LZ4_BLOCK_BYTES, LZ4_MAX_EXPANSION } from '../limits.ts';
import { damaged, messageOf, tooLarge } from './bounds.ts';
import { type Lz4Block, type Lz4Frame, readLz4Frame } from './lz4-frame.ts';

/**
 * Frames are put together and taken apart here and only the blocks go through the library: its
 * own frame functions are three times slower on the sizes that batches have.
 *
 * Magic, version 1 with independent blocks and no checksum (the batch has one), blocks of 64 KiB,
 * and the checksum of these two bytes: the frame that Kafka's Java clients start with. The level
 * that Java knows has no counterpart.
 */
const FRAME_START = Buffer.from('04224d18604082', 'hex');
const FRAME_END = Buffer.alloc(4);
const STORED_BIT = 0x80000000;
/** The library's blocks start with the decoded size; a bound will do when decoding. */
const SIZE_PREFIX_BYTES = 4;

let scratch = Buffer.alloc(0);

export function compressLz4(source: Buffer): Buffer {
  const parts: Buffer[] = [FRAME_START];
  for (let start = 0; start < source.length; start += LZ4_BLOCK_BYTES) {
    const input = source.subarray(start, start + LZ4_BLOCK_BYTES);
    const block = compressSync(input);
    const size = block.length - SIZE_PREFIX_BYTES;
    const isStored = size >= input.length;
    const header = Buffer.allocUnsafe(4);
    header.writeUInt32LE(isStored ? input.length + STORED_BIT : size);
    parts.push(header, isStored ? input : block.subarray(SIZE_PREFIX_BYTES));
  }
  parts.push(FRAME_END);
  return Buffer.concat(parts);
}

export function decompressLz4(source: Buffer, maxBytes: number, what: string): Buffer {
  const frame = readLz4Frame(source, what);
  if (frame.contentBytes !== null && frame.contentBytes > maxBytes) {
    throw tooLarge('lz4', what, frame.contentBytes, maxBytes);
  }
  // A frame's last block may be partly filled: allow for it here, and look again afterwards.
  if (frame.boundBytes > maxBytes + frame.blockMaxBytes) {
    throw tooLarge('lz4', what, frame.boundBytes, maxBytes);
  }
  let result: Buffer;
  try {
    result = frame.isPlain
      ? decodeBlocks(source, frame)
      : decompressFrameSync(source.subarray(0, frame.end));
  } catch (error) {
    throw damaged('lz4', what, messageOf(error), error);
  }
  if (frame.contentBytes !== null && frame.contentBytes !== result.length) {
    const detail = `${result.length} bytes where the frame says ${frame.contentBytes}`;
    throw damaged('lz4', what, detail);
  }
  if (result.length > maxBytes) throw tooLarge('lz4', what, result.length, maxBytes);
  return result;
}

function decodeBlocks(source: Buffer, frame: Lz4Frame): Buffer {
  const parts: Buffer[] = [];
  for (const block of frame.blocks) {
    parts.push(
      block.isStored
        ? source.subarray(block.start, block.end)
        : decodeBlock(source, block, frame.blockMaxBytes),
    );
  }
  // A stored block alone is still a view of the source: the copy makes the result its own.
  const only = parts.length === 1 && frame.blocks[0]?.isStored === false ? parts[0] : undefined;
  return only ?? Buffer.concat(parts);
}

function decodeBlock(source: Buffer, block: Lz4Block, blockMaxBytes: number): Buffer {
  const size = block.end - block.start;
  const needed = SIZE_PREFIX_BYTES + size;
  if (scratch.length < needed) {
    scratch = Buffer.allocUnsafeSlow(Math.max(needed, SIZE_PREFIX_BYTES + LZ4_BLOCK_BYTES));
  }
  scratch.writeUInt32LE(Math.min(blockMaxBytes, size * LZ4_MAX_EXPANSION), 0);
  source.copy(scratch, SIZE_PREFIX_BYTES, block.start, block.end);
  return uncompressSync(scratch.subarray(0, needed));
}
