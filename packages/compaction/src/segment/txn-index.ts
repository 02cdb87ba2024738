import type { Disk } from '../platform/disk.ts';
import { CorruptIndexError, StorageFullError } from '../errors.ts';
import { TXN_INDEX_ENTRY_BYTES } from '../limits.ts';

const ENTRY = TXN_INDEX_ENTRY_BYTES;
const VERSION = 0;

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
  /** Of the abort marker. */
  readonly lastOffset: bigint;
  /** At the time of the marker. */
  readonly lastStableOffset: bigint;
}

/**
 * `.txnindex`: the transactions whose abort marker lies in this segment, in marker order. Entries for which the
 * disk has no room stay in memory until it has.
 */
export class TxnIndex {
  readonly baseOffset: bigint;
  readonly #disk: Disk;
  #path: string;
  #entries: AbortedTransaction[] | null = null;
  /** Of the entries, those that are in the file. */
  #persistedCount = 0;

  constructor(disk: Disk, path: string, baseOffset: bigint) {
    this.#disk = disk;
    this.#path = path;
    this.baseOffset = baseOffset;
  }

  get path(): string {
    return this.#path;
  }

  /** Throws CorruptIndexError on what no writer leaves. */
  entries(): readonly AbortedTransaction[] {
    return this.#load();
  }

  #load(): AbortedTransaction[] {
    if (this.#entries === null) {
      this.#entries = this.#readFile();
      this.#persistedCount = this.#entries.length;
    }
    return this.#entries;
  }

  #readFile(): AbortedTransaction[] {
    const stat = this.#disk.stat(this.#path);
    if (!stat || stat.sizeBytes === 0) return [];
    const bytes = this.#disk.readFile(this.#path);
    if (bytes.length % ENTRY !== 0) {
      throw new CorruptIndexError(
        `${this.#path}: ${String(bytes.length)} bytes are no whole entries`,
      );
    }
    const entries: AbortedTransaction[] = [];
    for (let at = 0; at < bytes.length; at += ENTRY) {
      const version = bytes.readInt16BE(at);
      const entry: AbortedTransaction = {
        producerId: bytes.readBigInt64BE(at + 2),
        firstOffset: bytes.readBigInt64BE(at + 10),
        lastOffset: bytes.readBigInt64BE(at + 18),
        lastStableOffset: bytes.readBigInt64BE(at + 26),
      };
      const previous = entries.at(-1);
      const isInOrder =
        entry.lastOffset >= this.baseOffset &&
        entry.firstOffset <= entry.lastOffset &&
        (!previous || entry.lastOffset > previous.lastOffset);
      if (version > VERSION || version < 0 || !isInOrder) {
        throw new CorruptIndexError(
          `${this.#path}: entry at byte ${String(at)} (version ${String(version)}, offsets ` +
            `${String(entry.firstOffset)} to ${String(entry.lastOffset)}) is out of place`,
        );
      }
      entries.push(entry);
    }
    return entries;
  }

  append(entry: AbortedTransaction): void {
    this.appendAll([entry]);
  }

  appendAll(entries: readonly AbortedTransaction[]): void {
    const known = this.#load();
    for (const entry of entries) known.push(entry);
    try {
      this.persist();
    } catch (error) {
      // The marker is in the log: it counts. What is missing here is built anew after a kill.
      if (!(error instanceof StorageFullError)) throw error;
    }
  }

  /** Brings the file up to date. Nothing is synced. */
  persist(): void {
    const missing = this.#entries?.slice(this.#persistedCount) ?? [];
    if (missing.length === 0) return;
    const file = this.#disk.open(this.#path, 'create');
    try {
      file.write(Buffer.concat(missing.map(encodeEntry)), this.#persistedCount * ENTRY);
      this.#persistedCount += missing.length;
    } finally {
      file.close();
    }
  }

  /** Empties it, in memory and on disk; a file that isn't there stays away. */
  reset(): void {
    this.#entries = [];
    this.#persistedCount = 0;
    const stat = this.#disk.stat(this.#path);
    if (!stat || stat.sizeBytes === 0) return;
    const file = this.#disk.open(this.#path, 'readWrite');
    try {
      file.truncate(0);
    } finally {
      file.close();
    }
  }

  /**
   * Adds to `found` the transactions that a reader of [from, upper) must skip. True: no later
   * segment can hold another one.
   */
  collect(from: bigint, upper: bigint, found: AbortedTransaction[]): boolean {
    for (const entry of this.entries()) {
      if (entry.lastOffset >= from && entry.firstOffset < upper) found.push(entry);
      if (entry.lastStableOffset >= upper) return true;
    }
    return false;
  }

  async sync(): Promise<void> {
    this.persist();
    if (!this.#disk.stat(this.#path)) return;
    const file = this.#disk.open(this.#path, 'readWrite');
    try {
      await file.sync();
    } finally {
      file.close();
    }
  }

  /** Lets the entries go. Only after `persist`. */
  release(): void {
    if (this.#persistedCount === this.#entries?.length) this.#entries = null;
  }

  moveTo(path: string): void {
    this.#path = path;
  }
}

function encodeEntry(entry: AbortedTransaction): Buffer {
  const bytes = Buffer.alloc(ENTRY);
  bytes.writeInt16BE(VERSION, 0);
  bytes.writeBigInt64BE(entry.producerId, 2);
  bytes.writeBigInt64BE(entry.firstOffset, 10);
  bytes.writeBigInt64BE(entry.lastOffset, 18);
  bytes.writeBigInt64BE(entry.lastStableOffset, 26);
  return bytes;
}
