import { CorruptRecordError } from '../bytes/protocol-error.ts';
import { sizeOfVarint, writeVarint } from '../bytes/varint.ts';

export interface RecordHeader {
  readonly key: string;
  /** Null is a legal value, and not the same as an empty one. */
  readonly value: Buffer | null;
}

/**
 * A record's headers: ordered, keys may repeat, values may be null (KIP-82).
 *
 * Headers that were read from a record stay encoded until somebody looks at them, and are written
 * again as the same bytes as long as nobody changes them, so passing them on decodes nothing.
 */
export class RecordHeaders implements Iterable<RecordHeader> {
  /** Decoded form; null while only `#encoded` is known. */
  #list: RecordHeader[] | null = [];
  /** Wire form without the count; null once changed. */
  #encoded: Buffer | null = null;
  #size = 0;

  /** From another form: pairs, or whatever iterates as headers. */
  static from(
    headers: Iterable<{ readonly key: string; readonly value: Uint8Array | string | null }>,
  ): RecordHeaders {
    const result = new RecordHeaders();
    for (const header of headers) result.add(header.key, header.value);
    return result;
  }

  /**
   * `count` headers in their wire form, which the caller has checked. The bytes are kept: pass a
   * copy if the buffer is reused.
   */
  static fromEncoded(encoded: Buffer, count: number): RecordHeaders {
    const result = new RecordHeaders();
    result.#list = null;
    result.#encoded = encoded;
    result.#size = count;
    return result;
  }

  get size(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Appends; an earlier header of this key stays. Strings become UTF-8; bytes are kept, not copied. */
  add(key: string, value: Uint8Array | string | null): this {
    this.#changing().push({ key, value: toBuffer(value) });
    this.#size++;
    return this;
  }

  /** Removes every header of this key. */
  remove(key: string): this {
    const list = this.#decoded();
    const kept = list.filter((header) => header.key !== key);
    if (kept.length !== list.length) {
      this.#list = kept;
      this.#encoded = null;
      this.#size = kept.length;
    }
    return this;
  }

  /** Every header of this key, in order. */
  all(key: string): RecordHeader[] {
    return this.#decoded().filter((header) => header.key === key);
  }

  /** The header of this key that was added last: the one that counts, by Kafka's convention. */
  last(key: string): RecordHeader | undefined {
    return this.#decoded().findLast((header) => header.key === key);
  }

  /** Independent of this one for `add` and `remove`; the values are shared. */
  copy(): RecordHeaders {
    const result = new RecordHeaders();
    result.#list = this.#list === null ? null : this.#list.slice();
    result.#encoded = this.#encoded;
    result.#size = this.#size;
    return result;
  }

  toArray(): RecordHeader[] {
    return this.#decoded().slice();
  }

  [Symbol.iterator](): IterableIterator<RecordHeader> {
    return this.#decoded()[Symbol.iterator]();
  }

  /** Bytes that `encodeInto` writes: the count and the headers. */
  encodedSize(): number {
    const countSize = sizeOfVarint(this.#size);
    if (this.#encoded !== null) return countSize + this.#encoded.length;
    let size = countSize;
    for (const header of this.#decoded()) {
      const keyLength = Buffer.byteLength(header.key);
      size += sizeOfVarint(keyLength) + keyLength;
      const value = header.value;
      size += value === null ? 1 : sizeOfVarint(value.length) + value.length;
    }
    return size;
  }

  /** Writes the count and the headers as a record carries them; returns the end. */
  encodeInto(target: Buffer, position: number): number {
    let end = writeVarint(target, position, this.#size);
    if (this.#encoded !== null) return end + this.#encoded.copy(target, end);
    for (const header of this.#decoded()) {
      const keyLength = Buffer.byteLength(header.key);
      end = writeVarint(target, end, keyLength);
      end += target.write(header.key, end, keyLength, 'utf8');
      const value = header.value;
      end = writeVarint(target, end, value === null ? -1 : value.length);
      if (value !== null) end += value.copy(target, end);
    }
    return end;
  }

  #changing(): RecordHeader[] {
    const list = this.#decoded();
    this.#encoded = null;
    return list;
  }

  #decoded(): RecordHeader[] {
    if (this.#list === null) this.#list = decodeHeaders(this.#encoded as Buffer, this.#size);
    return this.#list;
  }
}

function toBuffer(value: Uint8Array | string | null): Buffer | null {
  if (value === null || Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function decodeHeaders(encoded: Buffer, count: number): RecordHeader[] {
  const list: RecordHeader[] = [];
  let position = 0;
  const length = (): number => {
    let bits = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = encoded[position++];
      if (byte === undefined) break;
      bits |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (bits >>> 1) ^ -(bits & 1);
    }
    throw new CorruptRecordError('record headers end inside a length');
  };
  const take = (size: number): number => {
    const start = position;
    if (size < 0 || size > encoded.length - start) {
      throw new CorruptRecordError(`a record header of ${size} bytes reaches past its record`);
    }
    position = start + size;
    return start;
  };
  for (let i = 0; i < count; i++) {
    const keyStart = take(length());
    const key = encoded.toString('utf8', keyStart, position);
    const valueLength = length();
    if (valueLength === -1) {
      list.push({ key, value: null });
    } else {
      const valueStart = take(valueLength);
      list.push({ key, value: encoded.subarray(valueStart, position) });
    }
  }
  return list;
}
