import type { Segment } from '../segment/segment.ts';
import { DELETED_SUFFIX } from '../segment/segment-files.ts';
import { ensureUsable, raiseLogStart } from './log-state.ts';
import type { LogState } from './log-state.ts';
import { roll } from './roll.ts';

type RetentionReason = 'logStart' | 'size' | 'time';

export interface RetentionResult {
  readonly deletedSegments: number;
  readonly deletedBytes: number;
}

/**
 * Deletes old segments, whole ones, oldest first: those below the log start under any policy; by
 * size and age only where cleanup.policy has `delete` (KAFKA-7400 for compacted logs). Nothing at or
 * above the high watermark goes.
 */
export function runRetention(state: LogState): RetentionResult {
  ensureUsable(state);
  const { config } = state;
  let deletedSegments = 0;
  let deletedBytes = 0;
  const sweep = (reason: RetentionReason, isDeletable: Rule): void => {
    const doomed = deletableSegments(state, isDeletable);
    if (doomed.length === 0) return;
    deletedSegments += doomed.length;
    for (const segment of doomed) deletedBytes += segment.sizeBytes;
    deleteSegments(state, doomed, reason);
  };
  sweep('logStart', (_, next) => next !== null && next.baseOffset <= state.logStartOffset);
  if (config.cleanupPolicy.delete && config.retentionBytes >= 0) {
    // The log never falls below retention.bytes.
    let excess = state.segments.sizeBytes - config.retentionBytes;
    sweep('size', (segment) => {
      excess -= segment.sizeBytes;
      return excess >= 0;
    });
  }
  if (config.cleanupPolicy.delete && config.retentionMs >= 0) {
    const now = state.environment.clock.now();
    sweep('time', (segment) => now - segment.largestTimestamp() > config.retentionMs);
  }
  return { deletedSegments, deletedBytes };
}

type Rule = (segment: Segment, next: Segment | null) => boolean;

function deletableSegments(state: LogState, isDeletable: Rule): Segment[] {
  const { segments, highWatermark, logEndOffset } = state;
  const doomed: Segment[] = [];
  for (let index = 0; index < segments.count; index++) {
    const segment = segments.at(index) as Segment;
    const next = segments.at(index + 1) ?? null;
    const upperBound = next?.baseOffset ?? logEndOffset;
    // An empty last segment is where the next append goes.
    if (!next && segment.sizeBytes === 0) break;
    if (highWatermark < upperBound || !isDeletable(segment, next)) break;
    doomed.push(segment);
  }
  return doomed;
}

function deleteSegments(
  state: LogState,
  doomed: readonly Segment[],
  reason: RetentionReason,
): void {
  const { segments, environment, producers } = state;
  if (doomed.length === segments.count) roll(state, state.logEndOffset);
  for (const segment of doomed) {
    segments.remove(segment);
    environment.cache.forget(segment);
  }
  raiseLogStart(state, segments.first.baseOffset);
  for (const segment of doomed) {
    removeSegmentFiles(state, segment);
    if (producers.hasSnapshot(segment.baseOffset)) producers.removeSnapshot(segment.baseOffset);
  }
  state.deletionsNeedSync = true;
  environment.logger.info(
    {
      topic: state.topic,
      partition: state.partition,
      reason,
      segments: doomed.length,
      logStartOffset: String(state.logStartOffset),
    },
    'retention deleted segments',
  );
}

/** Out of the way at once, by name; off the disk after file.delete.delay.ms. */
function removeSegmentFiles(state: LogState, segment: Segment): void {
  const paths = segment.renameWithSuffix(DELETED_SUFFIX);
  state.environment.deletions.schedule(state.config.fileDeleteDelayMs, paths);
}
