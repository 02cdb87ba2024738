import { murmur2, toPositive } from '@millrace/protocol';
import type { RecordHeaders } from '@millrace/protocol';
import { TaskRecordCollector } from '../commit/record-collector.ts';
import type { StreamPartitioner, TopicSender } from '../operators/record-collector.ts';
import type {
  AcknowledgedBatch,
  ProducerPort,
  StreamsClient,
  UndeliveredBatch,
} from '../client/ports.ts';
import { ShutdownError } from '../errors.ts';
import { REQUEST_TIMEOUT_MS } from '../client/limits.ts';
import {
  TOPIC_WRITER_BATCH_BYTES,
  TOPIC_WRITER_BUFFER_BYTES,
  TOPIC_WRITER_DELIVERY_TIMEOUT_MS,
} from '../limits.ts';
import { systemClock } from '../platform/clock.ts';
import { systemRandom } from '../platform/random.ts';
import { toRecordSerde } from '../serdes/custom-serde.ts';
import type { RecordSerde, Serde } from '../serdes/serde.ts';

export interface TopicWriterOptions<K, V> {
  readonly topic: string;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Default: Kafka's, murmur2 of the key; records without a key spread. */
  readonly partitioner?: StreamPartitioner<K, V>;
  readonly compression?: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  /** How long a record may wait for others in its batch, ms; default 20. */
  readonly lingerMs?: number;
  /** `leader` is Kafka's acks=1: acknowledged before it is replicated. Default `all`. */
  readonly acks?: 'all' | 'leader';
  /** How long a record may go unacknowledged before it is given up, ms; default 120,000. */
  readonly deliveryTimeoutMs?: number;
  /** Asked about each batch that is given up: what it returns is thrown by `flush`, null lets it go. */
  readonly onUndelivered?: (batch: UndeliveredBatch) => Error | null;
  /** Called for each batch that a broker has acknowledged. */
  readonly onAcknowledged?: (batch: AcknowledgedBatch) => void;
}

export interface WrittenRecord {
  /** Epoch ms. */
  readonly timestamp: number;
  readonly headers?: RecordHeaders | null;
  /** Default: the partitioner decides. */
  readonly partition?: number;
}

/**
 * Writes records to a topic through the producer that the runtime itself uses: idempotent, acks=all,
 * in order per partition. For loading and for tests; a stream application writes with `to()`.
 */
export class TopicWriter<K, V> {
  readonly topic: string;
  readonly #producer: ProducerPort;
  readonly #sender: TopicSender;
  readonly #key: RecordSerde<K>;
  readonly #value: RecordSerde<V>;
  readonly #partitioner: StreamPartitioner<K, V> | null;
  readonly #waiting: Set<() => void>;
  readonly partitionCount: number;
  /** Records whose partitioner has promised its word. */
  readonly #sending = new Set<Promise<void>>();
  #sendFailure: unknown = null;
  /** Of the record in hand, if it has its own. */
  #givenPartition = 0;
  readonly #given: StreamPartitioner<K, V> = () => this.#givenPartition;

  private constructor(
    producer: ProducerPort,
    sender: TopicSender,
    partitionCount: number,
    waiting: Set<() => void>,
    options: TopicWriterOptions<K, V>,
  ) {
    this.topic = options.topic;
    this.#producer = producer;
    this.#sender = sender;
    this.partitionCount = partitionCount;
    this.#waiting = waiting;
    this.#key = toRecordSerde(options.key, options.topic);
    this.#value = toRecordSerde(options.value, options.topic);
    this.#partitioner = options.partitioner ?? null;
  }

  /** Fails with the topic's name if it does not exist (or cannot be created by the broker). */
  static async open<K, V>(
    client: StreamsClient,
    options: TopicWriterOptions<K, V>,
  ): Promise<TopicWriter<K, V>> {
    const { deliveryTimeoutMs = TOPIC_WRITER_DELIVERY_TIMEOUT_MS } = options;
    const waiting = new Set<() => void>();
    const producer = client.producer({
      lingerMs: options.lingerMs ?? 20,
      batchBytes: TOPIC_WRITER_BATCH_BYTES,
      bufferBytes: TOPIC_WRITER_BUFFER_BYTES,
      requestTimeoutMs: Math.min(REQUEST_TIMEOUT_MS, deliveryTimeoutMs),
      deliveryTimeoutMs,
      compression: options.compression ?? 'none',
      acks: options.acks ?? 'all',
      ...(options.onUndelivered === undefined ? {} : { onUndelivered: options.onUndelivered }),
      ...(options.onAcknowledged === undefined ? {} : { onAcknowledged: options.onAcknowledged }),
      onDrained: () => {
        for (const wake of waiting) wake();
        waiting.clear();
      },
    });
    const collector = new TaskRecordCollector({
      producer,
      random: systemRandom,
      onFailure: (_node, _record, error) => {
        throw error;
      },
      onDropped: () => undefined,
      now: () => systemClock.now(),
    });
    const sender = collector.topic(options.topic);
    await collector.prepare();
    const partitionCount = await producer.partitionCount(options.topic);
    return new TopicWriter(producer, sender, partitionCount, waiting, options);
  }

  /**
   * Encodes the record into its batch at once and returns; delivery failures show in `drained` and
   * `flush`. Throws ProductionError for a record that cannot be serialized or is too large, and
   * WrongTypeError for a key or value that is not of its serde's type.
   */
  send(key: K | null, value: V | null, record: WrittenRecord): void {
    this.#givenPartition = record.partition ?? 0;
    const sent = this.#sender.send(
      key,
      this.#key,
      value,
      this.#value,
      record.timestamp,
      record.headers ?? null,
      record.partition === undefined ? this.#partitioner : this.#given,
    );
    if (sent !== undefined) this.#waitFor(sent);
  }

  /** Where the default partitioner puts a record with this key, as any Kafka client does. */
  partitionOf(key: K): number {
    const bytes = this.#key.serialize(key, this.topic, null);
    const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const hashed = source.length - (this.#key.unhashedSuffixBytes ?? 0);
    return toPositive(murmur2(source, 0, hashed)) % this.partitionCount;
  }

  /** True when so much is buffered that `drained` should be awaited before more is sent. */
  get isFull(): boolean {
    return this.#producer.isFull;
  }

  /** Resolves when there is room again; rejects with the first delivery failure. */
  async drained(): Promise<void> {
    this.#throwSendFailure();
    if (this.#producer.failure !== null) throw this.#producer.failure;
    if (!this.#producer.isFull) return;
    await new Promise<void>((resolve) => this.#waiting.add(resolve));
    // The producer sets it while we wait; the compiler cannot know.
    const failure = this.#producer.failure as Error | null;
    if (failure !== null) throw failure;
  }

  /** Resolves when all that was sent is acknowledged. */
  async flush(): Promise<void> {
    await Promise.all(this.#sending);
    this.#throwSendFailure();
    await this.#producer.flush();
  }

  /** Flushes and closes, within `timeoutMs`. */
  async close(timeoutMs = 30_000): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      if (!(error instanceof ShutdownError)) throw error;
    } finally {
      await this.#producer.close(timeoutMs);
    }
  }

  #waitFor(sent: Promise<void>): void {
    const done: Promise<void> = sent
      .catch((error: unknown) => {
        this.#sendFailure ??= error;
      })
      .then(() => {
        this.#sending.delete(done);
      });
    this.#sending.add(done);
  }

  #throwSendFailure(): void {
    const failure = this.#sendFailure;
    this.#sendFailure = null;
    if (failure !== null) throw failure as Error;
  }
}
