import { Reader, type RecordCursor, type RecordHeaders } from '@millrace/protocol';
import { readTimestamp, writeTimestamp } from '../../serdes/windowed.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { StateStore, StoreContext } from '../store.ts';
import { bufferedRecordSerde, readVersion3 } from './buffer-format.ts';
import { BufferedRecord } from './buffered-record.ts';
import { ByteText } from './byte-text.ts';
import type { BufferOptions } from './change-buffer.ts';
import { changelogError } from './changelog-error.ts';
import { TimeOrderedQueue } from './time-ordered-queue.ts';

/** What Kafka's time-first keys begin with. */
const TIME_FIRST = 0;
const PREFIX_BYTES = 1;
const TIME_BYTES = 8;
const SEQUENCE_BYTES = 4;
const KEY_START = PREFIX_BYTES + TIME_BYTES;
const MAX_SEQUENCE = 0x7fffffff;
const PRODUCER_TIME = -1;
const withoutTime = bufferedRecordSerde(false);

/**
 * The buffer of a stream-table join with a grace period: every record of the stream, in the order of
 * timestamp, key bytes and arrival, until stream time has gone on by the grace period. Stream time is
 * the buffer's own: the highest timestamp that was put.
 *
 * Each record goes to the changelog at once, and a tombstone when it is let go. Key: a 0
 * byte, timestamp (8 bytes), the key's bytes, number of arrival (4 bytes); value: see `writeBuffered`.
 */
export class RecordBuffer<K, V> implements StateStore {
  readonly name: string;
  readonly isPersistent = false;
  isOpen = false;
  readonly #options: BufferOptions<K, V>;
  readonly #graceMs: number;
  readonly #queue = new TimeOrderedQueue<BufferedRecord>();
  readonly #text = new ByteText();
  readonly #frame = Buffer.alloc(KEY_START + SEQUENCE_BYTES);
  #streamTime = -1;
  #sequence = 0;
  #changelog: PartitionAppender | null = null;
  #partition = -1;

  constructor(options: BufferOptions<K, V>, graceMs: number) {
    this.name = options.name;
    this.#options = options;
    this.#graceMs = graceMs;
  }

  open(context: StoreContext, changelog: PartitionAppender | null): void {
    this.#partition = context.taskId.partition;
    this.#changelog = changelog;
    this.isOpen = true;
  }

  get recordCount(): number {
    return this.#queue.size;
  }

  /** The next record whose time has come. */
  get due(): BufferedRecord | undefined {
    const { first } = this.#queue;
    return first !== undefined && first.time <= this.#streamTime - this.#graceMs
      ? first
      : undefined;
  }

  /** False if the record comes too late: its time has gone by already. */
  put(
    key: K,
    value: V,
    timestamp: number,
    headers: RecordHeaders | null,
    topic: string | null,
    partition: number,
    offset: bigint,
  ): boolean {
    if (timestamp < this.#streamTime - this.#graceMs) return false;
    const keyBytes = this.#text.write(key, this.#options.key);
    this.#sequence = (this.#sequence + 1) & MAX_SEQUENCE;
    const record = new BufferedRecord(this.#id(timestamp, keyBytes, this.#sequence), timestamp);
    record.value = this.#text.write(value, this.#options.value);
    record.timestamp = timestamp;
    record.topic = topic;
    record.partition = partition;
    record.offset = offset;
    record.headers = headers?.copy() ?? null;
    this.#log(record.id, record);
    if (timestamp > this.#streamTime) this.#streamTime = timestamp;
    const kept = this.#queue.get(record.id);
    if (kept === undefined) this.#queue.add(record);
    else kept.adopt(record);
    return true;
  }

  keyOf(record: BufferedRecord): K {
    const { id } = record;
    return this.#text.read(id.slice(KEY_START, id.length - SEQUENCE_BYTES), this.#options.key);
  }

  valueOf(record: BufferedRecord): V {
    return this.#text.read(record.value as string, this.#options.value);
  }

  remove(record: BufferedRecord): void {
    this.#queue.remove(record);
    this.#log(record.id, null);
  }

  restore(cursor: RecordCursor): void {
    try {
      this.#restore(cursor);
    } catch (error) {
      const { name, topic } = this.#options;
      throw changelogError(name, topic, this.#partition, cursor.offset(), error);
    }
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  close(): void {
    this.isOpen = false;
    this.#changelog = null;
    this.#queue.clear();
    this.#streamTime = -1;
    this.#sequence = 0;
  }

  #restore(cursor: RecordCursor): void {
    const { buffer, keyStart, keyEnd } = cursor;
    if (keyStart < 0 || keyEnd - keyStart < KEY_START + SEQUENCE_BYTES) {
      throw new RangeError('its key is shorter than a timestamp and a number of arrival');
    }
    if (buffer[keyStart] !== TIME_FIRST) throw new RangeError('its key does not begin with a 0');
    const id = buffer.toString('latin1', keyStart, keyEnd);
    const time = readTimestamp(buffer, keyStart + PREFIX_BYTES);
    // What has been let go counts for stream time and arrival, too.
    if (time > this.#streamTime) this.#streamTime = time;
    const sequence = buffer.readInt32BE(keyEnd - SEQUENCE_BYTES);
    if (sequence > this.#sequence) this.#sequence = sequence;
    const kept = this.#queue.get(id);
    if (cursor.valueStart < 0) {
      if (kept !== undefined) this.#queue.remove(kept);
      return;
    }
    const bytes = new Reader(buffer, cursor.valueStart, cursor.valueEnd);
    const read = readVersion3(id, bytes);
    if (read.value === null) throw new RangeError('it has no value');
    const record = kept ?? new BufferedRecord(id, time);
    record.adopt(read);
    if (kept === undefined) this.#queue.add(record);
  }

  #id(timestamp: number, key: string, sequence: number): string {
    const frame = this.#frame;
    frame.writeInt32BE(sequence, writeTimestamp(timestamp, frame, PREFIX_BYTES));
    return frame.toString('latin1', 0, KEY_START) + key + frame.toString('latin1', KEY_START);
  }

  #log(id: string, record: BufferedRecord | null): void {
    if (this.#changelog === null) return;
    const key = this.#text.bytes(id);
    this.#changelog.append(PRODUCER_TIME, key, 0, id.length, record, withoutTime, null);
  }
}
