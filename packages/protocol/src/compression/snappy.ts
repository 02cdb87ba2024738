import { SNAPPY_BLOCK_BYTES, SNAPPY_MAX_EXPANSION } from '../limits.ts';
import { damaged, messageOf, tooLarge } from './bounds.ts';
import { snappyLibrary } from './libraries.ts';

/**
 * Java clients write snappy in the framing of xerial's stream classes: a header (magic, version 1,
 * compatible with 1), then blocks of an int32 length and that many bytes of raw snappy. Some other
 * clients write one raw block; both are read, the framing is written.
 */
const MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const HEADER = Buffer.concat([MAGIC, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])]);
const LENGTH_BYTES = 4;
/** Handing out the library's own memory instead is ten times slower than a copy. */
const COPY_OUT = { copyOutputData: true };
const MAX_PREAMBLE_BYTES = 5;

export function compressSnappy(source: Buffer): Buffer {
  const { compressSync } = snappyLibrary();
  const parts: Buffer[] = [HEADER];
  for (let start = 0; start < source.length; start += SNAPPY_BLOCK_BYTES) {
    const block = compressSync(source.subarray(start, start + SNAPPY_BLOCK_BYTES), COPY_OUT);
    const length = Buffer.allocUnsafe(LENGTH_BYTES);
    length.writeInt32BE(block.length);
    parts.push(length, block);
  }
  return Buffer.concat(parts);
}

export function decompressSnappy(source: Buffer, maxBytes: number, what: string): Buffer {
  const blocks = isFramed(source, 0) ? splitBlocks(source, what) : [source];
  // Every block says first what it yields: the sum is known before anything is decoded.
  let total = 0;
  for (const block of blocks) total += uncompressedLength(block, what);
  if (total > maxBytes) throw tooLarge('snappy', what, total, maxBytes);
  const { uncompressSync } = snappyLibrary();
  try {
    const parts = blocks.map((block) => uncompressSync(block, COPY_OUT) as Buffer);
    return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, total);
  } catch (error) {
    throw damaged('snappy', what, messageOf(error), error);
  }
}

function isFramed(source: Buffer, position: number): boolean {
  const end = position + HEADER.length;
  return (
    end <= source.length && source.compare(MAGIC, 0, MAGIC.length, position, position + 8) === 0
  );
}

function splitBlocks(source: Buffer, what: string): Buffer[] {
  const blocks: Buffer[] = [];
  let position = HEADER.length;
  while (position < source.length) {
    // Streams may simply follow each other, each with its header.
    if (isFramed(source, position)) {
      position += HEADER.length;
      continue;
    }
    if (source.length - position < LENGTH_BYTES) {
      throw damaged('snappy', what, `cut off inside a block length at byte ${position}`);
    }
    const length = source.readInt32BE(position);
    position += LENGTH_BYTES;
    if (length < 0 || length > source.length - position) {
      throw damaged('snappy', what, `a block of ${length} bytes at byte ${position} is cut off`);
    }
    blocks.push(source.subarray(position, position + length));
    position += length;
  }
  return blocks;
}

/** The varint before a raw block; refused if no block of this size can yield so much. */
function uncompressedLength(block: Buffer, what: string): number {
  let length = 0;
  for (let i = 0; i < MAX_PREAMBLE_BYTES; i++) {
    const byte = block[i];
    if (byte === undefined) break;
    length += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) {
      if (length > block.length * SNAPPY_MAX_EXPANSION) break;
      return length;
    }
  }
  throw damaged('snappy', what, `no block of ${block.length} bytes can start like this`);
}
