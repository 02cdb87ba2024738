import type { RecordHeaders } from '@millrace/protocol';
import type {
  BuiltTopology,
  PartitionAppender,
  ProcessorNode,
  RecordCollector,
  RecordSerde,
  SourceNode,
  StateStore,
  TaskContext,
  TimestampExtractor,
  TopicSender,
} from '@millrace/runtime';
import pino from 'pino';

/** A record on its way through the driver, as bytes. */
export interface DriverRecord {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

interface Queued extends DriverRecord {
  readonly offset: bigint;
}

interface Head {
  readonly record: Queued;
  readonly key: unknown;
  readonly value: unknown;
  readonly timestamp: number;
}

class Queue {
  readonly source: SourceNode;
  readonly waiting: Queued[] = [];
  head: Head | null = null;
  nextOffset = 0n;
  partitionTime = -1;

  constructor(source: SourceNode) {
    this.source = source;
  }
}

export interface DriverOptions {
  readonly continueOnBadBytes: boolean;
  readonly defaultExtractor: TimestampExtractor | null;
}

/**
 * One task, 0_0, for a whole topology, one partition a topic: what Kafka's TopologyTestDriver is to
 * the golden cases. What goes to an internal topic or to a source's topic is processed before a step ends.
 */
export class Driver {
  /** Of `recordDropped` and of skipped input. */
  dropped = 0;
  streamTime = -1;
  readonly stores = new Map<string, StateStore>();
  readonly #queues = new Map<string, Queue>();
  readonly #options: DriverOptions;
  /** Of records that were processed without failure, and of the one in hand. */
  #outputs: DriverRecord[] = [];
  #produced: DriverRecord[] = [];
  #current: Queued | null = null;

  constructor(built: BuiltTopology, options: DriverOptions) {
    this.#options = options;
    const nodes: ProcessorNode[] = [];
    const changelogs = new Map<string, string>();
    for (const { id, changelogs: logs } of built.subtopologies) {
      const task = built.instantiate(id, 0);
      for (const [topic, source] of task.sources) this.#queues.set(topic, new Queue(source));
      for (const [name, store] of task.stores) this.stores.set(name, store);
      for (const log of logs) changelogs.set(log.storeName, log.name);
      nodes.push(...task.nodes);
    }
    const context = this.#context();
    for (const [name, store] of this.stores) {
      const topic = changelogs.get(name);
      store.open(context, topic === undefined ? null : context.collector.partition(topic, 0));
    }
    for (const node of nodes) node.init(context);
  }

  /** Processes the record and all that follows from it; what it put out, in order. */
  async pipe(record: DriverRecord): Promise<void> {
    this.#enqueue(record);
    for (let queue = this.#next(); queue !== null; queue = this.#next()) {
      const head = queue.head as Head;
      queue.head = null;
      this.#current = head.record;
      this.streamTime = Math.max(this.streamTime, head.timestamp);
      queue.partitionTime = Math.max(queue.partitionTime, head.timestamp);
      const { headers } = head.record;
      await queue.source.process(head.key, head.value, null, head.timestamp, headers);
      this.#current = null;
      this.#captureProduced();
    }
  }

  knows(topic: string): boolean {
    return this.#queues.has(topic);
  }

  takeOutputs(): DriverRecord[] {
    const outputs = this.#outputs;
    this.#outputs = [];
    return outputs;
  }

  #enqueue(record: DriverRecord): void {
    const queue = this.#queues.get(record.topic);
    if (queue === undefined) throw new Error(`Unknown topic: ${record.topic}`);
    queue.waiting.push({ ...record, offset: queue.nextOffset++ });
  }

  /** The queue whose first record is the earliest. */
  #next(): Queue | null {
    let earliest: Queue | null = null;
    let earliestTime = Infinity;
    for (const queue of this.#queues.values()) {
      queue.head ??= this.#readHead(queue);
      if (queue.head !== null && queue.head.timestamp < earliestTime) {
        earliest = queue;
        earliestTime = queue.head.timestamp;
      }
    }
    return earliest;
  }

  #readHead(queue: Queue): Head | null {
    for (let record = queue.waiting.shift(); record !== undefined; record = queue.waiting.shift()) {
      const { source } = queue;
      let key: unknown;
      let value: unknown;
      try {
        key = read(source.keySerde, record.key);
        value = read(source.valueSerde, record.value);
      } catch (error) {
        if (!this.#options.continueOnBadBytes) throw error;
        this.dropped++;
        continue;
      }
      const timestamp = this.#timestamp(source, record, key, value, queue.partitionTime);
      if (timestamp >= 0) return { record, key, value, timestamp };
      this.dropped++;
    }
    return null;
  }

  #timestamp(
    source: SourceNode,
    record: Queued,
    key: unknown,
    value: unknown,
    partitionTime: number,
  ): number {
    const extractor = source.timestampExtractor ?? this.#options.defaultExtractor;
    if (extractor === null) {
      if (record.timestamp < 0) throw new Error(`invalid timestamp in ${record.topic}`);
      return record.timestamp;
    }
    const { topic, offset, timestamp } = record;
    return extractor({ topic, partition: 0, offset, timestamp, key, value }, partitionTime);
  }

  #captureProduced(): void {
    for (const record of this.#produced) {
      this.#outputs.push(record);
      if (this.#queues.has(record.topic)) this.#enqueue(record);
    }
    this.#produced = [];
  }

  #context(): TaskContext {
    const current = (): Queued | null => this.#current;
    const collector: RecordCollector = {
      topic: (topic) => this.#sender(topic),
      partition: (topic) => this.#appender(topic),
    };
    return {
      applicationId: 'golden',
      taskId: { subtopology: 0, partition: 0 },
      logger: pino({ level: 'silent' }),
      collector,
      get topic() {
        return current()?.topic ?? null;
      },
      get partition() {
        return current() === null ? -1 : 0;
      },
      offset: () => current()?.offset ?? -1n,
      currentStreamTimeMs: () => this.streamTime,
      currentSystemTimeMs: () => 0,
      store: (name) => {
        const store = this.stores.get(name);
        if (store === undefined) throw new Error(`no store ${name}`);
        return store;
      },
      requestCommit: () => undefined,
      recordDropped: () => {
        this.dropped++;
      },
    };
  }

  #sender(topic: string): TopicSender {
    return {
      send: (key, keySerde, value, valueSerde, timestamp, headers) => {
        this.#produced.push({
          topic,
          key: write(keySerde, key),
          value: write(valueSerde, value),
          timestamp,
          headers,
        });
      },
    };
  }

  #appender(topic: string): PartitionAppender {
    return {
      append: (timestamp, source, start, end, value, valueSerde, headers) => {
        this.#produced.push({
          topic,
          key: Buffer.from(source.subarray(start, end)),
          value: write(valueSerde, value),
          timestamp,
          headers,
        });
      },
    };
  }
}

function read(serde: RecordSerde<unknown>, bytes: Buffer | null): unknown {
  return bytes === null ? null : serde.read(bytes, 0, bytes.length);
}

/** Through `write`, as the record path does, in a buffer that is at first too small. */
function write<T>(serde: RecordSerde<T>, value: T | null): Buffer | null {
  if (value === null) return null;
  for (let size = 1; ; size *= 2) {
    const target = Buffer.alloc(size);
    const end = serde.write(value, target, 0);
    if (end >= 0) return target.subarray(0, end);
  }
}
