import type { RecordCursor } from '@millrace/protocol';
import { RECOVERY_CHUNK_BYTES } from '../limits.ts';
import { BatchReader } from '../segment/batch-reader.ts';
import type { Segment } from '../segment/segment.ts';
import { ensureUsable } from './log-state.ts';
import type { LogState } from './log-state.ts';
import { toLogError } from './validate.ts';

/** A record found by time. */
export interface FoundOffset {
  readonly offset: bigint;
  /** Epoch ms. */
  readonly timestamp: number;
  /** -1: not known. */
  readonly leaderEpoch: number;
}

/** The first record at or after the log start whose timestamp is at least `timestamp`; null: none. */
export function offsetForTimestamp(state: LogState, timestamp: number): FoundOffset | null {
  ensureUsable(state);
  try {
    for (const segment of state.segments.all) {
      if (segment.sizeBytes === 0 || segment.maxTimestamp < timestamp) continue;
      const found = findInSegment(state, segment, timestamp);
      if (segment !== state.segments.active) state.environment.cache.touch(segment);
      if (found) return found;
    }
    return null;
  } catch (error) {
    throw toLogError(error, state.name);
  }
}

function findInSegment(state: LogState, segment: Segment, timestamp: number): FoundOffset | null {
  // All batches before the entry's are older than the entry, so than what is looked for.
  const entry = segment.timeIndex.lookup(timestamp);
  const floor = entry.offset > state.logStartOffset ? entry.offset : state.logStartOffset;
  const reader = new BatchReader(
    segment.file,
    segment.positionOf(floor),
    segment.sizeBytes,
    RECOVERY_CHUNK_BYTES,
  );
  for (let batch = reader.next(); batch; batch = reader.next()) {
    if (batch.maxTimestamp < timestamp || batch.lastOffset < state.logStartOffset) continue;
    const leaderEpoch = batch.partitionLeaderEpoch;
    state.cursor.open(batch);
    while (state.cursor.next()) {
      if (state.cursor.timestamp < timestamp) continue;
      if (state.cursor.offset() < state.logStartOffset) continue;
      return takeRecord(state.cursor, leaderEpoch);
    }
  }
  return null;
}

/**
 * The first record with the log's greatest timestamp (KIP-734); null when no record has one. Of a
 * compressed batch it is that record, not the batch's last (KAFKA-16342).
 */
export function offsetOfMaxTimestamp(state: LogState): FoundOffset | null {
  ensureUsable(state);
  let latest: Segment | null = null;
  for (const segment of state.segments.all) {
    if (segment.maxTimestamp > (latest?.maxTimestamp ?? -1)) latest = segment;
  }
  if (!latest) return null;
  try {
    return offsetOfTimestampIn(state, latest);
  } catch (error) {
    throw toLogError(error, state.name);
  }
}

function offsetOfTimestampIn(state: LogState, segment: Segment): FoundOffset | null {
  const { maxTimestamp, offsetOfMaxTimestamp: lastOffset } = segment;
  const reader = new BatchReader(
    segment.file,
    segment.positionOf(lastOffset),
    segment.sizeBytes,
    RECOVERY_CHUNK_BYTES,
  );
  for (let batch = reader.next(); batch; batch = reader.next()) {
    if (batch.maxTimestamp !== maxTimestamp) continue;
    const leaderEpoch = batch.partitionLeaderEpoch;
    state.cursor.open(batch);
    while (state.cursor.next()) {
      if (state.cursor.timestamp === maxTimestamp) return takeRecord(state.cursor, leaderEpoch);
    }
  }
  return null;
}

function takeRecord(cursor: RecordCursor, leaderEpoch: number): FoundOffset {
  const found = { offset: cursor.offset(), timestamp: cursor.timestamp, leaderEpoch };
  cursor.close();
  return found;
}
