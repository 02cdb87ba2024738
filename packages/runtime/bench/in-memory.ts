import { BatchBuilder, BatchIterator } from '@millrace/protocol';
import type { RecordHeaders } from '@millrace/protocol';
import type { FetchedPartition, PartitionBuffer, ProducerPort } from '../src/client/ports.ts';
import type { RecordSerde } from '../src/serdes/serde.ts';

const BATCH_BYTES = 16_384;

/** Encodes as the real producer does, and drops each full batch after building it. */
export class DroppingProducer implements ProducerPort {
  recordCount = 0;
  readonly isFull = false;
  readonly failure = null;
  readonly #buffers = new Map<string, PartitionBuffer>();

  partitionCount(): Promise<number> {
    return Promise.resolve(1);
  }

  partition(topic: string, partition: number): PartitionBuffer {
    const key = `${topic}-${String(partition)}`;
    const buffer = this.#buffers.get(key) ?? new DroppingBuffer(this);
    this.#buffers.set(key, buffer);
    return buffer;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

class DroppingBuffer implements PartitionBuffer {
  readonly #producer: DroppingProducer;
  readonly #builder = new BatchBuilder({ codec: 'none', maxBytes: BATCH_BYTES });
  readonly ackedEndOffset = null;
  readonly appendedBytes = 0;

  constructor(producer: DroppingProducer) {
    this.#producer = producer;
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
    const builder = this.#builder;
    while (!builder.append(timestamp, keySource, keyStart, keyEnd, value, valueSerde, headers)) {
      this.#producer.recordCount += builder.recordCount;
      builder.build();
      builder.reset();
    }
  }
}

/** A fetch response of partition 0, as the fetcher hands it over. */
export function fetched(topic: string, records: Buffer): FetchedPartition {
  let nextOffset = 0n;
  const iterator = new BatchIterator(records);
  for (let batch = iterator.next(); batch !== null; batch = iterator.next()) {
    nextOffset = batch.nextOffset;
  }
  return {
    topic,
    partition: 0,
    records,
    abortedTransactions: [],
    highWatermark: nextOffset,
    lastStableOffset: nextOffset,
    logStartOffset: 0n,
    nextOffset,
    error: null,
  };
}
