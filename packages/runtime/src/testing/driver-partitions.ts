import { BatchBuilder, type RecordHeaders } from '@millrace/protocol';
import type { FetchedPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';

/** A record in bytes on its way into the topology. */
export interface InputBytes {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

interface Input {
  readonly push: (fetched: FetchedPartition) => void;
  nextOffset: bigint;
}

/** The partitions that the topology reads: gives records their offsets and hands them over as fetched batches. */
export class DriverPartitions {
  readonly #inputs = new Map<string, Input>();
  readonly #builder = new BatchBuilder({ codec: 'none', maxBytes: 1 });

  /** `push` takes what comes on the partition. */
  add(topic: string, partition: number, push: (fetched: FetchedPartition) => void): void {
    this.#inputs.set(topicPartitionKey(topic, partition), { push, nextOffset: 0n });
  }

  has(topic: string, partition: number): boolean {
    return this.#inputs.has(topicPartitionKey(topic, partition));
  }

  /** Nothing happens if nobody reads the partition. */
  append(topic: string, partition: number, record: InputBytes): void {
    const input = this.#inputs.get(topicPartitionKey(topic, partition));
    if (input === undefined) return;
    const baseOffset = input.nextOffset++;
    this.#builder.reset();
    // The only negative time that a batch can hold is -1.
    const timestamp = Math.max(record.timestamp, -1);
    this.#builder.appendBytes(timestamp, record.key, record.value, record.headers);
    const end = input.nextOffset;
    input.push({
      topic,
      partition,
      records: Buffer.from(this.#builder.build({ baseOffset })),
      abortedTransactions: [],
      highWatermark: end,
      lastStableOffset: end,
      logStartOffset: 0n,
      nextOffset: end,
      error: null,
    });
  }
}
