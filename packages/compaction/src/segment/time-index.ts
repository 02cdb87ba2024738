import type { Disk } from '../platform/disk.ts';
import { CorruptIndexError, SegmentOverflowError } from '../errors.ts';
import { MAX_RELATIVE_OFFSET, TIME_INDEX_ENTRY_BYTES } from '../limits.ts';
import { IndexFile } from './index-file.ts';

const ENTRY = TIME_INDEX_ENTRY_BYTES;
const NO_TIMESTAMP = -1;

export interface TimestampOffset {
  /** Epoch ms; -1: none. */
  readonly timestamp: number;
  readonly offset: bigint;
}

/**
 * `.timeindex`: sparse (greatest timestamp so far, last offset of the batch that holds it) pairs.
 * Timestamps rise strictly.
 */
export class TimeIndex extends IndexFile {
  constructor(disk: Disk, path: string, baseOffset: bigint, sizeBytes: number) {
    super(disk, path, baseOffset, ENTRY, sizeBytes);
  }

  /** One slot is kept for the entry that closes the segment. */
  isFull(maxBytes: number): boolean {
    return this.entryCount >= Math.floor(maxBytes / ENTRY) - 1;
  }

  /** Does nothing unless `timestamp` is above the last entry's. */
  maybeAppend(timestamp: number, batchLastOffset: bigint): void {
    const count = this.entryCount;
    const last = count === 0 ? NO_TIMESTAMP : this.#timestampAt(count - 1);
    if (timestamp <= last) return;
    const relative = batchLastOffset - this.baseOffset;
    if (relative < 0n || relative > MAX_RELATIVE_OFFSET) {
      throw new SegmentOverflowError(
        `${this.path}: offset ${String(batchLastOffset)} does not fit beside base ${String(this.baseOffset)}`,
      );
    }
    const start = this.push();
    const bytes = this.entries();
    bytes.writeBigInt64BE(BigInt(timestamp), start);
    bytes.writeInt32BE(Number(relative), start + 8);
  }

  /** (-1, base) when there is no entry. */
  last(): TimestampOffset {
    return this.#entryAt(this.entryCount - 1);
  }

  /** The greatest entry with a timestamp at most `timestamp`; (-1, base) when there is none. */
  lookup(timestamp: number): TimestampOffset {
    let low = 0;
    let high = this.entryCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#timestampAt(middle) <= timestamp) low = middle + 1;
      else high = middle;
    }
    return this.#entryAt(low - 1);
  }

  #timestampAt(index: number): number {
    return Number(this.entries().readBigInt64BE(index * ENTRY));
  }

  #entryAt(index: number): TimestampOffset {
    if (index < 0) return { timestamp: NO_TIMESTAMP, offset: this.baseOffset };
    const relative = this.entries().readInt32BE(index * ENTRY + 8);
    return { timestamp: this.#timestampAt(index), offset: this.baseOffset + BigInt(relative) };
  }

  protected override check(bytes: Buffer, count: number): void {
    let lastTimestamp = BigInt(NO_TIMESTAMP);
    let lastOffset = -1;
    for (let i = 0; i < count; i++) {
      const timestamp = bytes.readBigInt64BE(i * ENTRY);
      const offset = bytes.readInt32BE(i * ENTRY + 8);
      if (timestamp <= lastTimestamp || offset < lastOffset) {
        throw new CorruptIndexError(
          `${this.path}: entry ${String(i)} (timestamp ${String(timestamp)}, offset ${String(offset)}) ` +
            `does not follow (${String(lastTimestamp)}, ${String(lastOffset)})`,
        );
      }
      lastTimestamp = timestamp;
      lastOffset = offset;
    }
  }
}
