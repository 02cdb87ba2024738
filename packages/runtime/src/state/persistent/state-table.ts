import { createHash } from 'node:crypto';
import type { Database } from 'lmdb';
import { LMDB_INLINE_KEY_MAX_BYTES } from '../limits.ts';
import { lowerBound } from '../lower-bound.ts';
import type { ByteSpan } from '../rows/byte-span.ts';
import { copyBytes } from '../rows/copy-bytes.ts';

/** The first byte of every key on disk; LMDB has no empty keys. */
const INLINE = 1;
const BY_HASH = 2;
const LENGTH_BYTES = 4;
const ZERO = Buffer.of(0);
const AFTER_INLINE = Buffer.of(BY_HASH);

/** A row on disk: its key's bytes as a latin1 string, and its value's bytes. */
export type StoredRow = readonly [key: string, value: Buffer];

/**
 * One table of an environment: rows in the order of their keys' bytes, keys of any length. Keys are
 * latin1 strings of bytes. Long keys are kept under their hash, with the key before the value; their
 * order is held in memory, since there are few if any.
 */
export class StateTable {
  readonly name: string;
  readonly #database: Database<Buffer, Buffer>;
  readonly #asError: (error: unknown) => Error;
  readonly #key = Buffer.alloc(1 + LMDB_INLINE_KEY_MAX_BYTES);
  /** All keys that are too long, sorted. */
  #longKeys: string[];

  /** @param asError what to throw for what LMDB throws: its file may be damaged inside */
  constructor(
    name: string,
    database: Database<Buffer, Buffer>,
    asError: (error: unknown) => Error,
  ) {
    this.name = name;
    this.#database = database;
    this.#asError = asError;
    this.#longKeys = this.#readLongKeys();
  }

  /** A view of LMDB's memory, to be read before anything else is asked of any table. */
  read(key: string): Buffer | undefined {
    try {
      if (key.length <= LMDB_INLINE_KEY_MAX_BYTES) {
        return this.#database.getBinaryFast(this.#inline(key));
      }
      const found = this.#database.getBinaryFast(hashed(key));
      return found?.subarray(LENGTH_BYTES + key.length);
    } catch (error) {
      throw this.#asError(error);
    }
  }

  /** `read` by the key's bytes. */
  readAt(key: ByteSpan): Buffer | undefined {
    if (key.end - key.start > LMDB_INLINE_KEY_MAX_BYTES) return this.read(textOf(key));
    try {
      return this.#database.getBinaryFast(this.#inlineAt(key));
    } catch (error) {
      throw this.#asError(error);
    }
  }

  /** `put` by the key's bytes. */
  putAt(key: ByteSpan, value: Buffer): void {
    if (key.end - key.start > LMDB_INLINE_KEY_MAX_BYTES) this.put(textOf(key), value);
    else void this.#database.put(this.#inlineAt(key), value);
  }

  /** `remove` by the key's bytes. */
  removeAt(key: ByteSpan): void {
    if (key.end - key.start > LMDB_INLINE_KEY_MAX_BYTES) this.remove(textOf(key));
    else void this.#database.remove(this.#inlineAt(key));
  }

  /** Only inside of the environment's `write`, whose end is when the value's memory may be used again. */
  put(key: string, value: Buffer): void {
    if (key.length <= LMDB_INLINE_KEY_MAX_BYTES) {
      void this.#database.put(this.#inline(key), value);
      return;
    }
    const row = Buffer.allocUnsafe(LENGTH_BYTES + key.length + value.length);
    row.writeUInt32LE(key.length, 0);
    row.write(key, LENGTH_BYTES, 'latin1');
    value.copy(row, LENGTH_BYTES + key.length);
    void this.#database.put(hashed(key), row);
    const index = lowerBound(this.#longKeys, key);
    if (this.#longKeys[index] !== key) this.#longKeys = this.#longKeys.toSpliced(index, 0, key);
  }

  /** Only inside of the environment's `write`. */
  remove(key: string): void {
    if (key.length <= LMDB_INLINE_KEY_MAX_BYTES) {
      void this.#database.remove(this.#inline(key));
      return;
    }
    void this.#database.remove(hashed(key));
    this.#longKeys = this.#longKeys.filter((known) => known !== key);
  }

  /** Rows with `from <= key <= to`; null means open. */
  *rows(from: string | null, to: string | null, isReverse: boolean): Generator<StoredRow> {
    try {
      yield* this.#rows(from, to, isReverse);
    } catch (error) {
      throw this.#asError(error);
    }
  }

  *#rows(from: string | null, to: string | null, isReverse: boolean): Generator<StoredRow> {
    const long = this.#longRange(from, to);
    if (isReverse) long.reverse();
    let next = 0;
    const isBefore = (a: string, b: string): boolean => (isReverse ? a > b : a < b);
    for (const row of this.#inlineRows(from, to, isReverse)) {
      for (; next < long.length && isBefore(long[next] as string, row[0]); next++) {
        yield this.#longRow(long[next] as string);
      }
      yield row;
    }
    for (; next < long.length; next++) yield this.#longRow(long[next] as string);
  }

  /** Rows on disk. */
  get rowCount(): number {
    return (this.#database.getStats() as { entryCount: number }).entryCount;
  }

  /** Removes all rows. */
  clear(): void {
    this.#database.clearSync();
    this.#longKeys = [];
  }

  async drop(): Promise<void> {
    await this.#database.drop();
  }

  *#inlineRows(from: string | null, to: string | null, isReverse: boolean): Generator<StoredRow> {
    const lowest = Buffer.from(this.#inline(from ?? ''));
    // A bound may be longer than any key here; then it is looked at below only.
    const isBound = to !== null && to.length < LMDB_INLINE_KEY_MAX_BYTES;
    const highest = isBound ? Buffer.concat([this.#inline(to), ZERO]) : AFTER_INLINE;
    // LMDB's range ends before `end`, in either direction.
    const range = isReverse
      ? { start: highest, end: lowest, reverse: true, exclusiveStart: false }
      : { start: lowest, end: highest };
    for (const { key, value } of this.#database.getRange(range)) {
      if (key[0] !== INLINE) continue;
      const text = key.toString('latin1', 1);
      if ((from !== null && text < from) || (to !== null && text > to)) continue;
      yield [text, value];
    }
    if (!isReverse) return;
    const first = this.#database.getBinary(lowest);
    const text = lowest.toString('latin1', 1);
    const isInRange = (from === null || text >= from) && (to === null || text <= to);
    if (first !== undefined && isInRange) yield [text, first];
  }

  #longRange(from: string | null, to: string | null): string[] {
    if (this.#longKeys.length === 0) return [];
    const start = from === null ? 0 : lowerBound(this.#longKeys, from);
    let end = to === null ? this.#longKeys.length : lowerBound(this.#longKeys, to);
    if (to !== null && this.#longKeys[end] === to) end++;
    return this.#longKeys.slice(start, end);
  }

  #longRow(key: string): StoredRow {
    const found = this.#database.getBinary(hashed(key)) ?? Buffer.alloc(0);
    return [key, found.subarray(LENGTH_BYTES + key.length)];
  }

  #readLongKeys(): string[] {
    const keys: string[] = [];
    const range = { start: Buffer.of(BY_HASH), end: Buffer.of(BY_HASH + 1) };
    for (const { value } of this.#database.getRange(range)) {
      const length = value.readUInt32LE(0);
      keys.push(value.toString('latin1', LENGTH_BYTES, LENGTH_BYTES + length));
    }
    return keys.sort();
  }

  /** In one reused buffer; LMDB copies it when it is called. */
  #inline(key: string): Buffer {
    this.#key[0] = INLINE;
    const length = this.#key.write(key, 1, 'latin1');
    return this.#key.subarray(0, 1 + length);
  }

  #inlineAt({ buffer, start, end }: ByteSpan): Buffer {
    this.#key[0] = INLINE;
    copyBytes(buffer, start, end, this.#key, 1);
    return this.#key.subarray(0, 1 + end - start);
  }
}

function textOf({ buffer, start, end }: ByteSpan): string {
  return buffer.toString('latin1', start, end);
}

function hashed(key: string): Buffer {
  return Buffer.concat([Buffer.of(BY_HASH), createHash('sha256').update(key, 'latin1').digest()]);
}
