import { BatchBuilder, type RecordHeaders } from '@millrace/protocol';
import type { FetchedPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { RecordQueue } from '../tasks/record-queue.ts';
import type { StreamTask } from '../tasks/stream-task.ts';

/** A record in bytes on its way into a task. */
export interface InputBytes {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

interface Input {
  readonly task: StreamTask;
  readonly queue: RecordQueue;
  nextOffset: bigint;
}

/** The input partitions of all tasks: gives records their offsets and hands them over as fetched batches. */
export class DriverPartitions {
  readonly #inputs = new Map<string, Input>();
  readonly #builder = new BatchBuilder({ codec: 'none', maxBytes: 1 });

  add(task: StreamTask): void {
    for (const queue of task.queues) {
      const key = topicPartitionKey(queue.topic, queue.partition);
      this.#inputs.set(key, { task, queue, nextOffset: 0n });
    }
  }

  has(topic: string, partition: number): boolean {
    return this.#inputs.has(topicPartitionKey(topic, partition));
  }

  /** Nothing happens if no task reads the partition. */
  append(topic: string, partition: number, record: InputBytes): void {
    const input = this.#inputs.get(topicPartitionKey(topic, partition));
    if (input === undefined) return;
    const baseOffset = input.nextOffset++;
    this.#builder.reset();
    // The only negative time that a batch can hold is -1.
    const timestamp = Math.max(record.timestamp, -1);
    this.#builder.appendBytes(timestamp, record.key, record.value, record.headers);
    const end = input.nextOffset;
    const fetched: FetchedPartition = {
      topic,
      partition,
      records: Buffer.from(this.#builder.build({ baseOffset })),
      abortedTransactions: [],
      highWatermark: end,
      lastStableOffset: end,
      logStartOffset: 0n,
      nextOffset: end,
      error: null,
    };
    input.task.push(input.queue, fetched, end);
  }
}
