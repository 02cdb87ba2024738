import { StorageFullError } from '../../errors.ts';
import {
  ROW_CHUNK_BYTES,
  ROW_CHUNK_MIN_BYTES,
  ROW_CHUNKS_MAX,
  ROW_EXACT_MAX_BYTES,
} from '../limits.ts';

/** A block begins at a multiple of so many bytes, and its address counts them. */
export const UNIT_BYTES = 8;
const UNIT_SHIFT = 3;
/** Units of a chunk: an address is the chunk's number, then the unit in it. */
export const CHUNK_UNITS = ROW_CHUNK_BYTES / UNIT_BYTES;
export const CHUNK_SHIFT = Math.log2(CHUNK_UNITS);
const EXACT_CLASSES = ROW_EXACT_MAX_BYTES / UNIT_BYTES;
/** Above the exact classes there are four for each power of two. */
const STEPS = 4;
const CLASSES = EXACT_CLASSES + STEPS * Math.log2(ROW_CHUNK_BYTES) + STEPS;
const EMPTY = Buffer.alloc(0);

/**
 * Memory outside of V8's heap for many small blocks of bytes: the garbage collector neither walks nor
 * moves what is in it. A block is known by its address, an int32; 0 is none.
 *
 * It comes in chunks. The first one grows by doubling, so that a small store takes little; a block that is
 * larger than a chunk has one of its own. What is freed is used again for blocks of the same size class.
 */
export class RowMemory {
  /** By chunk: the same memory as bytes, as int32s and as float64s. */
  readonly bytes: Buffer[] = [];
  readonly ints: Int32Array[] = [];
  readonly floats: Float64Array[] = [];
  /** By size class: the first free block, each of which begins with the address of the next. */
  readonly #free = new Int32Array(CLASSES);
  /** Numbers of chunks that were for one large block. */
  readonly #freeChunks: number[] = [];
  /** Numbers of chunks with memory that nothing was taken from since the last reset. */
  readonly #readyChunks: number[] = [];
  #top = 1;
  #topChunk = 0;
  #takenBytes = 0;

  readonly #maxChunks: number;

  constructor(maxChunks = ROW_CHUNKS_MAX) {
    this.#maxChunks = maxChunks;
    this.#setChunk(0, ROW_CHUNK_MIN_BYTES);
  }

  /** What the blocks in use take, bytes. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /** How many bytes a block has that is asked for with so many. */
  static blockBytes(bytes: number): number {
    if (bytes <= ROW_EXACT_MAX_BYTES) return (bytes + UNIT_BYTES - 1) & -UNIT_BYTES;
    const step = 2 ** Math.floor(Math.log2(bytes - 1)) / STEPS;
    return Math.ceil(bytes / step) * step;
  }

  /**
   * The address of a block of `blockBytes(bytes)`, with anything in it.
   *
   * @throws StorageFullError when all addresses are taken; what is there stays as it is
   */
  take(bytes: number): number {
    const size = RowMemory.blockBytes(bytes);
    const address = size > ROW_CHUNK_BYTES / 2 ? this.#takeChunk(size) : this.#takeBlock(size);
    this.#takenBytes += size;
    return address;
  }

  /** @param bytes as it was asked for, or its block's */
  give(address: number, bytes: number): void {
    const size = RowMemory.blockBytes(bytes);
    this.#takenBytes -= size;
    const chunk = address >>> CHUNK_SHIFT;
    if (size > ROW_CHUNK_BYTES / 2) {
      this.#release(chunk);
      return;
    }
    const sizeClass = classOf(size);
    (this.ints[chunk] as Int32Array)[(address & (CHUNK_UNITS - 1)) << 1] = this.#free[
      sizeClass
    ] as number;
    this.#free[sizeClass] = address;
  }

  /** What the chunks take, whether or not blocks are in use, bytes. */
  get reservedBytes(): number {
    let sum = 0;
    for (const { length } of this.bytes) sum += length;
    return sum;
  }

  /** Gives back all blocks, and keeps the chunks for those to come. */
  reset(): void {
    this.#free.fill(0);
    this.#freeChunks.length = 0;
    this.#readyChunks.length = 0;
    for (let chunk = this.bytes.length - 1; chunk > 0; chunk--) {
      if ((this.bytes[chunk] as Buffer).length === ROW_CHUNK_BYTES) this.#readyChunks.push(chunk);
      else this.#release(chunk);
    }
    this.#top = 1;
    this.#topChunk = 0;
    this.#takenBytes = 0;
  }

  clear(): void {
    this.bytes.length = 0;
    this.ints.length = 0;
    this.floats.length = 0;
    this.#free.fill(0);
    this.#freeChunks.length = 0;
    this.#readyChunks.length = 0;
    this.#setChunk(0, ROW_CHUNK_MIN_BYTES);
    this.#top = 1;
    this.#topChunk = 0;
    this.#takenBytes = 0;
  }

  #takeBlock(size: number): number {
    const sizeClass = classOf(size);
    const free = this.#free[sizeClass] as number;
    if (free === 0) return this.#takeTop(size);
    this.#free[sizeClass] = this.#next(free);
    return free;
  }

  #next(address: number): number {
    const ints = this.ints[address >>> CHUNK_SHIFT] as Int32Array;
    return ints[(address & (CHUNK_UNITS - 1)) << 1] as number;
  }

  #takeTop(size: number): number {
    const units = size >>> UNIT_SHIFT;
    while (this.#top + units > (this.bytes[this.#topChunk] as Buffer).length >>> UNIT_SHIFT) {
      this.#grow();
    }
    const address = (this.#topChunk << CHUNK_SHIFT) | this.#top;
    this.#top += units;
    return address;
  }

  #grow(): void {
    const { length } = this.bytes[this.#topChunk] as Buffer;
    if (length < ROW_CHUNK_BYTES) {
      const before = this.bytes[this.#topChunk] as Buffer;
      this.#setChunk(this.#topChunk, length * 2);
      before.copy(this.bytes[this.#topChunk] as Buffer);
      return;
    }
    const ready = this.#readyChunks.pop();
    this.#topChunk = ready ?? this.#freeChunk();
    this.#top = 0;
    if (ready === undefined) this.#setChunk(this.#topChunk, ROW_CHUNK_BYTES);
  }

  #takeChunk(size: number): number {
    const chunk = this.#freeChunk();
    this.#setChunk(chunk, size);
    return chunk << CHUNK_SHIFT;
  }

  #freeChunk(): number {
    const free = this.#freeChunks.pop();
    if (free !== undefined) return free;
    if (this.bytes.length < this.#maxChunks) return this.bytes.length;
    throw new StorageFullError(
      `The rows of one store take ${String(this.#takenBytes)} bytes of memory, which is as much as can be. ` +
        'Use a persistent store, or more partitions.',
      { context: { takenBytes: this.#takenBytes } },
    );
  }

  #release(chunk: number): void {
    this.bytes[chunk] = EMPTY;
    this.ints[chunk] = new Int32Array(0);
    this.floats[chunk] = new Float64Array(0);
    this.#freeChunks.push(chunk);
  }

  #setChunk(chunk: number, size: number): void {
    const bytes = Buffer.allocUnsafeSlow(size);
    this.bytes[chunk] = bytes;
    this.ints[chunk] = new Int32Array(bytes.buffer, 0, size / Int32Array.BYTES_PER_ELEMENT);
    this.floats[chunk] = new Float64Array(bytes.buffer, 0, size / Float64Array.BYTES_PER_ELEMENT);
  }
}

function classOf(size: number): number {
  if (size <= ROW_EXACT_MAX_BYTES) return size >>> UNIT_SHIFT;
  const power = Math.floor(Math.log2(size - 1));
  const step = 2 ** power / STEPS;
  return EXACT_CLASSES + power * STEPS + (size - 2 ** power) / step;
}
