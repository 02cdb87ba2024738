import type { RecordHeaders } from '@millrace/protocol';
import { ProductionError } from '../errors.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import { isPromise } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import type { StreamPartitioner, TopicSender } from './record-collector.ts';
import type { TaskContext } from './task-context.ts';
import type { RecordContext, TopicNameExtractor } from './topic-name-extractor.ts';

/**
 * `to` with a function that names the topic of each record. Otherwise as with one topic: every record
 * is sent as it is, with its timestamp and headers. The first record for a topic waits until the
 * topic's partition count is known; the later ones do not. A topic that does not exist is an error.
 */
export class DynamicSinkOperator extends ProcessorNode {
  readonly #extractor: TopicNameExtractor<unknown, unknown>;
  readonly #keySerde: RecordSerde<unknown>;
  readonly #valueSerde: RecordSerde<unknown>;
  readonly #partitioner: StreamPartitioner<unknown, unknown> | null;
  readonly #senders = new Map<string, TopicSender>();
  readonly #record = new CurrentRecord();
  #task: TaskContext | null = null;

  constructor(
    name: string,
    extractor: TopicNameExtractor<unknown, unknown>,
    keySerde: RecordSerde<unknown>,
    valueSerde: RecordSerde<unknown>,
    partitioner: StreamPartitioner<unknown, unknown> | null,
  ) {
    super(name);
    this.#extractor = extractor;
    this.#keySerde = keySerde;
    this.#valueSerde = valueSerde;
    this.#partitioner = partitioner;
  }

  override init(context: TaskContext): void {
    this.#task = context;
    this.#record.task = context;
  }

  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    this.#record.timestamp = timestamp;
    this.#record.headers = headers;
    const topic = this.#extractor(key, value, this.#record);
    if (isPromise(topic)) return this.#sendLater(topic, key, value, timestamp, headers);
    return this.#sendTo(topic, key, value, timestamp, headers);
  }

  /** As with one topic, what sending throws is the error of the node before. */
  override attach(): void {}

  #sendTo(
    topic: string,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const known = this.#senders.get(topic);
    if (known !== undefined) {
      return this.#send(known, key, value, timestamp, headers);
    }
    const sender = this.#open(topic);
    const prepared = sender.prepare();
    if (prepared !== undefined) {
      return this.#sendPrepared(prepared, topic, sender, key, value, timestamp, headers);
    }
    this.#senders.set(topic, sender);
    return this.#send(sender, key, value, timestamp, headers);
  }

  async #sendLater(
    pending: PromiseLike<string>,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#sendTo(await pending, key, value, timestamp, headers);
  }

  async #sendPrepared(
    prepared: Promise<void>,
    topic: string,
    sender: TopicSender,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    try {
      await prepared;
    } catch (error) {
      throw this.#unusable(topic, error);
    }
    this.#senders.set(topic, sender);
    await this.#send(sender, key, value, timestamp, headers);
  }

  #send(
    sender: TopicSender,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const partitioner = this.#partitioner;
    return sender.send(
      key,
      this.#keySerde,
      value,
      this.#valueSerde,
      timestamp,
      headers,
      partitioner,
    );
  }

  #open(topic: unknown): TopicSender {
    if (typeof topic !== 'string' || topic === '') {
      // What the user's function did wrong; the task adds the record's place.
      throw new TypeError(
        `The topic name extractor of the sink ${this.name} returned ${String(topic)}: ` +
          'it must return the name of a topic for every record. Filter out the records that belong to none.',
      );
    }
    return (this.#task as TaskContext).collector.topic(topic, this.name);
  }

  #unusable(topic: string, cause: unknown): ProductionError {
    const why = cause instanceof Error ? cause.message : String(cause);
    return new ProductionError(
      `The topic name extractor of the sink ${this.name} chose the topic ${topic}, which cannot be written: ${why}. ` +
        'Topics must exist before records are sent to them: create it, or correct the name.',
      { cause, context: { node: this.name, topic } },
    );
  }
}

/** One for all records of a sink, so that none is made per record. */
class CurrentRecord implements RecordContext {
  task: TaskContext | null = null;
  timestamp = -1;
  headers: RecordHeaders | null = null;

  get topic(): string | null {
    return this.#task.topic;
  }

  get partition(): number {
    return this.#task.partition;
  }

  get offset(): bigint {
    return this.#task.offset();
  }

  get #task(): TaskContext {
    return this.task as TaskContext;
  }
}
