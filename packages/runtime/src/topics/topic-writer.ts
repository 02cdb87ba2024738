import { murmur2, toPositive } from '@millrace/protocol';
import type { RecordHeaders } from '@millrace/protocol';
import { TaskRecordCollector } from '../commit/record-collector.ts';
import type { StreamPartitioner, TopicSender } from '../operators/record-collector.ts';
import type { ProducerPort, StreamsClient } from '../client/ports.ts';
import { ShutdownError } from '../errors.ts';
import { TOPIC_WRITER_BATCH_BYTES, TOPIC_WRITER_BUFFER_BYTES } from '../limits.ts';
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
}

export interface WrittenRecord {
  /** Epoch ms. */
  readonly timestamp: number;
  readonly headers?: RecordHeaders | null;
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
    const waiting = new Set<() => void>();
    const producer = client.producer({
      lingerMs: options.lingerMs ?? 20,
      batchBytes: TOPIC_WRITER_BATCH_BYTES,
      bufferBytes: TOPIC_WRITER_BUFFER_BYTES,
      requestTimeoutMs: 30_000,
      deliveryTimeoutMs: 120_000,
      compression: options.compression ?? 'none',
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
    const sent = this.#sender.send(
      key,
      this.#key,
      value,
      this.#value,
      record.timestamp,
      record.headers ?? null,
      this.#partitioner,
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
