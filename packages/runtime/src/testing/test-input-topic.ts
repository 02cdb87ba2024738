import { RecordHeaders } from '@millrace/protocol';
import { durationMs, type Duration } from '../dsl/duration.ts';
import type { Serde } from '../serdes/serde.ts';
import type { InputBytes } from './driver-partitions.ts';
import {
  epochMs,
  type InputTopicOptions,
  type PipedRecord,
  type PipeOptions,
} from './test-record.ts';

/** A record as a driver takes it. */
export interface PipedBytes extends InputBytes {
  /** So many of the key's bytes decide its partition. */
  readonly hashedBytes: number;
  readonly partition: number | undefined;
}

/**
 * Pipes records into a topic of a TopologyTestDriver. Each call returns when the record, and all that
 * follows from it, is processed: at once if no user function is asynchronous. Await it in any case;
 * it rejects if processing fails.
 */
export class TestInputTopic<K, V> {
  readonly topic: string;
  readonly #key: Serde<K>;
  readonly #value: Serde<V>;
  readonly #pipe: (record: PipedBytes) => Promise<void>;
  readonly #autoAdvanceMs: number;
  #timeMs: number;

  /** Made by `driver.createInputTopic()`. */
  constructor(
    topic: string,
    options: InputTopicOptions<K, V>,
    nowMs: number,
    pipe: (record: PipedBytes) => Promise<void>,
  ) {
    this.topic = topic;
    this.#key = options.key;
    this.#value = options.value;
    this.#pipe = pipe;
    this.#autoAdvanceMs = durationMs(options.autoAdvance ?? 0, 'autoAdvance');
    this.#timeMs = options.startTimestamp === undefined ? nowMs : epochMs(options.startTimestamp);
  }

  /** Of the next record that is given no timestamp, epoch ms. */
  get currentTimestamp(): number {
    return this.#timeMs;
  }

  /** Moves the topic's time on, for records that are given no timestamp. */
  advanceTime(by: Duration): void {
    this.#timeMs += durationMs(by, 'the time to advance');
  }

  async pipe(key: K | null, value: V | null, options: PipeOptions = {}): Promise<void> {
    // Serdes may add to them.
    const headers = options.headers?.copy() ?? new RecordHeaders();
    const keyBytes = key === null ? null : this.#key.serialize(key, this.topic, headers);
    const valueBytes = value === null ? null : this.#value.serialize(value, this.topic, headers);
    await this.#pipe({
      key: keyBytes,
      value: valueBytes,
      timestamp: this.#timestamp(options),
      headers: headers.isEmpty ? null : headers,
      hashedBytes: (keyBytes?.length ?? 0) - (this.#key.unhashedSuffixBytes ?? 0),
      partition: options.partition,
    });
  }

  /** A record without a key. */
  pipeValue(value: V | null, options: PipeOptions = {}): Promise<void> {
    return this.pipe(null, value, options);
  }

  pipeRecord(record: PipedRecord<K, V>): Promise<void> {
    return this.pipe(record.key ?? null, record.value, record);
  }

  /** One after the other. */
  async pipeRecords(records: Iterable<PipedRecord<K, V>>): Promise<void> {
    for (const record of records) await this.pipeRecord(record);
  }

  /** Pairs of key and value, one after the other. */
  async pipeKeyValues(pairs: Iterable<readonly [K | null, V | null]>): Promise<void> {
    for (const [key, value] of pairs) await this.pipe(key, value);
  }

  async pipeValues(values: Iterable<V | null>): Promise<void> {
    for (const value of values) await this.pipe(null, value);
  }

  #timestamp({ timestamp }: PipeOptions): number {
    if (timestamp !== undefined) return epochMs(timestamp);
    const now = this.#timeMs;
    this.#timeMs += this.#autoAdvanceMs;
    return now;
  }
}
