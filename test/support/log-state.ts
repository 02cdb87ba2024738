import type { Log } from '@millrace/compaction';

/** A log's state in the words of the log oracle's answers. */
export interface LogStateAnswer {
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly highWatermark: number;
  readonly lastStableOffset: number;
  readonly segments: readonly { readonly base: number; readonly size: number }[];
  readonly producers: readonly { readonly batches: readonly object[] }[];
  readonly leaderEpochs: readonly object[];
}

/** What our log says of itself. */
export function logStateOf(log: Log): LogStateAnswer {
  return {
    logStartOffset: Number(log.logStartOffset),
    logEndOffset: Number(log.logEndOffset),
    highWatermark: Number(log.highWatermark),
    lastStableOffset: Number(log.lastStableOffset),
    segments: log.segments.map((segment) => ({
      base: Number(segment.baseOffset),
      size: segment.sizeBytes,
      nextOffset: Number(segment.readNextOffset()),
      largestTimestamp: segment.maxTimestamp,
      indexEntries: segment.offsetIndex.entryCount,
      timeIndexEntries: segment.timeIndex.entryCount,
      abortedTxns: segment.txnIndex.entries().length,
    })),
    producers: log.producers().map((producer) => ({
      producerId: Number(producer.producerId),
      producerEpoch: producer.producerEpoch,
      coordinatorEpoch: producer.coordinatorEpoch,
      lastTimestamp: producer.lastTimestamp,
      currentTxnFirstOffset: Number(producer.currentTxnFirstOffset),
      batches: producer.batches.map((batch) => ({
        firstSequence: batch.firstSequence,
        lastSequence: batch.lastSequence,
        firstOffset: Number(batch.firstOffset),
        lastOffset: Number(batch.lastOffset),
        timestamp: batch.timestamp,
      })),
    })),
    leaderEpochs: log.leaderEpochs.map((entry) => ({
      epoch: entry.epoch,
      startOffset: Number(entry.startOffset),
    })),
  };
}
