import { ROW_INLINE_VALUE_MAX_BYTES, ROW_SLOTS_MIN } from '../limits.ts';
import type { ByteSpan } from './byte-span.ts';
import { copyBytes } from './copy-bytes.ts';
import { hashBytes } from './hash-bytes.ts';
import { CHUNK_SHIFT, CHUNK_UNITS, RowMemory, UNIT_BYTES } from './row-memory.ts';

/** Of a row that is not there. */
export const NO_ROW = 0;

/*
 * A row in memory, by int32:
 *   0  length of the key
 *   1  length of the value, -1: none
 *   2  marks (low byte), room for the value behind the key (the other three)
 *   3  address of the value if it has outgrown that room, else 0; such a block begins with its size
 *   4  timestamp, a float64
 *   6  address of the value that was kept beside it, else 0
 *   7  what whoever uses the table keeps of each row, if anything; the key's bytes, then the value's
 */
const KEY_LENGTH = 0;
const VALUE_LENGTH = 1;
const MARKS_AND_ROOM = 2;
const OUTSIDE = 3;
const KEPT = 6;
const HEAD_BYTES = 28;
/** First int32 of a row that belongs to whoever uses the table, if it asked for some. */
export const ROW_EXTRA_INT = 7;
const TIMESTAMP_FLOATS = 2;
const MARKS_MASK = 0xff;
const ROOM_SHIFT = 8;
/** The head of a block that holds a value. */
const BLOCK_HEAD_BYTES = 8;
/** The head of a block with a value that is kept beside: its size, length of the value, timestamp. */
const KEPT_HEAD_BYTES = 16;
const KEPT_LENGTH = 1;
const KEPT_TIMESTAMP_FLOATS = 1;
/** A value that has grown out of its place once is given more than it needs. */
const GROWTH = 1.25;
const MAX_LOAD = 0.75;
const TRIM_LOAD = 0.1;
const NO_VALUE = -1;

/**
 * Rows of key and value bytes outside of V8's heap, found by a hash of the key's bytes. A row takes about
 * 30 bytes beside its key and value, and two looks into memory to be found. It stays at its address until it
 * is removed.
 */
export class RowTable {
  readonly memory = new RowMemory();
  /** By slot: hash, then address of the row; open addressing, next slot first. */
  #slots = new Int32Array(2 * ROW_SLOTS_MIN);
  #mask = ROW_SLOTS_MIN - 1;
  #count = 0;
  #lastHash = 0;
  readonly #span: ByteSpan = { buffer: Buffer.alloc(0), start: 0, end: 0 };
  readonly #headBytes: number;

  /** @param extraBytes of each row for whoever uses the table, from `ROW_EXTRA_INT` on; a multiple of 4 */
  constructor(extraBytes = 0) {
    this.#headBytes = HEAD_BYTES + extraBytes;
  }

  get rowCount(): number {
    return this.#count;
  }

  /** What rows and slots take, bytes. */
  get bytes(): number {
    return this.memory.takenBytes + this.#slots.byteLength;
  }

  find(source: Buffer, start: number, end: number): number {
    this.#lastHash = hashBytes(source, start, end);
    return this.#find(this.#lastHash, source, start, end);
  }

  /** The row of this key, which has no value if it is new. */
  findOrAdd(source: Buffer, start: number, end: number, valueBytes: number): number {
    const hash = hashBytes(source, start, end);
    const found = this.#find(hash, source, start, end);
    if (found !== NO_ROW) return found;
    return this.#add(hash, source, start, end, valueBytes);
  }

  /** A row of the key that `find` was called with last, and did not find. */
  addMissing(source: Buffer, start: number, end: number, valueBytes: number): number {
    return this.#add(this.#lastHash, source, start, end, valueBytes);
  }

  /** A row that is not found; its key may be that of another one. */
  addUnlisted(source: Buffer, start: number, end: number, valueBytes: number): number {
    const keyLength = end - start;
    const room = valueBytes > ROW_INLINE_VALUE_MAX_BYTES ? 0 : valueBytes;
    const size = RowMemory.blockBytes(this.#headBytes + keyLength + room);
    const row = this.memory.take(size);
    const ints = this.#ints(row);
    const at = intOf(row);
    ints[at + KEY_LENGTH] = keyLength;
    ints[at + VALUE_LENGTH] = NO_VALUE;
    // The block may be larger than was asked for.
    const free = Math.min(size - this.#headBytes - keyLength, ROW_INLINE_VALUE_MAX_BYTES);
    ints[at + MARKS_AND_ROOM] = free << ROOM_SHIFT;
    ints[at + OUTSIDE] = NO_ROW;
    ints[at + KEPT] = NO_ROW;
    copyBytes(source, start, end, this.#bytes(row), byteOf(row) + this.#headBytes);
    return row;
  }

  /** From now on, another row of the same key is found in place of this one. */
  relist(row: number, other: number): void {
    this.#slots[2 * this.#slotOf(row) + 1] = other;
  }

  /** Its memory will be used again. */
  remove(row: number): void {
    this.unlist(row);
    this.release(row);
  }

  /** It is not found any more, but stays where it is until `release`. */
  unlist(row: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = this.#slotOf(row);
    // Rows behind it that would not be found over a gap move up.
    for (let next = (slot + 1) & mask; slots[2 * next + 1] !== NO_ROW; next = (next + 1) & mask) {
      const home = (slots[2 * next] as number) & mask;
      if (((next - home) & mask) < ((next - slot) & mask)) continue;
      slots[2 * slot] = slots[2 * next] as number;
      slots[2 * slot + 1] = slots[2 * next + 1] as number;
      slot = next;
    }
    slots[2 * slot + 1] = NO_ROW;
    this.#count--;
  }

  release(row: number): void {
    this.#releaseOutside(row);
    this.dropKept(row);
    const ints = this.#ints(row);
    const at = intOf(row);
    const room = (ints[at + MARKS_AND_ROOM] as number) >>> ROOM_SHIFT;
    this.memory.give(row, this.#headBytes + (ints[at + KEY_LENGTH] as number) + room);
  }

  /** As `clear`, but keeps all memory for the rows to come. */
  reset(): void {
    this.memory.reset();
    this.#slots.fill(0);
    this.#count = 0;
  }

  clear(): void {
    this.memory.clear();
    this.#slots = new Int32Array(2 * ROW_SLOTS_MIN);
    this.#mask = ROW_SLOTS_MIN - 1;
    this.#count = 0;
  }

  /** Where the row's key is; valid until the next call. */
  key(row: number): ByteSpan {
    const span = this.#span;
    span.buffer = this.#bytes(row);
    span.start = byteOf(row) + this.#headBytes;
    span.end = span.start + (this.#ints(row)[intOf(row) + KEY_LENGTH] as number);
    return span;
  }

  hasValue(row: number): boolean {
    return this.#ints(row)[intOf(row) + VALUE_LENGTH] !== NO_VALUE;
  }

  /** Where the row's value is, if it has one; valid until the next call. */
  value(row: number): ByteSpan {
    const span = this.#span;
    const ints = this.#ints(row);
    const at = intOf(row);
    const outside = ints[at + OUTSIDE] as number;
    if (outside === NO_ROW) {
      span.buffer = this.#bytes(row);
      span.start = byteOf(row) + this.#headBytes + (ints[at + KEY_LENGTH] as number);
    } else {
      span.buffer = this.#bytes(outside);
      span.start = byteOf(outside) + BLOCK_HEAD_BYTES;
    }
    span.end = span.start + (ints[at + VALUE_LENGTH] as number);
    return span;
  }

  setValue(row: number, source: Buffer, start: number, end: number): void {
    const length = end - start;
    const ints = this.#ints(row);
    const at = intOf(row);
    const room = (ints[at + MARKS_AND_ROOM] as number) >>> ROOM_SHIFT;
    if (length <= room) {
      if (ints[at + OUTSIDE] !== NO_ROW) this.#releaseOutside(row);
      const position = byteOf(row) + this.#headBytes + (ints[at + KEY_LENGTH] as number);
      copyBytes(source, start, end, this.#bytes(row), position);
    } else {
      const block = this.#outsideFor(row, length);
      copyBytes(source, start, end, this.#bytes(block), byteOf(block) + BLOCK_HEAD_BYTES);
    }
    // A block may have been taken from the first chunk, which then is another one.
    this.#ints(row)[at + VALUE_LENGTH] = length;
  }

  dropValue(row: number): void {
    this.#releaseOutside(row);
    this.#ints(row)[intOf(row) + VALUE_LENGTH] = NO_VALUE;
  }

  timestamp(row: number): number {
    return this.#floats(row)[floatOf(row) + TIMESTAMP_FLOATS] as number;
  }

  setTimestamp(row: number, timestamp: number): void {
    this.#floats(row)[floatOf(row) + TIMESTAMP_FLOATS] = timestamp;
  }

  /** Eight bits for whoever uses the table; a new row has none. */
  marks(row: number): number {
    return (this.#ints(row)[intOf(row) + MARKS_AND_ROOM] as number) & MARKS_MASK;
  }

  setMarks(row: number, marks: number): void {
    const ints = this.#ints(row);
    const at = intOf(row) + MARKS_AND_ROOM;
    ints[at] = ((ints[at] as number) & ~MARKS_MASK) | marks;
  }

  /** Keeps the value and timestamp that the row has now, whatever is written later. */
  keep(row: number): void {
    const length = this.#ints(row)[intOf(row) + VALUE_LENGTH] as number;
    const size = RowMemory.blockBytes(KEPT_HEAD_BYTES + Math.max(0, length));
    const block = this.memory.take(size);
    const ints = this.#ints(block);
    ints[intOf(block)] = size;
    ints[intOf(block) + KEPT_LENGTH] = length;
    this.#floats(block)[floatOf(block) + KEPT_TIMESTAMP_FLOATS] = this.timestamp(row);
    if (length >= 0) {
      const { buffer, start, end } = this.value(row);
      copyBytes(buffer, start, end, this.#bytes(block), byteOf(block) + KEPT_HEAD_BYTES);
    }
    this.#ints(row)[intOf(row) + KEPT] = block;
  }

  isKept(row: number): boolean {
    return this.#ints(row)[intOf(row) + KEPT] !== NO_ROW;
  }

  /** The value that was kept, null if the row had none; valid until the next call. */
  kept(row: number): ByteSpan | null {
    const block = this.#ints(row)[intOf(row) + KEPT] as number;
    const length = this.#ints(block)[intOf(block) + KEPT_LENGTH] as number;
    if (length < 0) return null;
    const span = this.#span;
    span.buffer = this.#bytes(block);
    span.start = byteOf(block) + KEPT_HEAD_BYTES;
    span.end = span.start + length;
    return span;
  }

  keptTimestamp(row: number): number {
    const block = this.#ints(row)[intOf(row) + KEPT] as number;
    return this.#floats(block)[floatOf(block) + KEPT_TIMESTAMP_FLOATS] as number;
  }

  dropKept(row: number): void {
    const ints = this.#ints(row);
    const at = intOf(row) + KEPT;
    const block = ints[at] as number;
    if (block === NO_ROW) return;
    this.memory.give(block, this.#ints(block)[intOf(block)] as number);
    ints[at] = NO_ROW;
  }

  /** What the row alone takes, its value included, bytes. */
  bytesOf(row: number): number {
    const ints = this.#ints(row);
    const at = intOf(row);
    const room = (ints[at + MARKS_AND_ROOM] as number) >>> ROOM_SHIFT;
    const outside = ints[at + OUTSIDE] as number;
    const block = outside === NO_ROW ? 0 : (this.#ints(outside)[intOf(outside)] as number);
    return RowMemory.blockBytes(this.#headBytes + (ints[at + KEY_LENGTH] as number) + room) + block;
  }

  /** Orders two rows by the bytes of their keys. */
  readonly compareKeys = (a: number, b: number): number => {
    const aBytes = this.#bytes(a);
    const bBytes = this.#bytes(b);
    const aLength = this.#ints(a)[intOf(a) + KEY_LENGTH] as number;
    const bLength = this.#ints(b)[intOf(b) + KEY_LENGTH] as number;
    const aStart = byteOf(a) + this.#headBytes;
    const bStart = byteOf(b) + this.#headBytes;
    const common = Math.min(aLength, bLength);
    for (let i = 0; i < common; i++) {
      const difference = (aBytes[aStart + i] as number) - (bBytes[bStart + i] as number);
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  };

  /** Gives back slots, if nearly all are empty. */
  trim(): void {
    let slotCount = this.slotCount;
    while (slotCount > ROW_SLOTS_MIN && this.#count < slotCount * TRIM_LOAD) slotCount /= 2;
    if (slotCount < this.slotCount) this.#rehash(slotCount);
  }

  get slotCount(): number {
    return this.#mask + 1;
  }

  /** Of all slots, to go round all rows; NO_ROW where there is none. Rows change slots when one is added or removed. */
  rowAt(slot: number): number {
    return this.#slots[2 * slot + 1] as number;
  }

  #find(hash: number, source: Buffer, start: number, end: number): number {
    const slots = this.#slots;
    const mask = this.#mask;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = slots[2 * slot + 1] as number;
      if (row === NO_ROW) return NO_ROW;
      if (slots[2 * slot] === hash && this.#hasKey(row, source, start, end)) return row;
    }
  }

  #hasKey(row: number, source: Buffer, start: number, end: number): boolean {
    if (this.#ints(row)[intOf(row) + KEY_LENGTH] !== end - start) return false;
    const bytes = this.#bytes(row);
    let at = byteOf(row) + this.#headBytes;
    for (let position = start; position < end; position++, at++) {
      if (bytes[at] !== source[position]) return false;
    }
    return true;
  }

  #add(hash: number, source: Buffer, start: number, end: number, valueBytes: number): number {
    if (this.#count + 1 > (this.#mask + 1) * MAX_LOAD) this.#rehash(2 * (this.#mask + 1));
    const row = this.addUnlisted(source, start, end, valueBytes);
    this.#place(hash, row);
    this.#count++;
    return row;
  }

  /** Of a row that is listed. */
  #slotOf(row: number): number {
    const { buffer, start, end } = this.key(row);
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hashBytes(buffer, start, end) & mask;
    while (slots[2 * slot + 1] !== row) slot = (slot + 1) & mask;
    return slot;
  }

  #place(hash: number, row: number): void {
    const slots = this.#slots;
    const mask = this.#mask;
    let slot = hash & mask;
    while (slots[2 * slot + 1] !== NO_ROW) slot = (slot + 1) & mask;
    slots[2 * slot] = hash;
    slots[2 * slot + 1] = row;
  }

  #rehash(slotCount: number): void {
    const before = this.#slots;
    this.#slots = new Int32Array(2 * slotCount);
    this.#mask = slotCount - 1;
    for (let i = 0; i < before.length; i += 2) {
      const row = before[i + 1] as number;
      if (row !== NO_ROW) this.#place(before[i] as number, row);
    }
  }

  #outsideFor(row: number, length: number): number {
    const outside = this.#ints(row)[intOf(row) + OUTSIDE] as number;
    const isFirst = outside === NO_ROW && !this.hasValue(row);
    if (outside !== NO_ROW) {
      const size = this.#ints(outside)[intOf(outside)] as number;
      if (length <= size - BLOCK_HEAD_BYTES) return outside;
    }
    const wanted = isFirst ? length : Math.ceil(length * GROWTH);
    const size = RowMemory.blockBytes(BLOCK_HEAD_BYTES + wanted);
    // First, or the row would be left without a value if there is no room.
    const block = this.memory.take(size);
    this.#ints(block)[intOf(block)] = size;
    this.#releaseOutside(row);
    this.#ints(row)[intOf(row) + OUTSIDE] = block;
    return block;
  }

  #releaseOutside(row: number): void {
    const ints = this.#ints(row);
    const at = intOf(row) + OUTSIDE;
    const outside = ints[at] as number;
    if (outside === NO_ROW) return;
    this.memory.give(outside, this.#ints(outside)[intOf(outside)] as number);
    ints[at] = NO_ROW;
  }

  #bytes(address: number): Buffer {
    return this.memory.bytes[address >>> CHUNK_SHIFT] as Buffer;
  }

  #ints(address: number): Int32Array {
    return this.memory.ints[address >>> CHUNK_SHIFT] as Int32Array;
  }

  #floats(address: number): Float64Array {
    return this.memory.floats[address >>> CHUNK_SHIFT] as Float64Array;
  }
}

function byteOf(address: number): number {
  return (address & (CHUNK_UNITS - 1)) * UNIT_BYTES;
}

/** Where its row begins in its chunk's int32s. */
export function intOf(address: number): number {
  return (address & (CHUNK_UNITS - 1)) << 1;
}

/** ... and in its float64s. */
export function floatOf(address: number): number {
  return address & (CHUNK_UNITS - 1);
}
