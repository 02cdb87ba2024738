import { RecordHeaders } from '@millrace/protocol';
import type { ProducedBytes } from './driver-producer.ts';
import { TestDriverError } from './test-driver-error.ts';
import type { TestRecord, TopicSerdes } from './test-record.ts';

/** What was written to a topic and not yet read. All readers of one topic share it. */
export interface Unread {
  readonly records: ProducedBytes[];
}

/**
 * Reads what a TopologyTestDriver's topology wrote to a topic, in order. A record is read once,
 * whichever method and reader reads it. Several partitions are read in the order of writing.
 */
export class TestOutputTopic<K, V> {
  readonly topic: string;
  readonly #serdes: TopicSerdes<K, V>;
  readonly #unread: Unread;

  /** Made by `driver.createOutputTopic()`. */
  constructor(topic: string, serdes: TopicSerdes<K, V>, unread: Unread) {
    this.topic = topic;
    this.#serdes = serdes;
    this.#unread = unread;
  }

  get isEmpty(): boolean {
    return this.#unread.records.length === 0;
  }

  /** Number of records that are not yet read. */
  get queueSize(): number {
    return this.#unread.records.length;
  }

  /** The next record. Throws TestDriverError if there is none. */
  readRecord(): TestRecord<K, V> {
    const record = this.#unread.records.shift();
    if (record !== undefined) return this.#decode(record);
    throw new TestDriverError(`The topic ${this.topic} has no record that is not yet read.`, {
      context: { topic: this.topic },
    });
  }

  readValue(): V | null {
    return this.readRecord().value;
  }

  readKeyValue(): readonly [K | null, V | null] {
    const { key, value } = this.readRecord();
    return [key, value];
  }

  /** All that is not yet read. */
  readRecords(): TestRecord<K, V>[] {
    return this.#unread.records.splice(0).map((record) => this.#decode(record));
  }

  readValues(): (V | null)[] {
    return this.readRecords().map(({ value }) => value);
  }

  readKeyValues(): (readonly [K | null, V | null])[] {
    return this.readRecords().map(({ key, value }) => [key, value] as const);
  }

  /** The last value of each key among all that is not yet read. */
  readKeyValuesToMap(): Map<K | null, V | null> {
    return new Map(this.readKeyValues());
  }

  #decode({ key, value, timestamp, headers, partition }: ProducedBytes): TestRecord<K, V> {
    const { topic } = this;
    return {
      key: key === null ? null : this.#serdes.key.deserialize(key, topic, headers),
      value: value === null ? null : this.#serdes.value.deserialize(value, topic, headers),
      timestamp,
      headers: headers ?? new RecordHeaders(),
      partition,
    };
  }
}
