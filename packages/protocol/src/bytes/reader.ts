import { MAX_VARINT_BYTES, MAX_VARLONG_BYTES } from '../limits.ts';
import { InvalidLengthError, TruncatedError } from './protocol-error.ts';
import { uuidToString } from './uuid.ts';

/**
 * Reads Kafka's primitive types from `buffer[start, end)`. Never reads past `end` and never
 * allocates from a length it has not checked: TruncatedError or InvalidLengthError instead.
 */
export class Reader {
  readonly buffer: Buffer;
  readonly end: number;
  position: number;
  /** Elements of arrays, over all of them, that may still be read. */
  elementsLeft = Infinity;

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    if (start < 0 || start > end || end > buffer.length) {
      throw new InvalidLengthError(
        `bounds [${start}, ${end}) lie outside a buffer of ${buffer.length} bytes`,
      );
    }
    this.buffer = buffer;
    this.position = start;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.position;
  }

  /** Takes `count` bytes and returns where they start. */
  skip(count: number): number {
    const position = this.position;
    if (!(count >= 0)) throw new InvalidLengthError(`length ${count} at byte ${position}`);
    if (count > this.end - position) {
      throw new TruncatedError(
        `${count} bytes wanted at byte ${position}, only ${this.end - position} are left`,
      );
    }
    this.position = position + count;
    return position;
  }

  readInt8(): number {
    return this.buffer.readInt8(this.skip(1));
  }

  readBoolean(): boolean {
    return this.buffer[this.skip(1)] !== 0;
  }

  readInt16(): number {
    return this.buffer.readInt16BE(this.skip(2));
  }

  readUint16(): number {
    return this.buffer.readUInt16BE(this.skip(2));
  }

  readInt32(): number {
    return this.buffer.readInt32BE(this.skip(4));
  }

  readUint32(): number {
    return this.buffer.readUInt32BE(this.skip(4));
  }

  readInt64(): bigint {
    return this.buffer.readBigInt64BE(this.skip(8));
  }

  readFloat64(): number {
    return this.buffer.readDoubleBE(this.skip(8));
  }

  /** Kafka's text form, 22 characters of base64url. */
  readUuid(): string {
    return uuidToString(this.buffer, this.skip(16));
  }

  /** Zigzag, 32 bits. */
  readVarint(): number {
    const bits = this.readUnsignedVarint();
    return (bits >>> 1) ^ -(bits & 1);
  }

  /** 0 to 2^32 - 1. */
  readUnsignedVarint(): number {
    const start = this.position;
    let bits = 0;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = this.buffer[this.skip(1)] as number;
      bits |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        if (i === MAX_VARINT_BYTES - 1 && byte > 0x0f) break;
        return bits >>> 0;
      }
    }
    throw new InvalidLengthError(`the varint at byte ${start} does not fit into 32 bits`);
  }

  /** Zigzag, 64 bits. */
  readVarlong(): bigint {
    const start = this.position;
    let bits = 0n;
    for (let i = 0; i < MAX_VARLONG_BYTES; i++) {
      const byte = this.buffer[this.skip(1)] as number;
      bits |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) {
        if (i === MAX_VARLONG_BYTES - 1 && byte > 0x01) break;
        return (bits >> 1n) ^ -(bits & 1n);
      }
    }
    throw new InvalidLengthError(`the varint at byte ${start} does not fit into 64 bits`);
  }

  /** `count` bytes as a view of the frame: copy what is kept. */
  readBytes(count: number): Buffer {
    const start = this.skip(count);
    return this.buffer.subarray(start, start + count);
  }

  readString(): string {
    return this.#notNull(this.readNullableString(), 'string');
  }

  readNullableString(): string | null {
    return this.#text(this.readInt16());
  }

  readCompactString(): string {
    return this.#notNull(this.readCompactNullableString(), 'string');
  }

  readCompactNullableString(): string | null {
    return this.#text(this.readUnsignedVarint() - 1);
  }

  /** Int32 length and bytes, as a view. */
  readSizedBytes(): Buffer {
    return this.#notNull(this.readNullableSizedBytes(), 'bytes field');
  }

  readNullableSizedBytes(): Buffer | null {
    return this.#view(this.readInt32());
  }

  readCompactBytes(): Buffer {
    return this.#notNull(this.readCompactNullableBytes(), 'bytes field');
  }

  readCompactNullableBytes(): Buffer | null {
    return this.#view(this.readUnsignedVarint() - 1);
  }

  /**
   * An int32 array count, -1 for null. It is checked against what is left of the frame, given the
   * fewest bytes that an element can take, so that nothing is allocated for a count that lies.
   */
  readArrayCount(minElementBytes = 1): number {
    return this.#count(this.readInt32(), minElementBytes);
  }

  /** The same in the flexible versions: unsigned varint of count + 1, -1 for null. */
  readCompactArrayCount(minElementBytes = 1): number {
    return this.#count(this.readUnsignedVarint() - 1, minElementBytes);
  }

  #count(count: number, minElementBytes: number): number {
    if (count < -1 || count * minElementBytes > this.end - this.position) {
      throw new InvalidLengthError(
        `an array of ${count} elements before byte ${this.position}: ` +
          `only ${this.end - this.position} bytes are left`,
      );
    }
    return count;
  }

  #text(length: number): string | null {
    if (length === -1) return null;
    const start = this.skip(length);
    return this.buffer.toString('utf8', start, start + length);
  }

  #view(length: number): Buffer | null {
    return length === -1 ? null : this.readBytes(length);
  }

  #notNull<T>(value: T | null, what: string): T {
    if (value === null) {
      throw new InvalidLengthError(`null before byte ${this.position} where a ${what} must be`);
    }
    return value;
  }
}
