import { ProtocolError } from '@millrace/protocol';
import type { RecordBatch, RecordCursor } from '@millrace/protocol';
import type { LogConfig } from '../config.ts';
import { CorruptBatchError, SegmentOverflowError } from '../errors.ts';
import { RECOVERY_CHUNK_BYTES } from '../limits.ts';
import { BatchReader } from '../segment/batch-reader.ts';
import type { Segment } from '../segment/segment.ts';
import type { LeaderEpochs } from './leader-epochs.ts';
import type { ProducerState } from './producer-state.ts';

/**
 * Reads a segment from its start, rebuilds its indexes and takes its batches into producer state and
 * epochs. What follows the last good batch (CRC, lengths, offsets that rise and fit) is cut off.
 *
 * Returns how many bytes were cut, and why.
 */
export function recoverSegment(
  segment: Segment,
  producers: ProducerState,
  epochs: LeaderEpochs | null,
  config: LogConfig,
  cursor: RecordCursor,
): { truncatedBytes: number; reason: string | null } {
  const before = segment.sizeBytes;
  segment.resetIndexes();
  const reader = new BatchReader(segment.file, 0, before, RECOVERY_CHUNK_BYTES);
  let validBytes = 0;
  let nextOffset = segment.baseOffset;
  let reason: string | null = null;
  try {
    for (let batch = reader.next(); batch; batch = reader.next()) {
      ensurePlausible(segment, batch, nextOffset, validBytes);
      if (epochs && batch.partitionLeaderEpoch > epochs.latest) {
        epochs.assign(batch.partitionLeaderEpoch, batch.baseOffset);
      }
      replayInto(producers, segment, batch, cursor);
      segment.recoverBatch(
        validBytes,
        batch.sizeInBytes,
        batch.lastOffset,
        batch.maxTimestamp,
        config,
      );
      nextOffset = batch.nextOffset;
      producers.mapEndOffset = nextOffset;
      validBytes += batch.sizeInBytes;
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    reason = error instanceof Error ? error.message : String(error);
  }
  segment.truncateLog(validBytes);
  segment.becomeInactive();
  segment.persistIndexes();
  return { truncatedBytes: before - validBytes, reason };
}

function ensurePlausible(
  segment: Segment,
  batch: RecordBatch,
  nextOffset: bigint,
  position: number,
): void {
  batch.ensureValid();
  if (batch.baseOffset >= nextOffset) {
    if (segment.fits(batch.lastOffset)) return;
    // Intact data that an old cleaner merged too far; cutting it off would lose it.
    throw new SegmentOverflowError(
      `${segment.path} at byte ${String(position)}: offset ${String(batch.lastOffset)} is more than 2^31 above ` +
        `the segment's base; open the directory with Kafka once, which splits such segments`,
    );
  }
  throw new CorruptBatchError(
    `${segment.path} at byte ${String(position)}: offsets ${String(batch.baseOffset)} to ` +
      `${String(batch.lastOffset)} do not follow ${String(nextOffset - 1n)}`,
  );
}

/** One batch found on disk: into producer state and, if it aborts a transaction, into the index. */
function replayInto(
  producers: ProducerState,
  segment: Segment,
  batch: RecordBatch,
  cursor: RecordCursor,
): void {
  const completed = producers.replay(batch, cursor);
  if (!completed) return;
  if (completed.isAborted) {
    segment.txnIndex.append({
      producerId: completed.producerId,
      firstOffset: completed.firstOffset,
      lastOffset: completed.lastOffset,
      lastStableOffset: producers.lastStableOffsetAfter(completed),
    });
  }
  producers.complete(completed);
}

/** Damage to the data, as opposed to a disk that fails or a format that is not read here. */
function isDamage(error: unknown): boolean {
  return error instanceof CorruptBatchError || error instanceof ProtocolError;
}
