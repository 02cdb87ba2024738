import { LZ4_BLOCK_CODE } from './lz4-block-code.ts';

/** What Node has of the global and its type definitions lack. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

/** See assembly/lz4-block.ts. Arguments are addresses in `memory`. */
interface BlockCodec {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  decode(source: number, end: number, target: number, limit: number): number;
  encode(source: number, end: number, target: number): number;
}

const PAGE_BYTES = 65_536;
/** Where the codec's own table ends and input begins. */
const SOURCE_AT = 16_384;
/** The codec moves whole words, so it reads and writes a little beyond. */
const SLACK_BYTES = 64;
/** An encoded block may be larger than its input by one byte in 255. */
const GROWTH_SHIFT = 7;

let codec: BlockCodec | null = null;
let memory = Buffer.alloc(0);

/** Where output begins: the memory then holds `sourceBytes` of input and `targetBytes` of output. */
function makeRoom(sourceBytes: number, targetBytes: number): number {
  if (codec === null) {
    const module = new WebAssembly.Module(Buffer.from(LZ4_BLOCK_CODE, 'base64'));
    codec = new WebAssembly.Instance(module).exports as BlockCodec;
  }
  const targetAt = SOURCE_AT + sourceBytes + SLACK_BYTES;
  const missing = targetAt + targetBytes + SLACK_BYTES - codec.memory.buffer.byteLength;
  if (missing > 0) codec.memory.grow(Math.ceil(missing / PAGE_BYTES));
  // Growing makes another buffer of it.
  if (memory.buffer !== codec.memory.buffer) memory = Buffer.from(codec.memory.buffer);
  return targetAt;
}

/**
 * Decodes a block into `target` from `position` on and returns where it ends there; -1: it is damaged, or
 * yields more than `maxBytes`, which the target must have room for. Memory for input and output stays
 * allocated: that of the largest block so far, and no frame has blocks of more than 4 MiB.
 */
export function decodeLz4Block(
  block: Buffer,
  target: Buffer,
  position: number,
  maxBytes: number,
): number {
  const targetAt = makeRoom(block.length, maxBytes);
  memory.set(block, SOURCE_AT);
  const sourceEnd = SOURCE_AT + block.length;
  const length = (codec as BlockCodec).decode(SOURCE_AT, sourceEnd, targetAt, targetAt + maxBytes);
  if (length < 0) return -1;
  memory.copy(target, position, targetAt, targetAt + length);
  return position + length;
}

/**
 * Encodes at most 64 KiB as a block into `target` from `position` on and returns where it ends there; -1: it
 * would not be smaller than its input, and is not written.
 */
export function encodeLz4Block(input: Buffer, target: Buffer, position: number): number {
  const { length } = input;
  const targetAt = makeRoom(length, length + (length >>> GROWTH_SHIFT));
  memory.set(input, SOURCE_AT);
  const encoded = (codec as BlockCodec).encode(SOURCE_AT, SOURCE_AT + length, targetAt);
  if (encoded >= length) return -1;
  memory.copy(target, position, targetAt, targetAt + encoded);
  return position + encoded;
}
