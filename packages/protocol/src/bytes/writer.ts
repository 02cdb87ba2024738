import { DEFAULT_WRITER_INITIAL_BYTES, MAX_BATCH_BYTES } from '../limits.ts';
import { InvalidValueError } from './protocol-error.ts';
import { uuidFromString } from './uuid.ts';
import { sizeOfVarlong, writeUnsignedVarint, writeVarint, writeVarlong } from './varint.ts';

const MAX_INT16 = 0x7fff;

/** Writes Kafka's primitive types into a buffer that grows; the mirror of Reader. */
export class Writer {
  #buffer: Buffer;
  #length = 0;

  constructor(initialBytes = DEFAULT_WRITER_INITIAL_BYTES) {
    this.#buffer = Buffer.allocUnsafe(Math.max(16, initialBytes));
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  /** What was written, as a view: the next write may change it or leave it behind. */
  toBuffer(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Empty again, keeps its memory; views handed out before are overwritten. */
  reset(): void {
    this.#length = 0;
  }

  /** Makes room for `count` bytes and returns where they start; the bytes are left as they are. */
  reserve(count: number): number {
    const start = this.#length;
    const end = start + count;
    if (end > this.#buffer.length) this.#grow(end);
    this.#length = end;
    return start;
  }

  #grow(needed: number): void {
    if (needed > MAX_BATCH_BYTES) {
      throw new InvalidValueError(`a frame of ${needed} bytes is longer than an int32 can say`);
    }
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }

  writeInt8(value: number): void {
    const at = this.reserve(1);
    this.#buffer.writeInt8(value, at);
  }

  writeBoolean(value: boolean): void {
    const at = this.reserve(1);
    this.#buffer[at] = value ? 1 : 0;
  }

  writeInt16(value: number): void {
    const at = this.reserve(2);
    this.#buffer.writeInt16BE(value, at);
  }

  writeUint16(value: number): void {
    const at = this.reserve(2);
    this.#buffer.writeUInt16BE(value, at);
  }

  writeInt32(value: number): void {
    const at = this.reserve(4);
    this.#buffer.writeInt32BE(value, at);
  }

  writeUint32(value: number): void {
    const at = this.reserve(4);
    this.#buffer.writeUInt32BE(value, at);
  }

  writeInt64(value: bigint): void {
    const at = this.reserve(8);
    this.#buffer.writeBigInt64BE(value, at);
  }

  writeFloat64(value: number): void {
    const at = this.reserve(8);
    this.#buffer.writeDoubleBE(value, at);
  }

  writeUuid(text: string): void {
    this.writeBytes(uuidFromString(text));
  }

  /** Fills in a length or count whose place was reserved before. */
  setInt32(position: number, value: number): void {
    this.#buffer.writeInt32BE(value, position);
  }

  writeVarint(value: number): void {
    const at = this.reserve(5);
    this.#length = writeVarint(this.#buffer, at, value);
  }

  writeVarlong(value: number | bigint): void {
    const at = this.reserve(sizeOfVarlong(value));
    writeVarlong(this.#buffer, at, value);
  }

  writeUnsignedVarint(value: number): void {
    const at = this.reserve(5);
    this.#length = writeUnsignedVarint(this.#buffer, at, value);
  }

  /** The bytes alone, without a length. */
  writeBytes(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.#buffer.set(bytes, at);
  }

  writeString(text: string): void {
    this.writeNullableString(text);
  }

  writeNullableString(text: string | null): void {
    if (text === null) {
      this.writeInt16(-1);
      return;
    }
    const length = Buffer.byteLength(text);
    if (length > MAX_INT16) {
      throw new InvalidValueError(
        `a string of ${length} bytes ('${text.slice(0, 32)}…') exceeds the protocol's ${MAX_INT16}`,
      );
    }
    this.writeInt16(length);
    this.#writeText(text, length);
  }

  writeCompactString(text: string): void {
    this.writeCompactNullableString(text);
  }

  writeCompactNullableString(text: string | null): void {
    if (text === null) {
      this.writeUnsignedVarint(0);
      return;
    }
    const length = Buffer.byteLength(text);
    this.writeUnsignedVarint(length + 1);
    this.#writeText(text, length);
  }

  /** Int32 length and bytes. */
  writeSizedBytes(bytes: Uint8Array): void {
    this.writeNullableSizedBytes(bytes);
  }

  writeNullableSizedBytes(bytes: Uint8Array | null): void {
    this.writeInt32(bytes === null ? -1 : bytes.length);
    if (bytes !== null) this.writeBytes(bytes);
  }

  writeCompactBytes(bytes: Uint8Array): void {
    this.writeCompactNullableBytes(bytes);
  }

  writeCompactNullableBytes(bytes: Uint8Array | null): void {
    this.writeUnsignedVarint(bytes === null ? 0 : bytes.length + 1);
    if (bytes !== null) this.writeBytes(bytes);
  }

  /** -1 for null. */
  writeArrayCount(count: number): void {
    this.writeInt32(count);
  }

  /** -1 for null. */
  writeCompactArrayCount(count: number): void {
    this.writeUnsignedVarint(count + 1);
  }

  #writeText(text: string, length: number): void {
    const at = this.reserve(length);
    this.#buffer.write(text, at, length, 'utf8');
  }
}
