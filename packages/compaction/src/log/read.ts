import { BatchIterator } from '@millrace/protocol';
import { CorruptBatchError, OffsetOutOfRangeError } from '../errors.ts';
import { BATCH_READ_AHEAD_BYTES } from '../limits.ts';
import type { Segment } from '../segment/segment.ts';
import type { AbortedTransaction } from '../segment/txn-index.ts';
import { ensureUsable, lastStableOffset } from './log-state.ts';
import type { LogState } from './log-state.ts';
import { toLogError } from './validate.ts';

export type Isolation = 'readUncommitted' | 'readCommitted' | 'logEnd';

export interface ReadOptions {
  /** Up to the high watermark (default), the last stable offset, or the log's end (followers). */
  readonly isolation?: Isolation;
  /** Default true: the first batch comes whole even if it is larger than `maxBytes`. */
  readonly minOneBatch?: boolean;
}

export interface ReadResult {
  /** Whole batches; the first may start below the offset asked for. */
  readonly records: Buffer;
  /** What a read-committed consumer must skip; null with other isolations. */
  readonly abortedTransactions: readonly AbortedTransaction[] | null;
  readonly highWatermark: bigint;
  readonly lastStableOffset: bigint;
  readonly logStartOffset: bigint;
}

const EMPTY = Buffer.alloc(0);

interface Slice {
  readonly records: Buffer;
  readonly nextOffset: bigint;
  readonly endsWithoutRecords: boolean;
}

/**
 * Whole batches from the one that holds `offset` on, from one segment. Only where the last of them
 * holds no record (the cleaner leaves such) does it go on: a consumer that sees none makes no
 * progress.
 */
export function readLog(
  state: LogState,
  offset: bigint,
  maxBytes: number,
  options: ReadOptions,
): ReadResult {
  ensureUsable(state);
  const isolation = options.isolation ?? 'readUncommitted';
  if (offset < state.logStartOffset || offset > state.logEndOffset) {
    throw new OffsetOutOfRangeError(
      `${state.name}: offset ${String(offset)} lies outside ${String(state.logStartOffset)} to ` +
        String(state.logEndOffset),
    );
  }
  const bound = upperBound(state, isolation);
  const slices: Buffer[] = [];
  let nextOffset = offset;
  if (offset < bound) {
    let left = maxBytes;
    let mustHave = options.minOneBatch ?? true;
    for (let index = Math.max(0, state.segments.floorIndex(offset)); ; index++) {
      const segment = state.segments.at(index);
      if (!segment || segment.baseOffset >= bound) break;
      const slice = readSegment(state, segment, nextOffset, bound, left, mustHave);
      if (!slice) continue;
      if (slice.records.length === 0) break;
      slices.push(slice.records);
      nextOffset = slice.nextOffset;
      left -= slice.records.length;
      mustHave = false;
      if (!slice.endsWithoutRecords || left <= 0) break;
    }
  }
  const records = slices.length === 1 ? (slices[0] as Buffer) : Buffer.concat(slices);
  return {
    records: records.length === 0 ? EMPTY : records,
    abortedTransactions:
      isolation === 'readCommitted' ? collectAborted(state, offset, nextOffset) : null,
    highWatermark: state.highWatermark,
    lastStableOffset: lastStableOffset(state),
    logStartOffset: state.logStartOffset,
  };
}

function upperBound(state: LogState, isolation: Isolation): bigint {
  if (isolation === 'logEnd') return state.logEndOffset;
  return isolation === 'readCommitted' ? lastStableOffset(state) : state.highWatermark;
}

/** null: the segment ends before `offset`. Empty records: the first batch does not fit. */
function readSegment(
  state: LogState,
  segment: Segment,
  offset: bigint,
  bound: bigint,
  maxBytes: number,
  mustHave: boolean,
): Slice | null {
  const { segments, environment } = state;
  const start = segment.positionOf(offset);
  const end =
    bound >= state.logEndOffset ? segment.sizeBytes : boundPosition(state, segment, bound);
  if (segment !== segments.active) environment.cache.touch(segment);
  if (start >= end) return null;
  let bytes = segment.readBytes(
    start,
    Math.min(end - start, Math.max(maxBytes, BATCH_READ_AHEAD_BYTES)),
  );
  let slice = wholeBatches(state, segment, start, bytes, maxBytes);
  if (slice.records.length === 0 && mustHave) {
    const first = segment.scanFrom(start, end);
    if (!first.next()) return null;
    bytes = first.sizeBytes <= bytes.length ? bytes : segment.readBytes(start, first.sizeBytes);
    slice = wholeBatches(state, segment, start, bytes, first.sizeBytes);
  }
  if (slice.records.length > 0) {
    segment.rememberPosition(slice.nextOffset, start + slice.records.length);
  }
  return slice;
}

/** Where the batch that holds the bound starts: nothing from there on may be seen. */
function boundPosition(state: LogState, segment: Segment, bound: bigint): number {
  const next = state.segments.at(state.segments.floorIndex(segment.baseOffset) + 1);
  if (next && next.baseOffset <= bound) return segment.sizeBytes;
  const position = segment.positionOf(bound);
  segment.rememberPosition(bound, position);
  return position;
}

/** The batches of `bytes` that end within `maxBytes`. */
function wholeBatches(
  state: LogState,
  segment: Segment,
  start: number,
  bytes: Buffer,
  maxBytes: number,
): Slice {
  let end = 0;
  let nextOffset = 0n;
  let endsWithoutRecords = false;
  try {
    const batches = new BatchIterator(bytes, 0, Math.min(bytes.length, maxBytes));
    for (let batch = batches.next(); batch; batch = batches.next()) {
      end = batches.position;
      nextOffset = batch.nextOffset;
      endsWithoutRecords = batch.recordCount === 0;
    }
  } catch (error) {
    const cause = toLogError(error, segment.path);
    if (!(cause instanceof CorruptBatchError)) throw cause;
    if (end > 0) return { records: bytes.subarray(0, end), nextOffset, endsWithoutRecords };
    throw new CorruptBatchError(
      `${state.name}: ${segment.path} at byte ${String(start)}: ${cause.message}`,
      { cause },
    );
  }
  return { records: bytes.subarray(0, end), nextOffset, endsWithoutRecords };
}

function collectAborted(
  state: LogState,
  from: bigint,
  upper: bigint,
): readonly AbortedTransaction[] {
  const found: AbortedTransaction[] = [];
  if (upper <= from) return found;
  for (const segment of state.segments.from(from)) {
    if (segment.txnIndex.collect(from, upper, found)) break;
  }
  return found;
}
