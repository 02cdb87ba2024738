import type { Log } from '@millrace/compaction';
import { BatchIterator, type RecordBatch } from '@millrace/protocol';

/** One partition of an internal topic, as its coordinator works on it. */
export interface CoordinatorTopicPartition {
  /** Of this leader, for what it appends. */
  readonly leaderEpoch: number;
  readonly log: Pick<
    Log,
    'appendAsLeader' | 'flushIfDue' | 'read' | 'logStartOffset' | 'logEndOffset'
  >;
}

/** `__consumer_offsets` or `__transaction_state` as its coordinator sees it. */
export interface CoordinatorTopic {
  /** 0 while the topic is not there. */
  readonly partitionCount: number;
  partition(index: number): CoordinatorTopicPartition | undefined;
}

/** One record as a coordinator writes it. */
export interface CoordinatorRecord {
  readonly key: Buffer;
  /** null: a tombstone. */
  readonly value: Buffer | null;
}

/**
 * Reads a partition from its start to its end, `bufferBytes` at a time. `from` is the first offset of the
 * batch that counts: a log may start within its first batch.
 */
export function replayPartition(
  { log }: CoordinatorTopicPartition,
  bufferBytes: number,
  onBatch: (batch: RecordBatch, from: bigint) => void,
): void {
  let offset = log.logStartOffset;
  while (offset < log.logEndOffset) {
    const { records } = log.read(offset, bufferBytes, { isolation: 'logEnd', minOneBatch: true });
    const batches = new BatchIterator(records);
    const from = offset;
    for (let batch = batches.next(); batch !== null; batch = batches.next()) {
      onBatch(batch, from);
      offset = batch.nextOffset;
    }
    // Compaction may have left a hole at the end.
    if (offset === from) return;
  }
}
