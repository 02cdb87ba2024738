import type { KeyRanges } from '@millrace/protocol';
import { ROW_INLINE_VALUE_MAX_BYTES, ROW_SLOTS_MIN, ROWS_EXPECTED_MAX } from '../limits.ts';
import type { ByteSpan } from './byte-span.ts';
import { copyBytes } from './copy-bytes.ts';
import { hashBytes } from './hash-bytes.ts';
import { CHUNK_SHIFT, CHUNK_UNITS, RowMemory, UNIT_BYTES } from './row-memory.ts';

/** Of a row that is not there. */
export const NO_ROW = 0;

/*
 * A row in memory, by int32:
 *   0  timestamp, a float64
 *   2  length of the value, -1: none
 *   3  marks (low byte), room for the value behind the key (13 bits), length of the key (11 bits)
 *   4  address of a block beside: the value that was kept, else the value that has outgrown its room, else 0
 *   5  what whoever uses the table keeps of each row, if anything; then the length of the key, if 11 bits do
 *      not hold it; the key's bytes; the value's
 *
 * A value is outside exactly if it is longer than its room. The block of a kept value names that of a value
 * outside, if there are both; its size is negative, which tells the two kinds apart.
 */
const TIMESTAMP_FLOATS = 0;
const VALUE_LENGTH = 2;
const PACKED = 3;
const BESIDE = 4;
const HEAD_BYTES = 20;
/** First int32 of a row that belongs to whoever uses the table, if it asked for some. */
export const ROW_EXTRA_INT = 5;
const MARKS_MASK = 0xff;
const ROOM_SHIFT = 8;
const ROOM_MASK = 0x1fff;
const KEY_SHIFT = 21;
/** The key's length has an int32 of its own. */
const LONG_KEY = 0x7ff;
const LONG_KEY_BYTES = 4;
/** The head of a block with a value outside: its size. */
const BLOCK_HEAD_BYTES = 8;
/** The head of a block with a value that is kept: its size, negative; length of the value; timestamp; block of the value outside. */
const KEPT_HEAD_BYTES = 20;
const KEPT_LENGTH = 1;
const KEPT_TIMESTAMP_FLOATS = 1;
const KEPT_OUTSIDE = 4;
/** A value that has grown out of its place once is given more than it needs. */
const GROWTH = 1.25;
const MAX_LOAD = 0.75;
const TRIM_LOAD = 0.1;
const NO_VALUE = -1;
/** Where most rows end, in int32s. */
const ROW_REACH_INTS = 9;

/**
 * Rows of key and value bytes outside of V8's heap, found by a hash of the key's bytes. A row takes about
 * 24 bytes beside its key and value, and two looks into memory to be found. It stays at its address until it
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
  /** Of the keys that are looked at together: first their hashes, then their rows. */
  readonly #expected = new Int32Array(ROWS_EXPECTED_MAX);

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

  /**
   * Brings the rows of keys that will be looked for next into the processor's caches. One after another,
   * each would be waited for twice, at its slot and at itself; here none hangs on another, and the waits of
   * all of them are at one time.
   */
  lookAt(source: Buffer, { starts, ends, count }: KeyRanges): void {
    const expected = this.#expected;
    const slots = this.#slots;
    const mask = this.#mask;
    let seen = 0;
    for (let i = 0; i < count; i++) {
      const hash = hashBytes(source, starts[i] as number, ends[i] as number);
      expected[i] = hash;
    }
    for (let i = 0; i < count; i++) {
      seen ^= slots[2 * ((expected[i] as number) & mask)] as number;
    }
    for (let i = 0; i < count; i++) {
      const hash = expected[i] as number;
      let slot = hash & mask;
      while (slots[2 * slot + 1] !== NO_ROW && slots[2 * slot] !== hash) slot = (slot + 1) & mask;
      expected[i] = slots[2 * slot + 1] as number;
    }
    for (let i = 0; i < count; i++) {
      const row = expected[i] as number;
      const ints = this.#ints(row);
      const at = intOf(row);
      // A row may reach over the end of a cache line.
      const end = Math.min(at + ROW_REACH_INTS, ints.length - 1);
      seen ^= (ints[at] as number) ^ (ints[end] as number);
    }
    // Kept: loads whose outcome nobody could ever see may be left out.
    expected[0] = seen;
  }

  /** A row that is not found; its key may be that of another one. */
  addUnlisted(source: Buffer, start: number, end: number, valueBytes: number): number {
    const keyLength = end - start;
    const isLong = keyLength >= LONG_KEY;
    const taken = this.#headBytes + (isLong ? LONG_KEY_BYTES : 0) + keyLength;
    const room = valueBytes > ROW_INLINE_VALUE_MAX_BYTES ? 0 : valueBytes;
    const size = RowMemory.blockBytes(taken + room);
    const row = this.memory.take(size);
    const ints = this.#ints(row);
    const at = intOf(row);
    ints[at + VALUE_LENGTH] = NO_VALUE;
    // The block may be larger than was asked for.
    const free = Math.min(size - taken, ROW_INLINE_VALUE_MAX_BYTES);
    ints[at + PACKED] = (free << ROOM_SHIFT) | ((isLong ? LONG_KEY : keyLength) << KEY_SHIFT);
    if (isLong) ints[at + (this.#headBytes >>> 2)] = keyLength;
    ints[at + BESIDE] = NO_ROW;
    const keyStart = byteOf(row) + taken - keyLength;
    copyBytes(source, start, end, this.#bytes(row), keyStart);
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
    this.memory.give(row, this.#inlineBytes(row));
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
    span.start = this.#keyStart(row);
    span.end = span.start + this.#keyLength(row);
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
    const length = ints[at + VALUE_LENGTH] as number;
    if (length <= roomOf(ints[at + PACKED] as number)) {
      span.buffer = this.#bytes(row);
      span.start = this.#keyStart(row) + this.#keyLength(row);
    } else {
      const outside = this.#outside(row);
      span.buffer = this.#bytes(outside);
      span.start = byteOf(outside) + BLOCK_HEAD_BYTES;
    }
    span.end = span.start + length;
    return span;
  }

  setValue(row: number, source: Buffer, start: number, end: number): void {
    const length = end - start;
    const ints = this.#ints(row);
    const at = intOf(row);
    if (length <= roomOf(ints[at + PACKED] as number)) {
      this.#releaseOutside(row);
      const position = this.#keyStart(row) + this.#keyLength(row);
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
    return (this.#ints(row)[intOf(row) + PACKED] as number) & MARKS_MASK;
  }

  setMarks(row: number, marks: number): void {
    const ints = this.#ints(row);
    const at = intOf(row) + PACKED;
    ints[at] = ((ints[at] as number) & ~MARKS_MASK) | marks;
  }

  /** Keeps the value and timestamp that the row has now, whatever is written later. */
  keep(row: number): void {
    const length = this.#ints(row)[intOf(row) + VALUE_LENGTH] as number;
    const size = RowMemory.blockBytes(KEPT_HEAD_BYTES + Math.max(0, length));
    const block = this.memory.take(size);
    const ints = this.#ints(block);
    ints[intOf(block)] = -size;
    ints[intOf(block) + KEPT_LENGTH] = length;
    ints[intOf(block) + KEPT_OUTSIDE] = this.#outside(row);
    this.#floats(block)[floatOf(block) + KEPT_TIMESTAMP_FLOATS] = this.timestamp(row);
    if (length >= 0) {
      const { buffer, start, end } = this.value(row);
      copyBytes(buffer, start, end, this.#bytes(block), byteOf(block) + KEPT_HEAD_BYTES);
    }
    this.#ints(row)[intOf(row) + BESIDE] = block;
  }

  isKept(row: number): boolean {
    return this.#kept(row) !== NO_ROW;
  }

  /** The value that was kept, null if the row had none; valid until the next call. */
  kept(row: number): ByteSpan | null {
    const block = this.#kept(row);
    const length = this.#ints(block)[intOf(block) + KEPT_LENGTH] as number;
    if (length < 0) return null;
    const span = this.#span;
    span.buffer = this.#bytes(block);
    span.start = byteOf(block) + KEPT_HEAD_BYTES;
    span.end = span.start + length;
    return span;
  }

  keptTimestamp(row: number): number {
    const block = this.#kept(row);
    return this.#floats(block)[floatOf(block) + KEPT_TIMESTAMP_FLOATS] as number;
  }

  dropKept(row: number): void {
    const block = this.#kept(row);
    if (block === NO_ROW) return;
    const ints = this.#ints(block);
    const at = intOf(block);
    this.#ints(row)[intOf(row) + BESIDE] = ints[at + KEPT_OUTSIDE] as number;
    this.memory.give(block, -(ints[at] as number));
  }

  /** What the row alone takes, its value included, bytes. */
  bytesOf(row: number): number {
    const outside = this.#outside(row);
    const block = outside === NO_ROW ? 0 : (this.#ints(outside)[intOf(outside)] as number);
    return RowMemory.blockBytes(this.#inlineBytes(row)) + block;
  }

  /** Orders two rows by the bytes of their keys. */
  readonly compareKeys = (a: number, b: number): number => {
    const aBytes = this.#bytes(a);
    const bBytes = this.#bytes(b);
    const aLength = this.#keyLength(a);
    const bLength = this.#keyLength(b);
    const aStart = this.#keyStart(a);
    const bStart = this.#keyStart(b);
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
    if (this.#keyLength(row) !== end - start) return false;
    const bytes = this.#bytes(row);
    let at = this.#keyStart(row);
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

  /** A block for a value that is longer than the row's room, whose length is set next. */
  #outsideFor(row: number, length: number): number {
    const outside = this.#outside(row);
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
    this.#setOutside(row, block);
    return block;
  }

  #releaseOutside(row: number): void {
    const outside = this.#outside(row);
    if (outside === NO_ROW) return;
    this.memory.give(outside, this.#ints(outside)[intOf(outside)] as number);
    this.#setOutside(row, NO_ROW);
  }

  /** Where the value is if it is longer than its room. */
  #outside(row: number): number {
    const ints = this.#ints(row);
    const at = intOf(row);
    if ((ints[at + VALUE_LENGTH] as number) <= roomOf(ints[at + PACKED] as number)) return NO_ROW;
    const kept = this.#kept(row);
    if (kept === NO_ROW) return ints[at + BESIDE] as number;
    return this.#ints(kept)[intOf(kept) + KEPT_OUTSIDE] as number;
  }

  #setOutside(row: number, block: number): void {
    const kept = this.#kept(row);
    if (kept === NO_ROW) this.#ints(row)[intOf(row) + BESIDE] = block;
    else this.#ints(kept)[intOf(kept) + KEPT_OUTSIDE] = block;
  }

  #kept(row: number): number {
    const beside = this.#ints(row)[intOf(row) + BESIDE] as number;
    if (beside === NO_ROW) return NO_ROW;
    return (this.#ints(beside)[intOf(beside)] as number) < 0 ? beside : NO_ROW;
  }

  #keyLength(row: number): number {
    const ints = this.#ints(row);
    const at = intOf(row);
    const length = (ints[at + PACKED] as number) >>> KEY_SHIFT;
    return length === LONG_KEY ? (ints[at + (this.#headBytes >>> 2)] as number) : length;
  }

  /** Where the key's bytes begin in their chunk. */
  #keyStart(row: number): number {
    const packed = this.#ints(row)[intOf(row) + PACKED] as number;
    const start = byteOf(row) + this.#headBytes;
    return packed >>> KEY_SHIFT === LONG_KEY ? start + LONG_KEY_BYTES : start;
  }

  /** What the row takes without what is beside it. */
  #inlineBytes(row: number): number {
    const packed = this.#ints(row)[intOf(row) + PACKED] as number;
    const keyEnd = this.#keyStart(row) - byteOf(row) + this.#keyLength(row);
    return keyEnd + roomOf(packed);
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

/** Of a row's packed int32. */
function roomOf(packed: number): number {
  return (packed >>> ROOM_SHIFT) & ROOM_MASK;
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
