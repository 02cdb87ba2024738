import { crc32c } from '../bytes/crc32c.ts';
import { readInt64AsNumber, writeInt64FromNumber } from '../bytes/int64.ts';
import {
  CorruptRecordError,
  UnsupportedCodecError,
  UnsupportedMagicError,
} from '../bytes/protocol-error.ts';
import type { Codec } from '../compression/codec.ts';
import * as format from './batch-format.ts';

/**
 * A view of one v2 batch inside a buffer. It owns nothing: reading a field decodes it from the
 * header, and it can be pointed at the next batch with `at`.
 *
 * The constructor and `at` check the lengths, the magic and the counts, not the CRC. They throw
 * CorruptRecordError, or UnsupportedMagicError for the message sets before Kafka 0.11.
 */
export class RecordBatch {
  buffer: Buffer;
  position: number;
  /** The whole batch with its header, in bytes. */
  sizeInBytes: number;

  constructor(buffer: Buffer, position = 0) {
    this.buffer = buffer;
    this.position = position;
    this.sizeInBytes = checkedSize(buffer, position);
  }

  /** Points this view at another batch; when that throws, the view is where it was. */
  at(buffer: Buffer, position: number): this {
    const size = checkedSize(buffer, position);
    this.buffer = buffer;
    this.position = position;
    this.sizeInBytes = size;
    return this;
  }

  get baseOffset(): bigint {
    return this.buffer.readBigInt64BE(this.position);
  }

  get lastOffsetDelta(): number {
    return this.buffer.readInt32BE(this.position + format.LAST_OFFSET_DELTA_AT);
  }

  get lastOffset(): bigint {
    return this.baseOffset + BigInt(this.lastOffsetDelta);
  }

  /** The offset after this batch, also when its last records, or all of them, were compacted away. */
  get nextOffset(): bigint {
    return this.lastOffset + 1n;
  }

  get partitionLeaderEpoch(): number {
    return this.buffer.readInt32BE(this.position + format.LEADER_EPOCH_AT);
  }

  get magic(): number {
    return this.buffer.readInt8(this.position + format.MAGIC_AT);
  }

  /** As stored, unsigned. */
  get crc(): number {
    return this.buffer.readUInt32BE(this.position + format.CRC_AT);
  }

  get attributes(): number {
    return this.buffer.readInt16BE(this.position + format.ATTRIBUTES_AT);
  }

  /** Throws UnsupportedCodecError when the bits name none. */
  get codec(): Codec {
    const id = this.attributes & format.CODEC_MASK;
    const codec = format.CODECS[id];
    if (codec === undefined) {
      throw new UnsupportedCodecError(
        id,
        `the batch at offset ${this.baseOffset} is compressed with codec ${id}, which is unknown`,
      );
    }
    return codec;
  }

  get timestampType(): format.TimestampType {
    return (this.attributes & format.LOG_APPEND_TIME_BIT) !== 0 ? 'logAppendTime' : 'createTime';
  }

  get isTransactional(): boolean {
    return (this.attributes & format.TRANSACTIONAL_BIT) !== 0;
  }

  get isControl(): boolean {
    return (this.attributes & format.CONTROL_BIT) !== 0;
  }

  /** When tombstones and markers of this batch may be removed (KIP-534), epoch ms; null: not set. */
  get deleteHorizonMs(): number | null {
    return (this.attributes & format.DELETE_HORIZON_BIT) !== 0 ? this.baseTimestamp : null;
  }

  /** What record timestamps are deltas to. With a delete horizon it is that, and no record's time. */
  get baseTimestamp(): number {
    return readInt64AsNumber(this.buffer, this.position + format.BASE_TIMESTAMP_AT);
  }

  get maxTimestamp(): number {
    return readInt64AsNumber(this.buffer, this.position + format.MAX_TIMESTAMP_AT);
  }

  /** -1: none. */
  get producerId(): bigint {
    return this.buffer.readBigInt64BE(this.position + format.PRODUCER_ID_AT);
  }

  get hasProducerId(): boolean {
    // The sign of an int64 is that of its upper half.
    return this.buffer.readInt32BE(this.position + format.PRODUCER_ID_AT) >= 0;
  }

  get producerEpoch(): number {
    return this.buffer.readInt16BE(this.position + format.PRODUCER_EPOCH_AT);
  }

  /** -1: none. */
  get baseSequence(): number {
    return this.buffer.readInt32BE(this.position + format.BASE_SEQUENCE_AT);
  }

  /** Goes round after 2^31 - 1; -1: none. */
  get lastSequence(): number {
    const base = this.baseSequence;
    if (base === format.NO_SEQUENCE) return format.NO_SEQUENCE;
    return format.incrementSequence(base, this.lastOffsetDelta);
  }

  /** Zero in a batch that the cleaner keeps only for its producer state. */
  get recordCount(): number {
    return this.buffer.readInt32BE(this.position + format.RECORD_COUNT_AT);
  }

  /** The batch's bytes, as a view. */
  toBuffer(): Buffer {
    return this.buffer.subarray(this.position, this.position + this.sizeInBytes);
  }

  isValid(): boolean {
    return this.crc === this.#computeCrc();
  }

  /** Throws CorruptRecordError when the CRC does not match. */
  ensureValid(): void {
    const computed = this.#computeCrc();
    if (this.crc !== computed) {
      throw new CorruptRecordError(
        `the batch at offset ${this.baseOffset} (byte ${this.position}) is corrupt: ` +
          `stored CRC ${this.crc}, computed ${computed}`,
      );
    }
  }

  /** In place; outside the CRC. */
  setBaseOffset(offset: bigint): void {
    this.buffer.writeBigInt64BE(offset, this.position);
  }

  /** In place; outside the CRC. */
  setPartitionLeaderEpoch(epoch: number): void {
    this.buffer.writeInt32BE(epoch, this.position + format.LEADER_EPOCH_AT);
  }

  /** Makes every record carry the broker's time, epoch ms: no record is rewritten, the CRC is. */
  setLogAppendTime(maxTimestamp: number): void {
    this.setMaxTimestamp('logAppendTime', maxTimestamp);
  }

  /** Rewrites timestamp type and max timestamp in place and, if that changed anything, the CRC. */
  setMaxTimestamp(type: format.TimestampType, maxTimestamp: number): void {
    if (this.timestampType === type && this.maxTimestamp === maxTimestamp) return;
    const bit = format.LOG_APPEND_TIME_BIT;
    const attributes = type === 'logAppendTime' ? this.attributes | bit : this.attributes & ~bit;
    this.buffer.writeInt16BE(attributes, this.position + format.ATTRIBUTES_AT);
    writeInt64FromNumber(this.buffer, this.position + format.MAX_TIMESTAMP_AT, maxTimestamp);
    this.buffer.writeUInt32BE(this.#computeCrc(), this.position + format.CRC_AT);
  }

  #computeCrc(): number {
    const end = this.position + this.sizeInBytes;
    return crc32c(this.buffer, this.position + format.ATTRIBUTES_AT, end);
  }
}

function checkedSize(buffer: Buffer, position: number): number {
  const available = buffer.length - position;
  if (!(position >= 0) || available <= format.MAGIC_AT) {
    throw new CorruptRecordError(
      `a record batch at byte ${position} is cut: ${Math.max(0, available)} bytes are there`,
    );
  }
  const magic = buffer.readInt8(position + format.MAGIC_AT);
  const length = buffer.readInt32BE(position + format.BATCH_LENGTH_AT);
  if (magic !== format.CURRENT_MAGIC) throw unsupportedMagic(magic, buffer, position);
  const size = format.BATCH_LOG_OVERHEAD + length;
  if (size < format.BATCH_HEADER_BYTES) {
    throw corrupt(buffer, position, `length ${length} is below that of an empty batch`);
  }
  if (size > available) {
    throw corrupt(buffer, position, `${size} bytes long, but only ${available} are there`);
  }
  const lastOffsetDelta = buffer.readInt32BE(position + format.LAST_OFFSET_DELTA_AT);
  if (lastOffsetDelta < 0) {
    throw corrupt(buffer, position, `last offset delta ${lastOffsetDelta} is negative`);
  }
  const recordCount = buffer.readInt32BE(position + format.RECORD_COUNT_AT);
  if (recordCount < 0) throw corrupt(buffer, position, `record count ${recordCount} is negative`);
  return size;
}

function corrupt(buffer: Buffer, position: number, what: string): CorruptRecordError {
  const offset = buffer.readBigInt64BE(position);
  return new CorruptRecordError(`the batch at offset ${offset} (byte ${position}): ${what}`);
}

function unsupportedMagic(magic: number, buffer: Buffer, position: number): UnsupportedMagicError {
  const offset = buffer.readBigInt64BE(position);
  const why =
    magic === 0 || magic === 1
      ? `message format ${magic} of before Kafka 0.11; let a Kafka 4 broker rewrite it first`
      : 'no format that is known';
  return new UnsupportedMagicError(
    magic,
    `the batch at offset ${offset} (byte ${position}) has magic ${magic}: ${why}`,
  );
}
