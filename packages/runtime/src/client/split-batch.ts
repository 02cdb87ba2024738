import { incrementSequence, RecordBatch, RecordCursor } from '@millrace/protocol';
import { InvariantError } from '../errors.ts';
import type { BatchPool } from './batch-pool.ts';
import { ProduceBatch } from './produce-batch.ts';

/**
 * Halves a batch that a broker found too large, keeping records, headers and timestamps. Together the
 * halves take the sequences of the whole, so that later batches keep theirs.
 */
export function splitBatch(batch: ProduceBatch, pool: BatchPool): readonly ProduceBatch[] {
  const { bytes, identity, baseSequence, recordCount, createdAt, codecIsNone, transaction } = batch;
  if (bytes === null || identity === null) throw new InvariantError('A batch is split unsent');
  const cursor = new RecordCursor();
  cursor.open(new RecordBatch(bytes));
  const firstCount = Math.ceil(recordCount / 2);
  const halves: ProduceBatch[] = [];
  for (const [index, count] of [firstCount, recordCount - firstCount].entries()) {
    const builder = pool.take();
    for (let i = 0; i < count && cursor.next(); i++) {
      builder.appendBytes(cursor.timestamp, cursor.key(), cursor.value(), cursor.nullableHeaders());
    }
    // Behind each other, and before the next batch of the partition.
    const ordinal = batch.ordinal + index * batch.ordinalWidth * 0.5;
    const half = new ProduceBatch(ordinal, createdAt, builder, codecIsNone, transaction);
    half.ordinalWidth = batch.ordinalWidth * 0.5;
    half.recordCount = builder.recordCount;
    half.bufferedBytes = builder.sizeInBytes;
    half.attemptCount = batch.attemptCount;
    half.stamp(identity, incrementSequence(baseSequence, index * firstCount));
    halves.push(half);
  }
  return halves;
}
