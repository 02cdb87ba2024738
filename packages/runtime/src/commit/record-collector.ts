import { murmur2, RecordHeaders, toPositive } from '@millrace/protocol';
import type { PartitionBuffer, ProducerPort } from '../client/ports.ts';
import { RecordTooLargeError } from '../client/errors.ts';
import type { DeadLetterRecord, ProducedRecord } from '../error-handlers.ts';
import { InvariantError, ProductionError, reasonOf, StreamsError } from '../errors.ts';
import {
  KEY_SCRATCH_INITIAL_BYTES,
  KEY_SCRATCH_MAX_BYTES,
  STICKY_PARTITION_RECORDS,
} from '../limits.ts';
import type { Random } from '../platform/random.ts';
import { CustomSerde } from '../serdes/custom-serde.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import { SerializationError, WrongTypeError, isWrongType } from '../serdes/serialization-error.ts';
import { bytesSerde } from '../serdes/simple.ts';
import { isPromise, type Outcome } from '../operators/outcome.ts';
import type {
  ChosenPartitions,
  RecordCollector,
  StreamPartitioner,
  TopicSender,
} from '../operators/record-collector.ts';
import type { PartitionAppender } from '../state/partition-appender.ts';

/** The production handler's word on a record that a node sends: throws, or returns if it is dropped. */
type ProductionFailure = (node: string, record: ProducedRecord, error: ProductionError) => void;

export interface TaskRecordCollectorOptions {
  readonly producer: ProducerPort;
  readonly random: Random;
  readonly onFailure: ProductionFailure;
  /** The partitioner chose no partition at all (KIP-837). */
  readonly onDropped: (node: string, topic: string) => void;
  /** Wall-clock time, for dead letters that come without one. */
  readonly now: () => number;
}

/**
 * A task's way out. A record is encoded straight into the open batch of its partition: the key first
 * into a scratch buffer, because the partition follows from its bytes, then both into the batch.
 */
export class TaskRecordCollector implements RecordCollector {
  readonly #options: TaskRecordCollectorOptions;
  readonly #senders = new Map<string, CollectorSender>();
  readonly #scratch = new KeyScratch();

  constructor(options: TaskRecordCollectorOptions) {
    this.#options = options;
  }

  /** `node` is who sends, for the production handler. */
  topic(name: string, node = ''): TopicSender {
    return this.#sender(name, node, this.#options.onFailure);
  }

  /** Before `prepare`: dead letters may go to this topic. */
  expectDeadLetters(topic: string): void {
    this.#sender(topic, DEAD_LETTERS, throwFailure);
  }

  /** What was sent so far, by topic and node; dead letters are nobody's. */
  *sent(): Generator<SentRecords> {
    for (const sender of this.#senders.values()) if (sender.node !== DEAD_LETTERS) yield sender;
  }

  hasDeadLetters(topic: string): boolean {
    return this.#senders.has(senderKey(topic, DEAD_LETTERS));
  }

  /** Writes what a handler answered with; a promise if the topic's partitions are not known yet. */
  deadLetter(record: DeadLetterRecord): Promise<void> | undefined {
    const sender = this.#sender(record.topic, DEAD_LETTERS, throwFailure);
    const prepared = sender.prepare();
    if (prepared === undefined) {
      this.#sendDeadLetter(sender, record);
      return undefined;
    }
    return prepared.then(() => {
      this.#sendDeadLetter(sender, record);
    });
  }

  #sendDeadLetter(sender: CollectorSender, record: DeadLetterRecord): void {
    const { key, value, partition, headers = null, timestamp = this.#options.now() } = record;
    const chosen = partition === undefined ? null : () => partition;
    void sender.send(key, bytesSerde, value, bytesSerde, timestamp, headers, chosen);
  }

  #sender(topic: string, node: string, onFailure: ProductionFailure): CollectorSender {
    const key = senderKey(topic, node);
    let sender = this.#senders.get(key);
    if (sender === undefined) {
      sender = new CollectorSender(topic, node, { ...this.#options, onFailure }, this.#scratch);
      this.#senders.set(key, sender);
    }
    return sender;
  }

  partition(topic: string, partition: number): PartitionAppender {
    return this.#options.producer.partition(topic, partition);
  }

  /** Learns the partition counts of all topics asked for so far; must be done before the first record. */
  prepare(): Promise<void> | undefined {
    let prepared: Promise<void> | undefined;
    for (const sender of this.#senders.values()) {
      if (prepared === undefined) prepared = sender.prepare();
      else prepared = prepared.then(() => sender.prepare());
    }
    return prepared;
  }
}

function senderKey(topic: string, node: string): string {
  return `${topic}\n${node}`;
}

/** Who sends dead letters; no node has this name. */
const DEAD_LETTERS = 'dead letters';

/** A dead letter that cannot be written is nobody's to decide about: it would only make another. */
const throwFailure: ProductionFailure = (_node, _record, error) => {
  throw error;
};

/** Grows to the longest key of the task, and is used again for each. */
class KeyScratch {
  buffer = Buffer.allocUnsafe(KEY_SCRATCH_INITIAL_BYTES);

  /** End of the key that starts at 0. */
  write<K>(key: K, serde: RecordSerde<K>): number {
    for (;;) {
      const end = serde.write(key, this.buffer, 0);
      if (end >= 0) return end;
      if (this.buffer.length >= KEY_SCRATCH_MAX_BYTES) {
        throw new SerializationError(
          `the key needs more than ${String(KEY_SCRATCH_MAX_BYTES)} bytes, or its serde ${serde.name} never fits`,
        );
      }
      this.buffer = Buffer.allocUnsafe(this.buffer.length * 2);
    }
  }
}

/** What a node has sent to a topic. */
export interface SentRecords {
  readonly topic: string;
  readonly node: string;
  readonly sentRecords: number;
  /** As they are in their batches, not compressed. */
  readonly sentBytes: number;
}

class CollectorSender implements TopicSender, SentRecords {
  readonly topic: string;
  readonly node: string;
  sentRecords = 0;
  sentBytes = 0;
  readonly #options: TaskRecordCollectorOptions;
  readonly #scratch: KeyScratch;
  #buffers: PartitionBuffer[] = [];
  /** The one partition that a partitioner chose: reused, so that a choice costs no array. */
  readonly #one: PartitionBuffer[] = [];
  #sticky = 0;
  #stickyLeft = 0;
  /** Those of the last record; nearly always those of the next. */
  #keySerde: unknown = null;
  #valueSerde: unknown = null;
  #isCustom = false;

  constructor(
    topic: string,
    node: string,
    options: TaskRecordCollectorOptions,
    scratch: KeyScratch,
  ) {
    this.topic = topic;
    this.node = node;
    this.#options = options;
    this.#scratch = scratch;
  }

  prepare(): Promise<void> | undefined {
    if (this.#buffers.length > 0) return undefined;
    const count = this.#options.producer.partitionCount(this.topic);
    if (typeof count === 'number') {
      this.#open(count);
      return undefined;
    }
    return count.then((known) => {
      this.#open(known);
    });
  }

  #open(count: number): void {
    const { producer, random } = this.#options;
    this.#buffers = Array.from({ length: count }, (_, p) => producer.partition(this.topic, p));
    this.#sticky = Math.floor(random() * count);
    this.#stickyLeft = STICKY_PARTITION_RECORDS;
  }

  send<K, V>(
    key: K | null,
    keySerde: RecordSerde<K>,
    value: V | null,
    valueSerde: RecordSerde<V>,
    timestamp: number,
    headers: RecordHeaders | null,
    partitioner: StreamPartitioner<K, V> | null,
  ): Outcome {
    if (this.#buffers.length === 0) throw this.#notPrepared();
    let chosen: ChosenPartitions;
    if (partitioner !== null) {
      // What it throws is the error of the node before, as in Kafka Streams.
      const answer = partitioner(this.topic, key, value, headers, this.#buffers.length);
      if (isPromise(answer)) {
        return this.#sendLater(answer, key, keySerde, value, valueSerde, timestamp, headers);
      }
      chosen = answer;
    }
    this.#sendTo(chosen, key, keySerde, value, valueSerde, timestamp, headers);
    return undefined;
  }

  async #sendLater<K, V>(
    pending: PromiseLike<ChosenPartitions>,
    key: K | null,
    keySerde: RecordSerde<K>,
    value: V | null,
    valueSerde: RecordSerde<V>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    this.#sendTo(await pending, key, keySerde, value, valueSerde, timestamp, headers);
  }

  #sendTo<K, V>(
    chosen: ChosenPartitions,
    key: K | null,
    keySerde: RecordSerde<K>,
    value: V | null,
    valueSerde: RecordSerde<V>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): void {
    const buffers = chosen === undefined ? null : this.#chosenBuffers(chosen);
    if (keySerde !== this.#keySerde || valueSerde !== this.#valueSerde) {
      this.#keySerde = keySerde;
      this.#valueSerde = valueSerde;
      this.#isCustom = keySerde instanceof CustomSerde || valueSerde instanceof CustomSerde;
    }
    if (this.#isCustom) {
      this.#sendCustom(buffers, key, keySerde, value, valueSerde, timestamp, headers);
    } else {
      this.#send(buffers, key, keySerde, value, valueSerde, timestamp, headers);
    }
  }

  /** Calls the user's serializers first, and once, because they may add headers. */
  #sendCustom<K, V>(
    buffers: readonly PartitionBuffer[] | null,
    key: K | null,
    keySerde: RecordSerde<K>,
    value: V | null,
    valueSerde: RecordSerde<V>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): void {
    const ownKey = keySerde instanceof CustomSerde ? (keySerde as CustomSerde<K>) : null;
    const ownValue = valueSerde instanceof CustomSerde ? (valueSerde as CustomSerde<V>) : null;
    const told = headers ?? new RecordHeaders();
    try {
      let stage: 'key' | 'value' = 'key';
      try {
        if (key !== null) ownKey?.prepare(key, this.topic, told);
        stage = 'value';
        if (value !== null) ownValue?.prepare(value, this.topic, told);
      } catch (error) {
        const serde = stage === 'key' ? keySerde.name : valueSerde.name;
        const record = { topic: this.topic, partition: null, key, value, timestamp, headers };
        this.#failed(error, stage, serde, record);
        return;
      }
      const sent = told.isEmpty ? headers : told;
      this.#send(buffers, key, keySerde, value, valueSerde, timestamp, sent);
    } finally {
      ownKey?.release();
      ownValue?.release();
    }
  }

  /** `buffers` are the chosen partitions'; null: the key decides. */
  #send<K, V>(
    buffers: readonly PartitionBuffer[] | null,
    key: K | null,
    keySerde: RecordSerde<K>,
    value: V | null,
    valueSerde: RecordSerde<V>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): void {
    const count = this.#buffers.length;
    let stage: 'key' | 'value' = 'key';
    try {
      const scratch = this.#scratch;
      let keyEnd = -1;
      if (key !== null) keyEnd = scratch.write(key, keySerde);
      const source = keyEnd < 0 ? null : scratch.buffer;
      if (buffers !== null) {
        stage = 'value';
        for (const buffer of buffers) {
          const before = buffer.appendedBytes;
          buffer.append(timestamp, source, 0, keyEnd, value, valueSerde, headers);
          this.sentRecords++;
          this.sentBytes += buffer.appendedBytes - before;
        }
        return;
      }
      let partition: number;
      if (source === null) {
        partition = this.#nextSticky();
      } else if (count === 1) {
        partition = 0;
      } else {
        const hashed = keyEnd - (keySerde.unhashedSuffixBytes ?? 0);
        partition = toPositive(murmur2(source, 0, hashed)) % count;
      }
      stage = 'value';
      const buffer = this.#buffers[partition] as PartitionBuffer;
      const before = buffer.appendedBytes;
      buffer.append(timestamp, source, 0, keyEnd, value, valueSerde, headers);
      this.sentRecords++;
      this.sentBytes += buffer.appendedBytes - before;
    } catch (error) {
      const serde = stage === 'key' ? keySerde.name : valueSerde.name;
      const record = { topic: this.topic, partition: null, key, value, timestamp, headers };
      this.#failed(error, stage, serde, record);
    }
  }

  #chosenBuffers(chosen: number | readonly number[]): readonly PartitionBuffer[] {
    if (typeof chosen === 'number') {
      this.#one[0] = this.#buffer(chosen);
      return this.#one;
    }
    if (chosen.length === 0) this.#options.onDropped(this.node, this.topic);
    return chosen.map((partition) => this.#buffer(partition));
  }

  #buffer(partition: number): PartitionBuffer {
    const buffer = this.#buffers[partition];
    if (buffer === undefined) {
      throw new RangeError(
        `the partitioner chose partition ${String(partition)}; the topic has ${String(this.#buffers.length)}`,
      );
    }
    return buffer;
  }

  /** Records without a key stay with one partition for a while, so that batches fill (KIP-480, KIP-794). */
  #nextSticky(): number {
    if (this.#stickyLeft === 0) {
      this.#sticky = (this.#sticky + 1) % this.#buffers.length;
      this.#stickyLeft = STICKY_PARTITION_RECORDS;
    }
    this.#stickyLeft--;
    return this.#sticky;
  }

  /**
   * A value of the wrong type is the error of the node before; so is what is no fault of the record.
   * About the rest the production handler decides.
   */
  #failed(cause: unknown, stage: 'key' | 'value', serde: string, record: ProducedRecord): void {
    const topic = this.topic;
    const why = reasonOf(cause);
    const context = { topic, stage, serde };
    if (isWrongType(cause)) {
      throw new WrongTypeError(`The ${stage} serde of topic ${topic} does not fit: ${why}`, {
        cause,
        context,
      });
    }
    if (cause instanceof StreamsError && cause.scope !== 'record') throw cause;
    const isTooLarge = cause instanceof RecordTooLargeError;
    const error = new ProductionError(
      isTooLarge
        ? `Cannot send a record to topic ${topic}: ${why}. Send smaller records, or drop such ones with production.exception.handler=continue`
        : `Cannot serialize the ${stage} with ${serde} for topic ${topic}: ${why}. Check the serdes, ` +
            'or drop such records with production.exception.handler=continue',
      { cause, context, stage: isTooLarge ? 'delivery' : stage },
    );
    this.#options.onFailure(this.node, record, error);
  }

  #notPrepared(): InvariantError {
    return new InvariantError(
      `Topic ${this.topic} was opened after the task started: its partition count is not known`,
      { context: { topic: this.topic } },
    );
  }
}
