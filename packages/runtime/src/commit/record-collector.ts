import { murmur2, toPositive } from '@millrace/protocol';
import type { RecordHeaders } from '@millrace/protocol';
import type { PartitionBuffer, ProducerPort } from '../client/ports.ts';
import { InvariantError, ProductionError } from '../errors.ts';
import {
  KEY_SCRATCH_INITIAL_BYTES,
  KEY_SCRATCH_MAX_BYTES,
  STICKY_PARTITION_RECORDS,
} from '../limits.ts';
import type { Random } from '../platform/random.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import type {
  RecordCollector,
  StreamPartitioner,
  TopicSender,
} from '../operators/record-collector.ts';
import type { PartitionAppender } from '../state/partition-appender.ts';

/** The production handler's word on a record of the task; `fail` makes the collector throw. */
type ProductionFailure = (error: ProductionError) => 'fail' | 'continue';

export interface TaskRecordCollectorOptions {
  readonly producer: ProducerPort;
  readonly random: Random;
  readonly onFailure: ProductionFailure;
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

  topic(name: string): TopicSender {
    let sender = this.#senders.get(name);
    if (sender === undefined) {
      sender = new CollectorSender(name, this.#options, this.#scratch);
      this.#senders.set(name, sender);
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

/** Grows to the longest key of the task, and is used again for each. */
class KeyScratch {
  buffer = Buffer.allocUnsafe(KEY_SCRATCH_INITIAL_BYTES);

  /** End of the key that starts at 0. */
  write<K>(key: K, serde: RecordSerde<K>): number {
    for (;;) {
      const end = serde.write(key, this.buffer, 0);
      if (end >= 0) return end;
      if (this.buffer.length >= KEY_SCRATCH_MAX_BYTES) {
        throw new RangeError(
          `the key needs more than ${String(KEY_SCRATCH_MAX_BYTES)} bytes, or its serde ${serde.name} never fits`,
        );
      }
      this.buffer = Buffer.allocUnsafe(this.buffer.length * 2);
    }
  }
}

class CollectorSender implements TopicSender {
  readonly #topic: string;
  readonly #options: TaskRecordCollectorOptions;
  readonly #scratch: KeyScratch;
  #buffers: PartitionBuffer[] = [];
  #sticky = 0;
  #stickyLeft = 0;

  constructor(topic: string, options: TaskRecordCollectorOptions, scratch: KeyScratch) {
    this.#topic = topic;
    this.#options = options;
    this.#scratch = scratch;
  }

  prepare(): Promise<void> | undefined {
    if (this.#buffers.length > 0) return undefined;
    const count = this.#options.producer.partitionCount(this.#topic);
    if (typeof count === 'number') return this.#open(count);
    return count.then((known) => this.#open(known));
  }

  #open(count: number): undefined {
    const { producer, random } = this.#options;
    this.#buffers = Array.from({ length: count }, (_, p) => producer.partition(this.#topic, p));
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
  ): void {
    const count = this.#buffers.length;
    if (count === 0) throw this.#notPrepared();
    let stage: 'key' | 'partition' | 'value' = 'key';
    try {
      const scratch = this.#scratch;
      let keyEnd = -1;
      if (key !== null) keyEnd = scratch.write(key, keySerde);
      const source = keyEnd < 0 ? null : scratch.buffer;
      stage = 'partition';
      if (partitioner !== null) {
        const chosen = partitioner(this.#topic, key, value, headers, count);
        if (chosen !== undefined) {
          stage = 'value';
          if (typeof chosen === 'number') {
            this.#buffer(chosen).append(timestamp, source, 0, keyEnd, value, valueSerde, headers);
          } else {
            for (const partition of chosen) {
              this.#buffer(partition).append(
                timestamp,
                source,
                0,
                keyEnd,
                value,
                valueSerde,
                headers,
              );
            }
          }
          return;
        }
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
      (this.#buffers[partition] as PartitionBuffer).append(
        timestamp,
        source,
        0,
        keyEnd,
        value,
        valueSerde,
        headers,
      );
    } catch (error) {
      this.#failed(error, stage, keySerde, valueSerde);
    }
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

  #failed<K, V>(
    cause: unknown,
    stage: 'key' | 'partition' | 'value',
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
  ): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    const what =
      stage === 'key'
        ? `serialize the key with ${keySerde.name} for`
        : stage === 'partition'
          ? 'choose the partition in'
          : `append the record (value serde ${valueSerde.name}) to`;
    const error = new ProductionError(
      `Cannot ${what} topic ${this.#topic}: ${why}. Check the serdes and the size of the record, ` +
        'or drop such records with production.exception.handler=continue',
      { cause, context: { topic: this.#topic, stage } },
    );
    if (this.#options.onFailure(error) === 'fail') throw error;
  }

  #notPrepared(): InvariantError {
    return new InvariantError(
      `Topic ${this.#topic} was opened after the task started: its partition count is not known`,
      { context: { topic: this.#topic } },
    );
  }
}
