import { BatchBuilder, RecordBatch, RecordCursor, type RecordHeaders } from '@millrace/protocol';
import type { PartitionBuffer, ProducerPort } from '../client/ports.ts';

/** A record in bytes, as a task sent it. */
export interface ProducedBytes {
  readonly topic: string;
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Epoch ms; -1: left to the producer. */
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/**
 * Takes what tasks send, over all topics and partitions in one order, until it is asked for it. Every
 * record goes through a record batch and back, so that what is read is what a broker would have.
 */
export class DriverProducer implements ProducerPort {
  readonly isFull = false;
  readonly failure = null;
  readonly #partitionCount: (topic: string) => number;
  readonly #buffers = new Map<string, PartitionBuffer>();
  readonly #builder = new BatchBuilder({ codec: 'none', maxBytes: 1 });
  readonly #cursor = new RecordCursor();
  #produced: ProducedBytes[] = [];

  constructor(partitionCount: (topic: string) => number) {
    this.#partitionCount = partitionCount;
  }

  partitionCount(topic: string): number {
    return this.#partitionCount(topic);
  }

  partition(topic: string, partition: number): PartitionBuffer {
    const name = `${topic}-${String(partition)}`;
    let buffer = this.#buffers.get(name);
    if (buffer === undefined) {
      buffer = this.#open(topic, partition);
      this.#buffers.set(name, buffer);
    }
    return buffer;
  }

  take(): ProducedBytes[] {
    const produced = this.#produced;
    this.#produced = [];
    return produced;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #open(topic: string, partition: number): PartitionBuffer {
    const builder = this.#builder;
    const cursor = this.#cursor;
    let endOffset = 0n;
    let appendedBytes = 0;
    return {
      append: (timestamp, keySource, keyStart, keyEnd, value, valueSerde, headers) => {
        builder.reset();
        builder.append(timestamp, keySource, keyStart, keyEnd, value, valueSerde, headers);
        cursor.open(new RecordBatch(Buffer.from(builder.build())));
        cursor.next();
        const record = { key: cursor.key(), value: cursor.value(), timestamp };
        this.#produced.push({ topic, partition, ...record, headers: cursor.nullableHeaders() });
        endOffset++;
        appendedBytes += builder.sizeInBytes;
      },
      get ackedEndOffset() {
        return endOffset === 0n ? null : endOffset;
      },
      get appendedBytes() {
        return appendedBytes;
      },
    };
  }
}
