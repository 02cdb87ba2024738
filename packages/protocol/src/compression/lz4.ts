import { LZ4_BLOCK_BYTES } from '../limits.ts';
import { damaged, messageOf, tooLarge } from './bounds.ts';
import { lz4Library } from './libraries.ts';
import { decodeLz4Block, encodeLz4Block } from './lz4-block.ts';
import { type Lz4Block, type Lz4Frame, blockBoundBytes, readLz4Frame } from './lz4-frame.ts';

/**
 * Magic, version 1 with independent blocks and no checksum (the batch has one), blocks of 64 KiB,
 * and the checksum of these two bytes: the frame that Kafka's Java clients start with. The level
 * that Java knows has no counterpart.
 */
const FRAME_START = Buffer.from('04224d18604082', 'hex');
const FRAME_END_BYTES = 4;
const BLOCK_HEADER_BYTES = 4;
const STORED_BIT = 0x80000000;

/** `room`: the result lies in it, if it is large enough for what does not get smaller. */
export function compressLz4(source: Buffer, room?: Buffer): Buffer {
  const blockCount = Math.ceil(source.length / LZ4_BLOCK_BYTES);
  const mostBytes =
    FRAME_START.length + blockCount * BLOCK_HEADER_BYTES + source.length + FRAME_END_BYTES;
  const isInRoom = room !== undefined && room.length >= mostBytes;
  const frame = isInRoom ? room : Buffer.allocUnsafe(mostBytes);
  let position = FRAME_START.copy(frame);
  for (let start = 0; start < source.length; start += LZ4_BLOCK_BYTES) {
    const input = source.subarray(start, start + LZ4_BLOCK_BYTES);
    const blockAt = position + BLOCK_HEADER_BYTES;
    const blockEnd = encodeLz4Block(input, frame, blockAt);
    if (blockEnd < 0) {
      frame.writeUInt32LE(input.length + STORED_BIT, position);
      position = blockAt + input.copy(frame, blockAt);
    } else {
      frame.writeUInt32LE(blockEnd - blockAt, position);
      position = blockEnd;
    }
  }
  frame.writeUInt32LE(0, position);
  return frame.subarray(0, position + FRAME_END_BYTES);
}

/** `room`: the result may lie in it, if it is large enough. */
export function decompressLz4(
  source: Buffer,
  maxBytes: number,
  what: string,
  room?: Buffer,
): Buffer {
  const frame = readLz4Frame(source, what);
  if (frame.contentBytes !== null && frame.contentBytes > maxBytes) {
    throw tooLarge('lz4', what, frame.contentBytes, maxBytes);
  }
  // A frame's last block may be partly filled: allow for it here, and look again afterwards.
  if (frame.boundBytes > maxBytes + frame.blockMaxBytes) {
    throw tooLarge('lz4', what, frame.boundBytes, maxBytes);
  }
  const result = frame.isPlain
    ? decodeBlocks(source, frame, what, room)
    : decodeByLibrary(source, frame, what);
  if (frame.contentBytes !== null && frame.contentBytes !== result.length) {
    const detail = `${result.length} bytes where the frame says ${frame.contentBytes}`;
    throw damaged('lz4', what, detail);
  }
  if (result.length > maxBytes) throw tooLarge('lz4', what, result.length, maxBytes);
  return result;
}

/** Linked blocks and checksums, which Kafka's own clients don't write. */
function decodeByLibrary(source: Buffer, frame: Lz4Frame, what: string): Buffer {
  const { decompressFrameSync } = lz4Library();
  try {
    return decompressFrameSync(source.subarray(0, frame.end));
  } catch (error) {
    throw damaged('lz4', what, messageOf(error), error);
  }
}

function decodeBlocks(source: Buffer, frame: Lz4Frame, what: string, room?: Buffer): Buffer {
  const { boundBytes } = frame;
  const isInRoom = room !== undefined && room.length >= boundBytes;
  const target = isInRoom ? room : Buffer.allocUnsafeSlow(boundBytes);
  let end = 0;
  for (const block of frame.blocks) end = decodeBlock(source, frame, block, target, end, what);
  const result = target.subarray(0, end);
  // What has to last must not hold on to a bound that is far from what came of it.
  return isInRoom || end > boundBytes / 2 ? result : Buffer.from(result);
}

function decodeBlock(
  source: Buffer,
  frame: Lz4Frame,
  block: Lz4Block,
  target: Buffer,
  position: number,
  what: string,
): number {
  const { start, end, isStored } = block;
  if (isStored) return position + source.copy(target, position, start, end);
  const bound = blockBoundBytes(block, frame.blockMaxBytes);
  const after = decodeLz4Block(source.subarray(start, end), target, position, bound);
  if (after < 0) throw damaged('lz4', what, `in the block at byte ${start}`);
  return after;
}
