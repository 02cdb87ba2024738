import { LONG_MAX } from '../config-definitions.ts';
import type { LogConfig } from '../config.ts';
import type { Segment } from '../segment/segment.ts';

/** Of a segment, what the choice of a range goes by. */
export type SegmentToLookAt = Pick<
  Segment,
  'baseOffset' | 'sizeBytes' | 'largestTimestamp' | 'firstBatchTimestamp' | 'dataRecordCount'
>;

/** Of a log, what the choice of a range goes by. */
export interface LogToLookAt {
  readonly config: LogConfig;
  readonly logStartOffset: bigint;
  readonly logEndOffset: bigint;
  readonly lastStableOffset: bigint;
  readonly segments: readonly SegmentToLookAt[];
}

/**
 * - `clean`: a pass has been over it
 * - `compactable`: the next pass reads it
 * - `protected`: neither clean nor compactable yet; `heldBackBy` says why
 * - `active`: is being appended to, and never cleaned
 */
export type RegionKind = 'clean' | 'compactable' | 'protected' | 'active';

/** What keeps a pass from the segments behind the compactable ones. */
export type HoldReason =
  | 'active-segment'
  /** Behind the high watermark, or an undecided transaction. */
  | 'last-stable-offset'
  | 'min.compaction.lag.ms'
  | 'min.compaction.lag.bytes'
  | 'min.compaction.lag.messages';

export interface Region {
  readonly kind: RegionKind;
  readonly startOffset: bigint;
  readonly endOffset: bigint;
  /** Of whole segments; one that a pass has cleaned in part counts as compactable here. */
  readonly sizeBytes: number;
}

/** Where the next pass over a log would begin and end, and what speaks for it. */
export interface CleanableRange {
  /** From the checkpoint, or the log's start where that cannot be. */
  readonly firstDirtyOffset: bigint;
  /** A segment's base: nothing from here on may be cleaned now. */
  readonly firstUncleanableOffset: bigint;
  readonly heldBackBy: HoldReason;
  /** The checkpoint lay outside of the log: what it should say is `firstDirtyOffset`. */
  readonly isCheckpointInvalid: boolean;
  /** Of the segments that begin below `firstDirtyOffset`. */
  readonly cleanBytes: number;
  /** From the segment that holds `firstDirtyOffset` on: after a partial pass that one counts twice, as in Kafka. */
  readonly compactableBytes: number;
  /** compactable / (clean + compactable); 0 where there is neither. */
  readonly dirtyRatio: number;
  /** By how much the oldest dirty record is older than max.compaction.lag.ms; 0: it is not. */
  readonly maxLagExceededMs: number;
  /** Whether a cleaner would take the log now. */
  readonly isEligible: boolean;
}

/** Works out the range for a log, its checkpointed offset (undefined: none) and the time (epoch ms). */
export function cleanableRange(
  log: LogToLookAt,
  checkpoint: bigint | undefined,
  nowMs: number,
): CleanableRange {
  const { segments, config } = log;
  const isCheckpointInvalid =
    checkpoint !== undefined && (checkpoint < log.logStartOffset || checkpoint > log.logEndOffset);
  const firstDirtyOffset =
    checkpoint === undefined || isCheckpointInvalid ? log.logStartOffset : checkpoint;
  const active = segments.at(-1) as SegmentToLookAt;
  const dirty = segments.slice(Math.max(0, floorIndex(segments, firstDirtyOffset)), -1);
  const hold = firstHeldBack(log, dirty, nowMs);
  const bound = hold.offset > firstDirtyOffset ? hold.offset : firstDirtyOffset;
  const firstUncleanable =
    bound >= active.baseOffset
      ? active
      : (segments[Math.max(0, floorIndex(segments, bound))] as SegmentToLookAt);
  const firstUncleanableOffset = firstUncleanable.baseOffset;
  let cleanBytes = 0;
  let compactableBytes = 0;
  for (const segment of segments) {
    if (segment.baseOffset < firstDirtyOffset) cleanBytes += segment.sizeBytes;
  }
  for (const segment of dirty) {
    if (segment.baseOffset < firstUncleanableOffset) compactableBytes += segment.sizeBytes;
  }
  const totalBytes = cleanBytes + compactableBytes;
  const dirtyRatio = totalBytes === 0 ? 0 : compactableBytes / totalBytes;
  const maxLagExceededMs = maxLagExceeded(dirty, config.maxCompactionLagMs, nowMs);
  const isDirtyEnough = totalBytes > 0 && dirtyRatio >= config.minCleanableDirtyRatio;
  return {
    firstDirtyOffset,
    firstUncleanableOffset,
    heldBackBy: hold.reason,
    isCheckpointInvalid,
    cleanBytes,
    compactableBytes,
    dirtyRatio,
    maxLagExceededMs,
    isEligible: compactableBytes > 0 && (isDirtyEnough || maxLagExceededMs > 0),
  };
}

/** The log cut into its regions, without empty ones. */
export function regionsOf(log: LogToLookAt, range: CleanableRange): Region[] {
  const regions: { kind: RegionKind; startOffset: bigint; endOffset: bigint; sizeBytes: number }[] =
    [];
  const { segments } = log;
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    const endOffset = next?.baseOffset ?? log.logEndOffset;
    const kind: RegionKind =
      next === undefined
        ? 'active'
        : endOffset <= range.firstDirtyOffset
          ? 'clean'
          : segment.baseOffset < range.firstUncleanableOffset
            ? 'compactable'
            : 'protected';
    const last = regions.at(-1);
    if (last?.kind === kind) {
      last.endOffset = endOffset;
      last.sizeBytes += segment.sizeBytes;
    } else {
      regions.push({
        kind,
        startOffset: segment.baseOffset,
        endOffset,
        sizeBytes: segment.sizeBytes,
      });
    }
  }
  return regions;
}

/** Index of the last segment with a base at most `offset`; -1: none. */
function floorIndex(segments: readonly SegmentToLookAt[], offset: bigint): number {
  return segments.findLastIndex((segment) => segment.baseOffset <= offset);
}

interface Hold {
  readonly offset: bigint;
  readonly reason: HoldReason;
}

/** The lowest offset that any rule forbids. */
function firstHeldBack(log: LogToLookAt, dirty: readonly SegmentToLookAt[], nowMs: number): Hold {
  const active = log.segments.at(-1) as SegmentToLookAt;
  const holds: (Hold | null)[] = [
    { offset: active.baseOffset, reason: 'active-segment' },
    { offset: log.lastStableOffset, reason: 'last-stable-offset' },
    heldByAge(dirty, log.config.minCompactionLagMs, nowMs),
    heldByBytes(log.segments, dirty, log.config.minCompactionLagBytes),
    heldByMessages(log.segments, dirty, log.config.minCompactionLagMessages),
  ];
  let lowest = holds[0] as Hold;
  for (const hold of holds) if (hold && hold.offset < lowest.offset) lowest = hold;
  return lowest;
}

/** The first segment with a record that is too young; one of the future is that until its time. */
function heldByAge(dirty: readonly SegmentToLookAt[], lagMs: number, nowMs: number): Hold | null {
  if (lagMs <= 0) return null;
  const young = dirty.find((segment) => segment.largestTimestamp() > nowMs - lagMs);
  return young ? { offset: young.baseOffset, reason: 'min.compaction.lag.ms' } : null;
}

/** Walks from the log's end: a segment may be compacted once `lag` bytes follow it (KIP-58). */
function heldByBytes(
  segments: readonly SegmentToLookAt[],
  dirty: readonly SegmentToLookAt[],
  lagBytes: number,
): Hold | null {
  if (lagBytes <= 0) return null;
  const held = firstWithinTail(segments, dirty, lagBytes, (segment) => segment.sizeBytes);
  return held ? { offset: held.baseOffset, reason: 'min.compaction.lag.bytes' } : null;
}

/** The same in data records; markers and what compaction took away are no messages. */
function heldByMessages(
  segments: readonly SegmentToLookAt[],
  dirty: readonly SegmentToLookAt[],
  lagMessages: number,
): Hold | null {
  if (lagMessages <= 0) return null;
  const held = firstWithinTail(segments, dirty, lagMessages, (one) => one.dataRecordCount());
  return held ? { offset: held.baseOffset, reason: 'min.compaction.lag.messages' } : null;
}

/** The first of the dirty segments behind which there is less than `lag`; null: there is none. */
function firstWithinTail(
  segments: readonly SegmentToLookAt[],
  dirty: readonly SegmentToLookAt[],
  lag: number,
  measure: (segment: SegmentToLookAt) => number,
): SegmentToLookAt | null {
  let tail = 0;
  let held: SegmentToLookAt | null = null;
  for (let index = segments.length - 2; index >= segments.length - 1 - dirty.length; index--) {
    tail += measure(segments[index + 1] as SegmentToLookAt);
    if (tail >= lag) break;
    held = segments[index] as SegmentToLookAt;
  }
  return held;
}

/** By the first batch of each dirty segment, as segment.ms is (KIP-354). */
function maxLagExceeded(
  dirty: readonly SegmentToLookAt[],
  maxLagMs: number,
  nowMs: number,
): number {
  if (maxLagMs >= LONG_MAX) return 0;
  let earliest = Infinity;
  for (const segment of dirty) {
    const timestamp = segment.firstBatchTimestamp();
    if (timestamp !== null && timestamp > 0 && timestamp < earliest) earliest = timestamp;
  }
  return Math.max(0, nowMs - maxLagMs - earliest);
}
