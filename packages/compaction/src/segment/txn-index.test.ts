import { describe, expect, it } from 'vitest';
import { TXN_INDEX_ENTRY_BYTES } from '../limits.ts';
import type { DiskFile, FileStat } from '../platform/disk.ts';
import { MemoryDisk } from '../platform/memory-disk.ts';
import { type AbortedTransaction, TxnIndex } from './txn-index.ts';

const PATH = '/s/00000000000000000000.txnindex';

const aborted = (offset: number): AbortedTransaction => ({
  producerId: 7n,
  firstOffset: BigInt(offset),
  lastOffset: BigInt(offset),
  lastStableOffset: BigInt(offset),
});

/** Keeps nothing and counts: what a file costs does not depend on what is in it. */
class CountingDisk extends MemoryDisk {
  writtenBytes = 0;
  end = 0;

  override stat(): FileStat | null {
    return null;
  }

  override open(path: string): DiskFile {
    return {
      path,
      sizeBytes: () => this.end,
      read: () => 0,
      write: (source, position) => {
        if (position !== this.end) throw new Error(`written at ${position}, not ${this.end}`);
        this.writtenBytes += source.length;
        this.end = position + source.length;
      },
      truncate: () => undefined,
      sync: () => Promise.resolve(),
      close: () => undefined,
    };
  }
}

describe('the transaction index', () => {
  // What copied all entries with each one took minutes for so many.
  it('costs as much per entry however many there are', { timeout: 30_000 }, () => {
    const count = 400_000;
    const disk = new CountingDisk();
    const index = new TxnIndex(disk, PATH, 0n);
    for (let offset = 0; offset < count; offset++) index.append(aborted(offset));
    expect(disk.writtenBytes).toBe(count * TXN_INDEX_ENTRY_BYTES);
    expect(index.entries()).toHaveLength(count);
  });

  it('goes on behind what it read from its file', () => {
    const disk = new MemoryDisk();
    disk.makeDirectory('/s');
    new TxnIndex(disk, PATH, 0n).appendAll([aborted(1), aborted(2)]);
    const reopened = new TxnIndex(disk, PATH, 0n);
    reopened.append(aborted(3));
    const offsets = new TxnIndex(disk, PATH, 0n).entries().map((entry) => entry.lastOffset);
    expect(offsets).toEqual([1n, 2n, 3n]);
  });
});
