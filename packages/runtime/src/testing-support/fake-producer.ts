import { BatchBuilder } from '@millrace/protocol';
import type { RecordHeaders } from '@millrace/protocol';
import { MissingTopicError } from '../client/errors.ts';
import type {
  PartitionBuffer,
  ProducerOptions,
  ProducerPort,
  TopicPartitionKey,
  UndeliveredBatch,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import type { FakeCluster } from './fake-cluster.ts';
import { FakeLog } from './fake-log.ts';

/** What a producer with transactions does otherwise. */
interface FakeProducerHooks {
  /** Before a record is appended; may refuse. */
  readonly onAppend: () => void;
  /** Appends what was built. */
  readonly send: (topic: string, partition: number, builder: BatchBuilder) => void;
}

/** Encodes into real batches and appends them to the fake cluster when they are full or flushed. */
export class FakeProducer implements ProducerPort {
  readonly #cluster: FakeCluster;
  readonly #options: ProducerOptions;
  readonly #buffers = new Map<TopicPartitionKey, FakePartitionBuffer>();
  /** Set by tests: nothing more should be processed until it is cleared. */
  isFull = false;
  failure: Error | null = null;
  /** The next flush gives up what is buffered for these topics. */
  readonly losses = new Map<string, Error>();
  /** Awaited by each flush. */
  onFlush: (() => Promise<void>) | null = null;
  flushCount = 0;
  isClosed = false;
  readonly #hooks: FakeProducerHooks;

  constructor(cluster: FakeCluster, options: ProducerOptions, hooks?: FakeProducerHooks) {
    this.#cluster = cluster;
    this.#options = options;
    this.#hooks = hooks ?? {
      onAppend: () => undefined,
      send: (topic, partition, builder) => cluster.log(topic, partition).append(builder.build()),
    };
  }

  /** What was not sent is gone. */
  drop(): void {
    for (const buffer of this.#buffers.values()) buffer.drop();
  }

  partitionCount(topic: string): Promise<number> {
    const count = this.#cluster.partitionCount(topic);
    if (count === undefined) {
      return Promise.reject(new MissingTopicError(`Topic ${topic} does not exist`));
    }
    return Promise.resolve(count);
  }

  partition(topic: string, partition: number): PartitionBuffer {
    const key = topicPartitionKey(topic, partition);
    let buffer = this.#buffers.get(key);
    if (buffer === undefined) {
      buffer = new FakePartitionBuffer(
        this.#cluster,
        topic,
        partition,
        this.#options.batchBytes,
        this.#hooks,
      );
      this.#buffers.set(key, buffer);
    }
    return buffer;
  }

  /** The room that `isFull` asked for is there. */
  drained(): void {
    this.isFull = false;
    this.#options.onDrained();
  }

  async flush(): Promise<void> {
    this.flushCount++;
    await this.onFlush?.();
    let failure: Error | null = null;
    for (const buffer of this.#buffers.values()) {
      const error = this.losses.get(buffer.topic);
      if (error === undefined || buffer.isEmpty) {
        buffer.send();
        continue;
      }
      this.losses.delete(buffer.topic);
      const batch = buffer.giveUp(error);
      failure ??=
        this.#options.onUndelivered === undefined ? error : this.#options.onUndelivered(batch);
    }
    if (failure !== null) throw failure;
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

class FakePartitionBuffer implements PartitionBuffer {
  readonly #cluster: FakeCluster;
  readonly topic: string;
  readonly #partition: number;
  readonly #builder: BatchBuilder;
  ackedEndOffset: bigint | null = null;
  appendedBytes = 0;
  readonly #hooks: FakeProducerHooks;

  constructor(
    cluster: FakeCluster,
    topic: string,
    partition: number,
    batchBytes: number,
    hooks: FakeProducerHooks,
  ) {
    this.#hooks = hooks;
    this.#cluster = cluster;
    this.topic = topic;
    this.#partition = partition;
    this.#builder = new BatchBuilder({ codec: 'none', maxBytes: batchBytes });
  }

  append<V>(
    timestamp: number,
    keySource: Buffer | null,
    keyStart: number,
    keyEnd: number,
    value: V | null,
    valueSerde: RecordSerde<V>,
    headers: RecordHeaders | null,
  ): void {
    this.#hooks.onAppend();
    let before = this.#builder.sizeInBytes;
    while (
      !this.#builder.append(timestamp, keySource, keyStart, keyEnd, value, valueSerde, headers)
    ) {
      this.send();
      before = this.#builder.sizeInBytes;
    }
    this.appendedBytes += this.#builder.sizeInBytes - before;
  }

  get isEmpty(): boolean {
    return this.#builder.isEmpty;
  }

  drop(): void {
    this.#builder.reset();
  }

  giveUp(error: Error): UndeliveredBatch {
    const bytes = Buffer.from(this.#builder.build());
    const recordCount = this.#builder.recordCount;
    this.#builder.reset();
    const log = new FakeLog();
    log.append(bytes);
    const { topic } = this;
    const partition = this.#partition;
    return { topic, partition, error, recordCount, records: () => log.records() };
  }

  send(): void {
    if (this.#builder.isEmpty) return;
    this.#hooks.send(this.topic, this.#partition, this.#builder);
    this.#builder.reset();
    this.ackedEndOffset = this.#cluster.log(this.topic, this.#partition).endOffset;
    this.#cluster.changed(this.topic, this.#partition);
  }
}
