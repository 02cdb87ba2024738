import { Reader, RecordHeaders } from '@millrace/protocol';
import { recordSerde } from '../../serdes/record-serde.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { readTimestamp, writeTimestamp } from '../../serdes/windowed.ts';
import { BufferedRecord } from './buffered-record.ts';

const LONG_BYTES = 8;
const INT_BYTES = 4;
const NULL_LENGTH = -1;
/** In the place of the old value's length: it is the prior value once more. */
const SAME_AS_PRIOR = -2;
/** A header's key and value have a length each. */
const HEADER_MIN_BYTES = 2 * INT_BYTES;
/** Two longs, topic length, partition, header count. */
const CONTEXT_MIN_BYTES = 2 * LONG_BYTES + 3 * INT_BYTES;

/**
 * Bytes that `writeBuffered` needs:
 *
 * ```
 * record context: timestamp (8) offset (8) topic (4 + n) partition (4) header count (4) {key (4 + n) value (4 + n)}
 * prior value (4 + n)  old value (4 + n, or -2: as the prior one)  new value (4 + n)  time in the buffer (8)
 * ```
 *
 * A length of -1 is null. It is version 3 of Kafka's buffer format.
 */
function sizeOfBuffered(record: BufferedRecord): number {
  let size = CONTEXT_MIN_BYTES + Buffer.byteLength(record.topic ?? '');
  for (const { key, value } of record.headers ?? []) {
    size += HEADER_MIN_BYTES + Buffer.byteLength(key) + (value?.length ?? 0);
  }
  size += 3 * INT_BYTES + LONG_BYTES + (record.prior?.length ?? 0) + (record.value?.length ?? 0);
  if (record.old !== null && record.old !== record.prior) size += record.old.length;
  return size;
}

/** Writes the record with `time` behind it; returns the end, or -1 if it does not fit. */
function writeBuffered(
  record: BufferedRecord,
  time: number,
  target: Buffer,
  start: number,
): number {
  if (sizeOfBuffered(record) > target.length - start) return -1;
  const { old, prior, headers } = record;
  let position = writeTimestamp(record.timestamp, target, start);
  position = target.writeBigInt64BE(record.offset, position);
  position = writeText(record.topic ?? '', target, position);
  position = target.writeInt32BE(record.partition, position);
  position = target.writeInt32BE(headers?.size ?? 0, position);
  for (const { key, value } of headers ?? []) {
    position = writeText(key, target, position);
    position = target.writeInt32BE(value === null ? NULL_LENGTH : value.length, position);
    if (value !== null) position += value.copy(target, position);
  }
  position = writeBytes(prior, target, position);
  if (old !== null && old === prior) position = target.writeInt32BE(SAME_AS_PRIOR, position);
  else position = writeBytes(old, target, position);
  position = writeBytes(record.value, target, position);
  return writeTimestamp(time, target, position);
}

/** Writes records with their own times behind them, or, `withTime` false, with 0. */
export function bufferedRecordSerde(withTime: boolean): RecordSerde<BufferedRecord> {
  return recordSerde<BufferedRecord>({
    name: 'buffered record',
    write: (record, target, position) =>
      writeBuffered(record, withTime ? record.time : 0, target, position),
    read: (source, start, end) => readVersion3('', new Reader(source, start, end)),
    maxBytes: sizeOfBuffered,
  });
}

function writeText(text: string, target: Buffer, position: number): number {
  const length = target.write(text, position + INT_BYTES, 'utf8');
  return target.writeInt32BE(length, position) + length;
}

function writeBytes(bytes: string | null, target: Buffer, position: number): number {
  if (bytes === null) return target.writeInt32BE(NULL_LENGTH, position);
  const end = target.writeInt32BE(bytes.length, position);
  return end + target.write(bytes, end, 'latin1');
}

/** Where a record was when it was put into the buffer. */
interface RecordContext {
  readonly timestamp: number;
  readonly offset: bigint;
  readonly topic: string | null;
  readonly partition: number;
  readonly headers: RecordHeaders | null;
}

/** What `writeBuffered` writes: version 3 (Kafka Streams 2.4 and later). Throws if the bytes are anything else. */
export function readVersion3(id: string, bytes: Reader): BufferedRecord {
  const context = readContext(bytes);
  const prior = readBytes(bytes);
  const oldLength = bytes.readInt32();
  const old = oldLength === SAME_AS_PRIOR ? prior : readBytesOf(bytes, oldLength);
  const value = readBytes(bytes);
  return restored(id, bytes, readLong(bytes), context, prior, old, value);
}

/**
 * Version 2: Kafka Streams 2.3.0 wrote the context, old and new value as one, and the prior value; a
 * later patch wrote version 3 under the same number.
 */
export function readVersion2(id: string, bytes: Reader): BufferedRecord {
  const start = bytes.position;
  try {
    const context = readContext(bytes);
    const { old, value } = readLegacyChange(bytes);
    const prior = readBytes(bytes);
    return restored(id, bytes, readLong(bytes), context, prior, old, value);
  } catch {
    bytes.position = start;
    return readVersion3(id, bytes);
  }
}

/** Version 1 has no prior value: it is what is kept already, or else the old one. */
export function readVersion1(
  id: string,
  bytes: Reader,
  kept: BufferedRecord | undefined,
): BufferedRecord {
  const time = readLong(bytes);
  const context = readContext(bytes);
  const { old, value } = readLegacyChange(bytes);
  return restored(id, bytes, time, context, kept === undefined ? old : kept.prior, old, value);
}

/** Version 0 has no record context either: the changelog record itself stands for it. */
export function readVersion0(
  id: string,
  bytes: Reader,
  place: RecordContext,
  kept: BufferedRecord | undefined,
): BufferedRecord {
  const time = readLong(bytes);
  const { old, value } = readChange(bytes);
  return restored(id, bytes, time, place, kept === undefined ? old : kept.prior, old, value);
}

function restored(
  id: string,
  bytes: Reader,
  time: number,
  context: RecordContext,
  prior: string | null,
  old: string | null,
  value: string | null,
): BufferedRecord {
  ensureRead(bytes);
  const record = new BufferedRecord(id, time);
  record.timestamp = context.timestamp;
  record.offset = context.offset;
  record.topic = context.topic;
  record.partition = context.partition;
  record.headers = context.headers;
  record.prior = prior;
  record.old = old;
  record.value = value;
  return record;
}

function ensureRead(bytes: Reader): void {
  if (bytes.remaining > 0) {
    throw new RangeError(`${String(bytes.remaining)} bytes are left over`);
  }
}

function readContext(bytes: Reader): RecordContext {
  const timestamp = readLong(bytes);
  const offset = bytes.readInt64();
  const topic = bytes.readSizedBytes().toString('utf8');
  const partition = bytes.readInt32();
  const count = bytes.readArrayCount(HEADER_MIN_BYTES);
  let headers: RecordHeaders | null = null;
  for (let i = 0; i < count; i++) {
    headers ??= new RecordHeaders();
    const key = bytes.readSizedBytes().toString('utf8');
    const value = bytes.readNullableSizedBytes();
    headers.add(key, value === null ? null : Buffer.from(value));
  }
  return { timestamp, offset, topic: topic === '' ? null : topic, partition, headers };
}

/** Old and new value as one field, each with its length inside of it. */
function readLegacyChange(bytes: Reader): { old: string | null; value: string | null } {
  return readChange(new Reader(bytes.readSizedBytes()));
}

function readChange(bytes: Reader): { old: string | null; value: string | null } {
  const old = readBytes(bytes);
  const value = readBytes(bytes);
  ensureRead(bytes);
  return { old, value };
}

function readBytes(bytes: Reader): string | null {
  return readBytesOf(bytes, bytes.readInt32());
}

function readBytesOf(bytes: Reader, length: number): string | null {
  if (length === NULL_LENGTH) return null;
  const start = bytes.skip(length);
  return bytes.buffer.toString('latin1', start, start + length);
}

function readLong(bytes: Reader): number {
  return readTimestamp(bytes.buffer, bytes.skip(LONG_BYTES));
}
