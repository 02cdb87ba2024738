import type { RecordBatch } from '@millrace/protocol';
import type { CleaningTask, LastOfProducer } from '../cleaning-task.ts';

/**
 * Which batches stay although none of their records does: without the last batch of a producer its
 * sequence would be lost (KAFKA-5490), without the log's last batch its end (KAFKA-17076).
 */
export class BatchRetention {
  readonly #lastOfProducers: ReadonlyMap<bigint, LastOfProducer>;
  readonly #highWatermark: bigint;

  constructor(task: Pick<CleaningTask, 'producers' | 'highWatermark'>) {
    this.#lastOfProducers = new Map(task.producers.map((one) => [one.producerId, one]));
    this.#highWatermark = task.highWatermark;
  }

  isKeptEmpty(batch: RecordBatch): boolean {
    return (
      (batch.hasProducerId && this.#isLastOfProducer(batch)) ||
      batch.nextOffset === this.#highWatermark
    );
  }

  /** A producer that has only a marker is known by that: it has the epoch. */
  #isLastOfProducer(batch: RecordBatch): boolean {
    if (this.#lastOfProducers.size === 0) return false;
    const last = this.#lastOfProducers.get(batch.producerId);
    if (last === undefined) return false;
    return last.lastDataOffset >= 0n
      ? batch.lastOffset === last.lastDataOffset
      : batch.isControl && batch.producerEpoch === last.producerEpoch;
  }
}
