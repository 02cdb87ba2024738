import { readControlRecord, RecordCursor } from '@millrace/protocol';
import type { RecordBatch } from '@millrace/protocol';
import { CorruptIndexError } from '../errors.ts';
import {
  OFFSET_INDEX_ENTRY_BYTES,
  TIME_INDEX_ENTRY_BYTES,
  TXN_INDEX_ENTRY_BYTES,
} from '../limits.ts';
import type { Disk } from '../platform/disk.ts';
import { parseSegmentFileName } from './segment-files.ts';
import { TxnIndex } from './txn-index.ts';
import type { AbortedTransaction } from './txn-index.ts';

export interface OffsetIndexEntry {
  /** Last offset of a batch. */
  readonly offset: bigint;
  /** Of the batch in the log file, bytes. */
  readonly position: number;
}

export interface TimeIndexEntry {
  /** Epoch ms. */
  readonly timestamp: bigint;
  /** Last offset of the batch that has it. */
  readonly offset: bigint;
}

/** What is wrong with an index file. */
export interface IndexDamage {
  readonly path: string;
  /** Of the entry in the file, bytes. */
  readonly position: number;
  readonly detail: string;
}

/** Entries of a `.index` file, those for which room was only reserved left out. */
export function readOffsetIndex(disk: Disk, path: string, baseOffset: bigint): OffsetIndexEntry[] {
  return readEntries(disk, path, OFFSET_INDEX_ENTRY_BYTES, (bytes, at) => ({
    offset: baseOffset + BigInt(bytes.readInt32BE(at)),
    position: bytes.readInt32BE(at + 4),
  }));
}

/** Entries of a `.timeindex` file, those for which room was only reserved left out. */
export function readTimeIndex(disk: Disk, path: string, baseOffset: bigint): TimeIndexEntry[] {
  return readEntries(disk, path, TIME_INDEX_ENTRY_BYTES, (bytes, at) => ({
    timestamp: bytes.readBigInt64BE(at),
    offset: baseOffset + BigInt(bytes.readInt32BE(at + 8)),
  }));
}

/** A segment that is appended to, or was when its broker was killed, has room in advance: zeros. */
function readEntries<T>(
  disk: Disk,
  path: string,
  entryBytes: number,
  decode: (bytes: Buffer, at: number) => T,
): T[] {
  const bytes = disk.readFile(path);
  if (bytes.length % entryBytes !== 0) {
    throw new CorruptIndexError(
      `${path}: ${String(bytes.length)} bytes are no multiple of the ${String(entryBytes)} of an entry`,
    );
  }
  let end = bytes.length;
  while (end > 0 && bytes.subarray(end - entryBytes, end).every((byte) => byte === 0)) {
    end -= entryBytes;
  }
  const entries: T[] = [];
  for (let at = 0; at < end; at += entryBytes) entries.push(decode(bytes, at));
  return entries;
}

interface Waiting<T> {
  readonly entry: T;
  readonly at: number;
}

/**
 * Holds the three indexes of a segment against its batches, as Kafka's DumpLogSegments does: every
 * entry must name a batch as it is. Besides, every abort marker whose records are in the segment must
 * be in the transaction index, or readers would see what was aborted.
 */
export class IndexInspector {
  readonly #offsetIndexPath: string;
  readonly #timeIndexPath: string;
  readonly #txnIndexPath: string;
  readonly #damages: IndexDamage[] = [];
  /** Entries that no batch has answered for yet: by file position, by last offset, by the marker's. */
  readonly #offsets = new Map<number, Waiting<OffsetIndexEntry>>();
  readonly #times = new Map<bigint, Waiting<TimeIndexEntry>>();
  readonly #aborted = new Map<bigint, Waiting<AbortedTransaction>>();
  /** First offsets of the transactions that have records here, by producer. */
  readonly #open = new Map<bigint, bigint>();
  readonly #cursor = new RecordCursor();

  /** `path`: of the log file; its indexes lie beside it. */
  constructor(disk: Disk, path: string) {
    const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
    const parsed = parseSegmentFileName(name);
    const state = parsed?.state ?? '';
    const stem = path.slice(0, path.length - '.log'.length - state.length);
    const baseOffset = parsed?.baseOffset ?? 0n;
    this.#offsetIndexPath = `${stem}.index${state}`;
    this.#timeIndexPath = `${stem}.timeindex${state}`;
    this.#txnIndexPath = `${stem}.txnindex${state}`;
    this.#read(disk, this.#offsetIndexPath, () => {
      this.#loadOffsets(readOffsetIndex(disk, this.#offsetIndexPath, baseOffset));
    });
    this.#read(disk, this.#timeIndexPath, () => {
      this.#loadTimes(readTimeIndex(disk, this.#timeIndexPath, baseOffset));
    });
    if (disk.stat(this.#txnIndexPath) === null) return;
    this.#read(disk, this.#txnIndexPath, () => {
      const entries = new TxnIndex(disk, this.#txnIndexPath, baseOffset).entries();
      for (const [index, entry] of entries.entries()) {
        const at = index * TXN_INDEX_ENTRY_BYTES;
        this.#aborted.set(entry.lastOffset, { entry, at });
      }
    });
  }

  #read(disk: Disk, path: string, load: () => void): void {
    if (disk.stat(path) === null) {
      this.#report(path, 0, 'the file is missing; it is built anew when the log is opened');
      return;
    }
    try {
      load();
    } catch (error) {
      if (!(error instanceof CorruptIndexError)) throw error;
      this.#report(path, 0, error.message);
    }
  }

  #loadOffsets(entries: readonly OffsetIndexEntry[]): void {
    let previous: OffsetIndexEntry | null = null;
    for (const [index, entry] of entries.entries()) {
      const at = index * OFFSET_INDEX_ENTRY_BYTES;
      if (
        previous !== null &&
        (entry.offset <= previous.offset || entry.position <= previous.position)
      ) {
        this.#report(this.#offsetIndexPath, at, 'the entry does not follow the one before');
      }
      this.#offsets.set(entry.position, { entry, at });
      previous = entry;
    }
  }

  #loadTimes(entries: readonly TimeIndexEntry[]): void {
    let previous: TimeIndexEntry | null = null;
    for (const [index, entry] of entries.entries()) {
      const at = index * TIME_INDEX_ENTRY_BYTES;
      if (
        previous !== null &&
        (entry.timestamp <= previous.timestamp || entry.offset < previous.offset)
      ) {
        this.#report(this.#timeIndexPath, at, 'the entry does not follow the one before');
      }
      this.#times.set(entry.offset, { entry, at });
      previous = entry;
    }
  }

  /** To be called with each batch of the segment, in order. `isValid`: its records can be read. */
  see(position: number, batch: RecordBatch, isValid: boolean): void {
    const { lastOffset } = batch;
    const offset = this.#offsets.get(position);
    if (offset !== undefined) {
      this.#offsets.delete(position);
      if (offset.entry.offset !== lastOffset) {
        this.#report(
          this.#offsetIndexPath,
          offset.at,
          `it names offset ${String(offset.entry.offset)} at position ${String(position)}, ` +
            `where a batch ends with ${String(lastOffset)}`,
        );
      }
    }
    const time = this.#times.get(lastOffset);
    if (time !== undefined) {
      this.#times.delete(lastOffset);
      if (time.entry.timestamp !== BigInt(batch.maxTimestamp)) {
        this.#report(
          this.#timeIndexPath,
          time.at,
          `it gives the batch that ends with ${String(lastOffset)} timestamp ` +
            `${String(time.entry.timestamp)}, which has ${String(batch.maxTimestamp)}`,
        );
      }
    }
    if (isValid && batch.isTransactional) this.#seeTransactional(batch);
  }

  #seeTransactional(batch: RecordBatch): void {
    const { producerId, lastOffset } = batch;
    if (!batch.isControl) {
      const isFirst = batch.recordCount > 0 && !this.#open.has(producerId);
      if (isFirst) this.#open.set(producerId, batch.baseOffset);
      return;
    }
    this.#cursor.open(batch);
    const type = this.#cursor.next() ? readControlRecord(this.#cursor).type : 'other';
    const entry = this.#aborted.get(lastOffset)?.entry;
    const first = this.#open.get(producerId);
    if (type === 'abort' && entry?.producerId === producerId) this.#aborted.delete(lastOffset);
    else if (type === 'abort' && entry === undefined && first !== undefined) {
      this.#report(
        this.#txnIndexPath,
        0,
        `it lacks the transaction of producer ${String(producerId)} from offset ${String(first)} on ` +
          `that was aborted at ${String(lastOffset)}`,
      );
    }
    this.#open.delete(producerId);
  }

  /** What is wrong, now that all batches have been seen; by file, and in it by position. */
  damages(): IndexDamage[] {
    for (const { entry, at } of this.#offsets.values()) {
      const detail = `it names position ${String(entry.position)}, where no batch begins`;
      this.#report(this.#offsetIndexPath, at, detail);
    }
    for (const { entry, at } of this.#times.values()) {
      const detail = `it names offset ${String(entry.offset)}, with which no batch ends`;
      this.#report(this.#timeIndexPath, at, detail);
    }
    for (const { entry, at } of this.#aborted.values()) {
      this.#report(
        this.#txnIndexPath,
        at,
        `it says that producer ${String(entry.producerId)} aborted a transaction at offset ` +
          `${String(entry.lastOffset)}, where no such marker is`,
      );
    }
    for (const waiting of [this.#offsets, this.#times, this.#aborted]) waiting.clear();
    return this.#damages.toSorted(
      (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0) || a.position - b.position,
    );
  }

  #report(path: string, position: number, detail: string): void {
    this.#damages.push({ path, position, detail });
  }
}
