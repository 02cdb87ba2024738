import type { Decoder, Encoder } from '@toondepauw/node-zstd';
import { ZSTD_MAX_BLOCK_BYTES } from '../limits.ts';
import { damaged, messageOf, tooLarge } from './bounds.ts';
import { zstdLibrary } from './libraries.ts';

/** RFC 8878. Java's clients write one frame without content size; several may follow each other. */
const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const SKIPPABLE_MASK = 0xfffffff0;
const BLOCK_HEADER_BYTES = 3;
const CHECKSUM_BYTES = 4;
const DEFAULT_LEVEL = 3;
const RAW_BLOCK = 0;
const RLE_BLOCK = 1;
const COMPRESSED_BLOCK = 2;
/** By the descriptor's upper two bits; 0 means one byte in a single-segment frame. */
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];

const encoders = new Map<number, Encoder>();
let decoder: Decoder | null = null;

export function compressZstd(source: Buffer, level = DEFAULT_LEVEL): Buffer {
  let encoder = encoders.get(level);
  if (encoder === undefined) encoders.set(level, (encoder = new (zstdLibrary().Encoder)(level)));
  return encoder.encodeSync(source);
}

export function decompressZstd(source: Buffer, maxBytes: number, what: string): Buffer {
  const bound = measureFrames(source, maxBytes, what);
  // The last block is rarely full: allow for one here, and look again afterwards.
  if (bound > maxBytes + ZSTD_MAX_BLOCK_BYTES) throw tooLarge('zstd', what, bound, maxBytes);
  decoder ??= new (zstdLibrary().Decoder)();
  let result: Buffer;
  try {
    result = decoder.decodeSync(source);
  } catch (error) {
    throw damaged('zstd', what, messageOf(error), error);
  }
  if (result.length > maxBytes) throw tooLarge('zstd', what, result.length, maxBytes);
  return result;
}

/** Bytes that the frames cannot exceed when decoded, from their headers alone. */
function measureFrames(source: Buffer, maxBytes: number, what: string): number {
  const frames = { position: 0, bound: 0 };
  while (frames.position < source.length) {
    const position = frames.position;
    need(source, position, 4, what);
    const magic = source.readUInt32LE(position);
    if ((magic & SKIPPABLE_MASK) >>> 0 === SKIPPABLE_MAGIC) {
      need(source, position, 8, what);
      const size = source.readUInt32LE(position + 4);
      need(source, position + 8, size, what);
      frames.position = position + 8 + size;
    } else if (magic === MAGIC) {
      measureFrame(source, frames, maxBytes, what);
    } else {
      throw damaged('zstd', what, `no frame starts at byte ${position}`);
    }
  }
  if (source.length === 0) throw damaged('zstd', what, 'it is empty');
  return frames.bound;
}

function measureFrame(
  source: Buffer,
  frames: { position: number; bound: number },
  maxBytes: number,
  what: string,
): void {
  let position = frames.position + 4;
  need(source, position, 1, what);
  const descriptor = source[position++] as number;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const hasChecksum = (descriptor & 0x04) !== 0;
  if ((descriptor & 0x08) !== 0) throw damaged('zstd', what, 'a reserved bit is set');

  if (!isSingleSegment) position++; // The window: blocks are bounded without it.
  const dictionaryBytes = DICTIONARY_ID_BYTES[descriptor & 0x03] as number;
  need(source, position, dictionaryBytes, what);
  if (source.subarray(position, position + dictionaryBytes).some((byte) => byte !== 0)) {
    throw damaged('zstd', what, 'the frame wants a dictionary');
  }
  position += dictionaryBytes;
  const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] || (isSingleSegment ? 1 : 0);
  need(source, position, sizeBytes, what);
  const contentSize = readContentSize(source, position, sizeBytes);
  if (contentSize > maxBytes) throw tooLarge('zstd', what, contentSize, maxBytes);
  position += sizeBytes;

  for (let isLast = false; !isLast;) {
    need(source, position, BLOCK_HEADER_BYTES, what);
    const header = source.readUIntLE(position, BLOCK_HEADER_BYTES);
    position += BLOCK_HEADER_BYTES;
    isLast = (header & 1) !== 0;
    const type = (header >> 1) & 0x03;
    const size = header >>> 3;
    if (size > ZSTD_MAX_BLOCK_BYTES || type > COMPRESSED_BLOCK) {
      throw damaged('zstd', what, `block header ${header.toString(16)} before byte ${position}`);
    }
    const stored = type === RLE_BLOCK ? 1 : size;
    need(source, position, stored, what);
    position += stored;
    // Raw and run-length blocks say what they yield; a compressed one yields a block at most.
    frames.bound += type === RAW_BLOCK || type === RLE_BLOCK ? size : ZSTD_MAX_BLOCK_BYTES;
  }
  if (hasChecksum) {
    need(source, position, CHECKSUM_BYTES, what);
    position += CHECKSUM_BYTES;
  }
  frames.position = position;
}

function readContentSize(source: Buffer, position: number, bytes: number): number {
  switch (bytes) {
    case 1:
      return source.readUInt8(position);
    case 2:
      return source.readUInt16LE(position) + 256;
    case 4:
      return source.readUInt32LE(position);
    case 8:
      return Number(source.readBigUInt64LE(position));
    default:
      return 0;
  }
}

function need(source: Buffer, position: number, bytes: number, what: string): void {
  if (bytes > source.length - position) {
    throw damaged('zstd', what, `cut off at byte ${source.length}`);
  }
}
