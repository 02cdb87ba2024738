import type { RecordCursor } from '@millrace/protocol';
import { RECOVERY_CHUNK_BYTES } from '../limits.ts';
import { BatchReader } from '../segment/batch-reader.ts';
import type { SegmentList } from '../segment/segment-list.ts';
import type { ProducerState } from './producer-state.ts';

export interface RebuildOptions {
  readonly producers: ProducerState;
  readonly segments: SegmentList;
  /**
   * Where the first segment begins. Batches before the log's start offset tell of producers, too: a
   * transaction may be open although delete-records has taken all of it that there is so far.
   */
  readonly startOffset: bigint;
  /** Up to here, exclusive. */
  readonly endOffset: bigint;
  readonly nowMs: number;
  readonly isCleanStart: boolean;
  readonly cursor: RecordCursor;
}

/**
 * Brings producer state up to `endOffset`: the latest usable snapshot, then the batches after it.
 * A clean shutdown without any snapshot had no producers, so nothing is read then and empty
 * snapshots are left for the last two segments and the end, as Kafka does.
 */
export function rebuildProducers(options: RebuildOptions): void {
  const { producers, segments, startOffset, endOffset, nowMs, isCleanStart, cursor } = options;
  const snapshotAt = snapshotOffsets(segments, endOffset);
  if (producers.latestSnapshotOffset === undefined && isCleanStart) {
    for (const offset of snapshotAt) {
      producers.mapEndOffset = offset;
      producers.takeSnapshot();
    }
    return;
  }
  const wasEmptyAtEnd = producers.isEmpty && producers.mapEndOffset >= endOffset;
  producers.reload(startOffset, endOffset, nowMs);
  if (endOffset > producers.mapEndOffset && !wasEmptyAtEnd) {
    for (const segment of segments.from(producers.mapEndOffset)) {
      if (segment.baseOffset >= endOffset) break;
      const start = greatest(segment.baseOffset, producers.mapEndOffset, startOffset);
      producers.mapEndOffset = start;
      if (snapshotAt.includes(segment.baseOffset)) producers.takeSnapshot();
      const reader = new BatchReader(
        segment.file,
        segment.positionOf(start),
        segment.sizeBytes,
        RECOVERY_CHUNK_BYTES,
      );
      for (let batch = reader.next(); batch; batch = reader.next()) {
        if (batch.baseOffset >= endOffset) break;
        const completed = producers.replay(batch, cursor);
        if (completed) producers.complete(completed);
        producers.mapEndOffset = batch.nextOffset;
      }
    }
  }
  producers.mapEndOffset = endOffset;
  producers.takeSnapshot();
}

function snapshotOffsets(segments: SegmentList, endOffset: bigint): bigint[] {
  if (segments.count === 0) return [endOffset];
  const bases = segments.all.slice(-2).map((segment) => segment.baseOffset);
  return [...bases, endOffset];
}

function greatest(...offsets: readonly bigint[]): bigint {
  return offsets.reduce((a, b) => (a > b ? a : b));
}
