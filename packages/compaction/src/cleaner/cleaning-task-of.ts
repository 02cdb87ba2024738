import { OFFSET_INDEX_ENTRY_BYTES, TIME_INDEX_ENTRY_BYTES } from '../limits.ts';
import type { Log } from '../log/log.ts';
import type { CleanableRange } from './cleanable-range.ts';
import type { CleaningTask, SourceSegment } from './cleaning-task.ts';

/** What a pass over this range of the log needs to know, as it is now. */
export function cleaningTaskOf(
  log: Log,
  range: Pick<CleanableRange, 'firstDirtyOffset' | 'firstUncleanableOffset'>,
  nowMs: number,
  maxGroupSegments = Infinity,
): CleaningTask {
  const { firstDirtyOffset, firstUncleanableOffset } = range;
  const { segments, config } = log;
  const sources: SourceSegment[] = [];
  let firstDirtyPosition = 0;
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    if (next === undefined || segment.baseOffset >= firstUncleanableOffset) break;
    sources.push({
      baseOffset: segment.baseOffset,
      endOffset: next.baseOffset,
      sizeBytes: segment.sizeBytes,
      offsetIndexBytes: segment.offsetIndex.entryCount * OFFSET_INDEX_ENTRY_BYTES,
      timeIndexBytes: segment.timeIndex.entryCount * TIME_INDEX_ENTRY_BYTES,
      modifiedMs: segment.modifiedMs(),
    });
    if (segment.baseOffset <= firstDirtyOffset) {
      firstDirtyPosition = segment.offsetIndex.lookup(firstDirtyOffset);
    }
  }
  return {
    name: log.name,
    directory: log.directory,
    settings: {
      segmentBytes: config.segmentBytes,
      segmentIndexBytes: config.segmentIndexBytes,
      maxGroupSegments,
      indexIntervalBytes: config.indexIntervalBytes,
      deleteRetentionMs: config.deleteRetentionMs,
      maxDecompressedMessageBytes: config.maxDecompressedMessageBytes,
    },
    segments: sources,
    logStartOffset: log.logStartOffset,
    firstDirtyOffset,
    firstDirtyPosition,
    firstUncleanableOffset,
    highWatermark: log.highWatermark,
    nowMs,
    abortedTransactions: segments.flatMap((segment) => segment.txnIndex.entries()),
    producers: log.producers().map((producer) => ({
      producerId: producer.producerId,
      producerEpoch: producer.producerEpoch,
      lastDataOffset: producer.lastBatch?.lastOffset ?? -1n,
    })),
  };
}
