import type { RecordHeaders } from '@millrace/protocol';
import type { StreamPartitioner, TopicSender } from './record-collector.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import type { TaskContext } from './task-context.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/**
 * Writes to a topic. Sends every record as it is, null keys and null values included, with its
 * timestamp and headers. The partition is the partitioner's word, else murmur2 of the key's bytes.
 */
export class SinkOperator extends ProcessorNode {
  readonly topic: string;
  readonly #keySerde: RecordSerde<unknown>;
  readonly #valueSerde: RecordSerde<unknown>;
  readonly #partitioner: StreamPartitioner<unknown, unknown> | null;
  #sender: TopicSender | null = null;

  constructor(
    name: string,
    topic: string,
    keySerde: RecordSerde<unknown>,
    valueSerde: RecordSerde<unknown>,
    partitioner: StreamPartitioner<unknown, unknown> | null,
  ) {
    super(name);
    this.topic = topic;
    this.#keySerde = keySerde;
    this.#valueSerde = valueSerde;
    this.#partitioner = partitioner;
  }

  override init(context: TaskContext): void {
    this.#sender = context.collector.topic(this.topic, this.name);
  }

  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    return (this.#sender as TopicSender).send(
      key,
      this.#keySerde,
      value,
      this.#valueSerde,
      timestamp,
      headers,
      this.#partitioner,
    );
  }

  /** As in Kafka Streams, what sending throws is the error of the node before. */
  override attach(): void {}
}
