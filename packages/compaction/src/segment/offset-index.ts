import type { Disk } from '../platform/disk.ts';
import { CorruptIndexError, SegmentOverflowError } from '../errors.ts';
import { MAX_RELATIVE_OFFSET, OFFSET_INDEX_ENTRY_BYTES } from '../limits.ts';
import { IndexFile } from './index-file.ts';

const ENTRY = OFFSET_INDEX_ENTRY_BYTES;

/**
 * `.index`: sparse (last offset of a batch, its file position) pairs, the offset relative to the
 * segment's base. Both rise strictly.
 */
export class OffsetIndex extends IndexFile {
  constructor(disk: Disk, path: string, baseOffset: bigint, sizeBytes: number) {
    super(disk, path, baseOffset, ENTRY, sizeBytes);
  }

  isFull(maxBytes: number): boolean {
    return this.entryCount >= Math.floor(maxBytes / ENTRY);
  }

  append(batchLastOffset: bigint, position: number): void {
    const relative = batchLastOffset - this.baseOffset;
    if (relative < 0n || relative > MAX_RELATIVE_OFFSET) {
      throw new SegmentOverflowError(
        `${this.path}: offset ${String(batchLastOffset)} does not fit beside base ${String(this.baseOffset)}`,
      );
    }
    const start = this.push();
    const bytes = this.entries();
    bytes.writeInt32BE(Number(relative), start);
    bytes.writeInt32BE(position, start + 4);
  }

  /** Position of a batch at or before the one that holds `target`; 0 when no entry helps. */
  lookup(target: bigint): number {
    const index = this.#greatestAtMost(target);
    return index < 0 ? 0 : this.entries().readInt32BE(index * ENTRY + 4);
  }

  /** Position that the last entry points at; 0 when there is none. */
  lastPosition(): number {
    const count = this.entryCount;
    return count === 0 ? 0 : this.entries().readInt32BE((count - 1) * ENTRY + 4);
  }

  /** The greatest entry whose position is at most `position`, as a file position; 0 when none. */
  positionAtMost(position: number): number {
    const bytes = this.entries();
    let low = 0;
    let high = this.entryCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (bytes.readInt32BE(middle * ENTRY + 4) <= position) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : bytes.readInt32BE((low - 1) * ENTRY + 4);
  }

  /** Drops entries for offsets from `offset` on. */
  truncateTo(offset: bigint): void {
    this.truncateEntries(this.#greatestAtMost(offset - 1n) + 1);
  }

  #greatestAtMost(target: bigint): number {
    const wanted = target - this.baseOffset;
    if (wanted < 0n) return -1;
    const relative = wanted > MAX_RELATIVE_OFFSET ? Number(MAX_RELATIVE_OFFSET) : Number(wanted);
    const bytes = this.entries();
    let low = 0;
    let high = this.entryCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (bytes.readInt32BE(middle * ENTRY) <= relative) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** An entry at position 0 is never written, so zeros are space that was only reserved. */
  protected override check(bytes: Buffer, count: number): void {
    let lastOffset = -1;
    let lastPosition = 0;
    for (let i = 0; i < count; i++) {
      const offset = bytes.readInt32BE(i * ENTRY);
      const position = bytes.readInt32BE(i * ENTRY + 4);
      if (offset <= lastOffset || position <= lastPosition) {
        throw new CorruptIndexError(
          `${this.path}: entry ${String(i)} (offset ${String(offset)}, position ${String(position)}) ` +
            `does not follow (${String(lastOffset)}, ${String(lastPosition)})`,
        );
      }
      lastOffset = offset;
      lastPosition = position;
    }
  }
}
