import type { Disk } from '../platform/disk.ts';
import { CorruptIndexError } from '../errors.ts';

const INITIAL_ENTRIES = 64;

/**
 * The entries of one index, in memory as they are on disk. New entries are written behind: recovery
 * rebuilds every index from the recovery point on, so they need to be in the file only when the
 * segment is flushed, rolled or closed. An inactive segment's entries may be let go and are read
 * again when next used.
 */
export abstract class IndexFile {
  readonly baseOffset: bigint;
  protected readonly disk: Disk;
  readonly #entryBytes: number;
  #path: string;
  #bytes: Buffer | null = null;
  #count: number;
  /** Entries at the front that the file holds. */
  #persistedCount: number;
  #needsTruncation = false;

  /** `sizeBytes`: of the file as found; it must be whole entries. NaN: there is none. */
  protected constructor(
    disk: Disk,
    path: string,
    baseOffset: bigint,
    entryBytes: number,
    sizeBytes: number,
  ) {
    if (Number.isNaN(sizeBytes)) throw new CorruptIndexError(`${path}: the file is missing`);
    if (sizeBytes % entryBytes !== 0) {
      throw new CorruptIndexError(
        `${path}: ${String(sizeBytes)} bytes are no multiple of the ${String(entryBytes)} of an entry`,
      );
    }
    this.disk = disk;
    this.#path = path;
    this.baseOffset = baseOffset;
    this.#entryBytes = entryBytes;
    this.#count = sizeBytes / entryBytes;
    this.#persistedCount = this.#count;
    if (this.#count === 0) this.#bytes = Buffer.alloc(0);
  }

  get path(): string {
    return this.#path;
  }

  get entryCount(): number {
    return this.#count;
  }

  get memoryBytes(): number {
    return this.#bytes?.length ?? 0;
  }

  /** Throws CorruptIndexError when entries contradict each other. */
  protected abstract check(bytes: Buffer, count: number): void;

  protected entries(): Buffer {
    this.#bytes ??= this.#load();
    return this.#bytes;
  }

  #load(): Buffer {
    const length = this.#count * this.#entryBytes;
    const bytes = Buffer.allocUnsafeSlow(length);
    const file = this.disk.open(this.#path, 'read');
    try {
      if (file.read(bytes, 0, length, 0) !== length) {
        throw new CorruptIndexError(`${this.#path}: shorter than when it was opened`);
      }
    } finally {
      file.close();
    }
    this.check(bytes, this.#count);
    return bytes;
  }

  /** Reads and checks all entries now. */
  verify(): void {
    this.check(this.entries(), this.#count);
  }

  /** Room for one more entry; its start in `entries()`. The caller fills it. */
  protected push(): number {
    let bytes = this.entries();
    const start = this.#count * this.#entryBytes;
    if (start + this.#entryBytes > bytes.length) {
      const wanted = Math.max(INITIAL_ENTRIES, this.#count * 2) * this.#entryBytes;
      const grown = Buffer.allocUnsafeSlow(wanted);
      bytes.copy(grown, 0, 0, start);
      this.#bytes = bytes = grown;
    }
    this.#count++;
    return start;
  }

  /** Drops entries from `count` on. */
  truncateEntries(count: number): void {
    if (count >= this.#count) return;
    this.entries();
    this.#count = count;
    if (this.#persistedCount > count) {
      this.#persistedCount = count;
      this.#needsTruncation = true;
    }
  }

  /** Brings the file up to date. Nothing is synced. */
  persist(): void {
    if (this.#persistedCount === this.#count && !this.#needsTruncation) return;
    const file = this.disk.open(this.#path, 'create');
    try {
      const start = this.#persistedCount * this.#entryBytes;
      const end = this.#count * this.#entryBytes;
      if (this.#needsTruncation) file.truncate(start);
      this.#needsTruncation = false;
      if (end > start) file.write(this.entries().subarray(start, end), start);
      this.#persistedCount = this.#count;
    } finally {
      file.close();
    }
  }

  async sync(): Promise<void> {
    this.persist();
    const file = this.disk.open(this.#path, 'readWrite');
    try {
      await file.sync();
    } finally {
      file.close();
    }
  }

  /** Lets the entries go. Only after `persist`. */
  release(): void {
    if (this.#persistedCount === this.#count && this.#count > 0) this.#bytes = null;
  }

  /** The file has been renamed. */
  moveTo(path: string): void {
    this.#path = path;
  }
}

/** Makes an empty index file, or empties one that is there: its content is to be built anew. */
export function createEmptyIndex(disk: Disk, path: string): void {
  const file = disk.open(path, 'create');
  try {
    if (file.sizeBytes() > 0) file.truncate(0);
  } finally {
    file.close();
  }
}
