import type { RecordHeaders } from '@millrace/protocol';
import { composite } from './custom-serde.ts';
import { recordSerde } from './record-serde.ts';
import { isDetached, type RecordSerde, type Serde } from './serde.ts';
import { SerializationError, wrongType } from './serialization-error.ts';

/** The first byte: entries of one size follow without lengths, or each behind its length. */
const CONSTANT_SIZE = 0;
const VARIABLE_SIZE = 1;
const INT_BYTES = 4;
const NULL_LENGTH = -1;

export interface ListOptions {
  /** Entries may be null, as Kafka's lists allow; then the list's type says so. */
  readonly nulls?: boolean | undefined;
}

/**
 * Kafka's `ListSerializer`. Entries whose serde has a fixed size (numbers, uuid) are written one after
 * the other, behind the indexes of the null ones; others each behind its length. Null entries are
 * refused both ways unless `nulls` is set.
 */
export function list<T>(
  inner: Serde<T>,
  options: ListOptions & { readonly nulls: true },
): Serde<(T | null)[]>;
export function list<T>(inner: RecordSerde<T>, options?: ListOptions): RecordSerde<T[]>;
export function list<T>(inner: Serde<T>, options?: ListOptions): Serde<T[]>;
export function list<T>(inner: Serde<T>, options: ListOptions = {}): Serde<T[]> {
  return composite(inner, (entry) => listSerde(entry, options.nulls === true));
}

function listSerde<T>(inner: RecordSerde<T>, allowsNulls: boolean): RecordSerde<T[]> {
  const name = `list(${inner.name})`;
  return recordSerde<T[]>({
    name,
    isDetached: isDetached(inner),
    write(value, target, position) {
      if (!Array.isArray(value)) throw wrongType(name, 'arrays', value);
      if (!allowsNulls && value.includes(null as T)) throw nullEntry(name);
      return inner.fixedBytes === undefined
        ? writeVariable(inner, value, target, position)
        : writeConstant(inner, value, target, position);
    },
    read(source, start, end, headers) {
      const values = new ListReader(name, source, start, end).read(inner, headers ?? null);
      if (!allowsNulls && values.includes(null as T)) throw nullEntry(name);
      return values;
    },
  });
}

function nullEntry(name: string): SerializationError {
  return new SerializationError(
    `The serde "${name}" met a null in a list. Set its option "nulls" to allow for them.`,
  );
}

function writeVariable<T>(
  inner: RecordSerde<T>,
  values: readonly T[],
  target: Buffer,
  position: number,
): number {
  if (target.length - position < 1 + INT_BYTES) return -1;
  let at = target.writeInt32BE(values.length, target.writeUInt8(VARIABLE_SIZE, position));
  for (const value of values) {
    if (target.length - at < INT_BYTES) return -1;
    if (value === null) {
      at = target.writeInt32BE(NULL_LENGTH, at);
      continue;
    }
    const end = inner.write(value, target, at + INT_BYTES);
    if (end < 0) return -1;
    target.writeInt32BE(end - at - INT_BYTES, at);
    at = end;
  }
  return at;
}

function writeConstant<T>(
  inner: RecordSerde<T>,
  values: readonly T[],
  target: Buffer,
  position: number,
): number {
  let nullCount = 0;
  for (const value of values) if (value === null) nullCount++;
  if (target.length - position < 1 + (2 + nullCount) * INT_BYTES) return -1;
  let at = target.writeInt32BE(nullCount, target.writeUInt8(CONSTANT_SIZE, position));
  for (let i = 0; i < values.length; i++) {
    if (values[i] === null) at = target.writeInt32BE(i, at);
  }
  at = target.writeInt32BE(values.length, at);
  for (const value of values) {
    if (value === null) continue;
    at = inner.write(value, target, at);
    if (at < 0) return -1;
  }
  return at;
}

/** Reads one list, every count checked against the bytes that are there before anything is made of it. */
class ListReader {
  readonly #name: string;
  readonly #source: Buffer;
  readonly #end: number;
  readonly #length: number;
  #at: number;

  constructor(name: string, source: Buffer, start: number, end: number) {
    this.#name = name;
    this.#source = source;
    this.#at = start;
    this.#end = end;
    this.#length = end - start;
  }

  read<T>(inner: RecordSerde<T>, headers: RecordHeaders | null): T[] {
    const flag = this.#source[this.#take(1)];
    if (flag !== CONSTANT_SIZE && flag !== VARIABLE_SIZE) {
      throw this.#corrupt(`begins with ${String(flag)}, which is neither 0 nor 1`);
    }
    if (flag === VARIABLE_SIZE) return this.#entries(inner, headers, null, null);
    if (inner.fixedBytes === undefined) {
      throw this.#corrupt(`has entries of one size, but "${inner.name}" has none`);
    }
    return this.#entries(inner, headers, inner.fixedBytes, this.#nullIndexes());
  }

  #entries<T>(
    inner: RecordSerde<T>,
    headers: RecordHeaders | null,
    fixedBytes: number | null,
    nulls: ReadonlySet<number> | null,
  ): T[] {
    const count = this.#count();
    const values: T[] = [];
    for (let i = 0; i < count; i++) {
      if (nulls?.has(i) === true) {
        values.push(null as T);
        continue;
      }
      const length = fixedBytes ?? this.#int();
      if (length === NULL_LENGTH) {
        values.push(null as T);
        continue;
      }
      if (length < 0) throw this.#corrupt(`has an entry of ${String(length)} bytes`);
      const start = this.#take(length);
      values.push(inner.read(this.#source, start, start + length, headers));
    }
    return values;
  }

  #nullIndexes(): ReadonlySet<number> {
    const count = this.#count();
    const indexes = new Set<number>();
    for (let i = 0; i < count; i++) indexes.add(this.#int());
    return indexes;
  }

  #count(): number {
    const count = this.#int();
    if (count < 0 || count > this.#length) {
      throw this.#corrupt(`has ${String(count)} entries in ${String(this.#length)} bytes`);
    }
    return count;
  }

  #int(): number {
    return this.#source.readInt32BE(this.#take(INT_BYTES));
  }

  /** Where the next `length` bytes begin. */
  #take(length: number): number {
    const start = this.#at;
    if (length > this.#end - start) throw this.#corrupt('ends too early');
    this.#at = start + length;
    return start;
  }

  #corrupt(why: string): SerializationError {
    return new SerializationError(`The serde "${this.#name}" read a list that ${why}.`);
  }
}
