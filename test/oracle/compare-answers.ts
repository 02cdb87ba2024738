import { isDeepStrictEqual } from 'node:util';
import type { CleaningAnswer, CleaningRequest, DumpedSegment, SegmentState } from './requests.ts';

const DEFAULT_DIRTY_RATIO = 0.5;
/** Bytes that depend on the codec library's version. */
const UNKNOWN = 'depends on the codec library';

/** What the lawful differences of a step depend on. */
export interface Circumstances {
  /** What was on disk: batches that Kafka has left as they were must be ours to the byte. */
  readonly before: readonly DumpedSegment[];
  /** An earlier step compressed batches anew, so the sizes of what is there differ already. */
  readonly hasOwnSizes: boolean;
  /**
   * Kafka has failed at a full index, where we go on in another segment, and has then cleaned with
   * room for all entries: into which segments batches have come is left out.
   */
  readonly isIndexFull?: boolean;
}

/**
 * Where our answer differs from Kafka's: one line per difference, none when they agree.
 */
export function compareAnswers(
  request: CleaningRequest,
  { before, hasOwnSizes, isIndexFull = false }: Circumstances,
  theirs: CleaningAnswer,
  ours: CleaningAnswer,
): string[] {
  const recompressed = recompressedIn(before, theirs);
  const areSizesEqual = recompressed.size === 0 && !hasOwnSizes;
  const blurred = (answer: CleaningAnswer): object =>
    blur(request, isIndexFull ? asOneSegment(answer) : answer, recompressed, areSizesEqual);
  const differences: string[] = [];
  diff('', blurred(theirs), blurred(ours), differences);
  return differences;
}

/** All batches one behind the other, as if there were no segments. */
function asOneSegment(answer: CleaningAnswer): CleaningAnswer {
  const { survivors = [], state } = answer;
  const batches = survivors.flatMap((segment) => segment.batches);
  const one = {
    base: 0,
    size: batches.reduce((sum, batch) => sum + batch.size, 0),
    batches: batches.map((batch) => ({ ...batch, position: 0 })),
    abortedTxns: survivors.flatMap((segment) => segment.abortedTxns),
  };
  return { ...answer, survivors: [one], state: { ...state, segments: [] } };
}

/** Base offsets of compressed batches that Kafka has built anew, now or in an earlier step. */
export function recompressedIn(
  before: readonly DumpedSegment[],
  theirs: CleaningAnswer,
): Set<number> {
  const known = new Set(before.flatMap((one) => one.batches.map((batch) => batch.crc)));
  const found = new Set<number>();
  for (const segment of theirs.survivors ?? []) {
    for (const batch of segment.batches) {
      if (batch.codec !== 'none' && !known.has(batch.crc)) found.add(batch.baseOffset);
    }
  }
  return found;
}

/** An answer without what may lawfully differ. */
function blur(
  request: CleaningRequest,
  answer: CleaningAnswer,
  recompressed: ReadonlySet<number>,
  areSizesEqual: boolean,
): object {
  if (request.cmd === 'cleanable') return blurCleanable(request, answer, areSizesEqual);
  const { stats, survivors = [], state, ...rest } = answer;
  const blurred = survivors.map((segment) => blurSegment(segment, recompressed));
  const sizes = new Map(blurred.map((segment) => [segment.base, segment.size]));
  return {
    firstDirtyOffset: rest.firstDirtyOffset,
    firstUncleanableOffset: rest.firstUncleanableOffset,
    nextFirstDirtyOffset: rest.nextFirstDirtyOffset,
    stats: areSizesEqual ? stats : { ...stats, bytesRead: UNKNOWN, bytesWritten: UNKNOWN },
    survivors: blurred,
    state: {
      ...blurState(state),
      segments: state.segments.map((segment) => blurSegmentState(segment, sizes.get(segment.base))),
    },
  };
}

function blurSegment(
  segment: DumpedSegment,
  recompressed: ReadonlySet<number>,
): { base: number; size: number | string; batches: object[]; abortedTxns: readonly object[] } {
  let isExact = true;
  const batches: object[] = [];
  for (const batch of segment.batches) {
    const position = isExact ? batch.position : UNKNOWN;
    const isRecompressed = recompressed.has(batch.baseOffset);
    const unknown = isRecompressed ? { size: UNKNOWN, crc: UNKNOWN } : {};
    batches.push({ ...batch, position, ...unknown });
    if (isRecompressed) isExact = false;
  }
  const { base, size, abortedTxns } = segment;
  return { base, size: isExact ? size : UNKNOWN, batches, abortedTxns };
}

/**
 * With a transaction that began before the log start, Kafka has the stable offset there, at the next batch, or, freshly
 * opened, where the transaction began: what may be cleaned is compared all the same.
 */
function blurState(state: CleaningAnswer['state']): object {
  return state.logStartOffset > 0 ? { ...state, lastStableOffset: null } : state;
}

/** Index entries come every so many bytes. */
function blurSegmentState(segment: SegmentState, size: number | string | undefined): object {
  return size === UNKNOWN
    ? { ...segment, size, indexEntries: UNKNOWN, timeIndexEntries: UNKNOWN }
    : segment;
}

function blurCleanable(
  request: CleaningRequest,
  answer: CleaningAnswer,
  areSizesEqual: boolean,
): object {
  const limit = Number(request.config?.['min.cleanable.dirty.ratio'] ?? DEFAULT_DIRTY_RATIO);
  const isCompacted = String(request.config?.['cleanup.policy'] ?? '').includes('compact');
  return {
    firstDirtyOffset: answer.firstDirtyOffset,
    firstUncleanableOffset: answer.firstUncleanableOffset,
    maxCompactionDelayMs: answer.maxCompactionDelayMs,
    needCompactionNow: answer.needCompactionNow,
    checkpointAfter: answer.checkpointAfter,
    ...(areSizesEqual
      ? {
          cleanBytes: answer.cleanBytes,
          cleanableBytes: answer.cleanableBytes,
          totalBytes: answer.totalBytes,
          dirtyRatio: answer.dirtyRatio,
          // Kafka takes a log above the ratio, we take it at the ratio (seed 001), if there is anything to clean.
          selected:
            answer.selected === true ||
            (isCompacted && answer.dirtyRatio === limit && (answer.cleanableBytes ?? 0) > 0),
          state: blurState(answer.state),
        }
      : {}),
  };
}

function diff(path: string, theirs: unknown, ours: unknown, differences: string[]): void {
  if (isDeepStrictEqual(theirs, ours)) return;
  if (isObject(theirs) && isObject(ours) && Array.isArray(theirs) === Array.isArray(ours)) {
    for (const key of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
      diff(`${path}.${key}`, theirs[key], ours[key], differences);
    }
    return;
  }
  differences.push(`${path.slice(1)}: Kafka has ${show(theirs)}, we have ${show(ours)}`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function show(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
