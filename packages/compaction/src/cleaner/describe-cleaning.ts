import type { ProducerEntry } from '../log/producer-entry.ts';
import { cleanableRange, regionsOf } from './cleanable-range.ts';
import type { CleanableRange, LogToLookAt, Region, SegmentToLookAt } from './cleanable-range.ts';

/**
 * Why a cleaner takes a log, or doesn't:
 * - `dirty-ratio`, `max-compaction-lag`: it does
 * - `not-compacted`: its cleanup.policy has no `compact`
 * - `nothing-dirty`: all but the active segment is clean, if there is anything else
 * - `held-back`: there is something dirty, and the first segment of it may not be cleaned yet
 * - `ratio-below-limit`: too little of it is dirty
 */
export type CleaningReason =
  | 'dirty-ratio'
  | 'max-compaction-lag'
  | 'not-compacted'
  | 'nothing-dirty'
  | 'held-back'
  | 'ratio-below-limit';

/** What keeps the segments from `offset` on from being cleaned now. */
export interface CleaningHold {
  readonly by: CleanableRange['heldBackBy'];
  /** Base of the first segment that is held back. */
  readonly offset: bigint;
  /** The setting as it is; null: it is no lag that holds. */
  readonly limit: number | null;
  /** Epoch ms from which min.compaction.lag.ms lets the segment go; null: another hold. */
  readonly untilMs: number | null;
  /** Bytes or records that are to follow the segment yet; null: another hold. */
  readonly missing: number | null;
  /** Whose transaction is open the longest; null: none, or another hold. */
  readonly openTransaction: { readonly producerId: bigint; readonly firstOffset: bigint } | null;
}

export interface CleaningDescription {
  readonly isEligible: boolean;
  readonly reason: CleaningReason;
  /** min.cleanable.dirty.ratio of the log. */
  readonly minDirtyRatio: number;
  readonly range: CleanableRange;
  readonly regions: readonly Region[];
  /** null: only the active segment is not cleaned. */
  readonly hold: CleaningHold | null;
}

/** A log, or the figures of one. */
export interface LogToDescribe extends LogToLookAt {
  producers(): readonly Pick<ProducerEntry, 'producerId' | 'currentTxnFirstOffset'>[];
}

/**
 * How a log looks to a cleaner at a time (epoch ms): its regions, its dirty ratio, whether the
 * cleaner would take it and why. `checkpoint` is where the last pass ended, undefined: there was
 * none. Nothing is read but what the choice of a log reads anyway (the last part of KIP-58).
 */
export function describeCleaning(
  log: LogToDescribe,
  checkpoint: bigint | undefined,
  nowMs: number,
): CleaningDescription {
  const range = cleanableRange(log, checkpoint, nowMs);
  const reason = reasonOf(log, range);
  return {
    isEligible: reason === 'dirty-ratio' || reason === 'max-compaction-lag',
    reason,
    minDirtyRatio: log.config.minCleanableDirtyRatio,
    range,
    regions: regionsOf(log, range),
    hold: holdOf(log, range),
  };
}

function reasonOf({ config, segments }: LogToDescribe, range: CleanableRange): CleaningReason {
  if (!config.cleanupPolicy.compact) return 'not-compacted';
  if (range.isEligible) {
    const isDirtyEnough = range.dirtyRatio >= config.minCleanableDirtyRatio;
    return isDirtyEnough ? 'dirty-ratio' : 'max-compaction-lag';
  }
  if (range.compactableBytes > 0) return 'ratio-below-limit';
  const active = segments.at(-1) as SegmentToLookAt;
  const isAllClean = range.firstUncleanableOffset >= active.baseOffset;
  return isAllClean ? 'nothing-dirty' : 'held-back';
}

function holdOf(log: LogToDescribe, range: CleanableRange): CleaningHold | null {
  const { config, segments } = log;
  const { heldBackBy: by, firstUncleanableOffset: offset } = range;
  const index = segments.findIndex((segment) => segment.baseOffset === offset);
  // Of the active segment nothing is cleaned, whatever else holds it.
  if (by === 'active-segment' || index < 0 || index === segments.length - 1) return null;
  const held = segments[index] as SegmentToLookAt;
  const later = segments.slice(index + 1);
  const none = { by, offset, limit: null, untilMs: null, missing: null, openTransaction: null };
  switch (by) {
    case 'min.compaction.lag.ms': {
      const limit = config.minCompactionLagMs;
      return { ...none, limit, untilMs: held.largestTimestamp() + limit };
    }
    case 'min.compaction.lag.bytes': {
      const limit = config.minCompactionLagBytes;
      return { ...none, limit, missing: limit - sumOf(later, (segment) => segment.sizeBytes) };
    }
    case 'min.compaction.lag.messages': {
      const limit = config.minCompactionLagMessages;
      const count = sumOf(later, (segment) => segment.dataRecordCount());
      return { ...none, limit, missing: limit - count };
    }
    case 'last-stable-offset':
      return { ...none, openTransaction: oldestTransaction(log) };
  }
}

function sumOf(
  segments: readonly SegmentToLookAt[],
  measure: (segment: SegmentToLookAt) => number,
): number {
  return segments.reduce((sum, segment) => sum + measure(segment), 0);
}

function oldestTransaction(log: LogToDescribe): CleaningHold['openTransaction'] {
  let oldest: CleaningHold['openTransaction'] = null;
  for (const { producerId, currentTxnFirstOffset: firstOffset } of log.producers()) {
    const isOpen = firstOffset >= 0n;
    if (isOpen && (oldest === null || firstOffset < oldest.firstOffset)) {
      oldest = { producerId, firstOffset };
    }
  }
  return oldest;
}
