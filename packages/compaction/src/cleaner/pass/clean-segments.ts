import type { RecordBatch } from '@millrace/protocol';
import type { BatchRetention } from './batch-retention.ts';
import type { BatchRewriter } from './batch-rewriter.ts';
import { CleanedSegments } from './cleaned-segments.ts';
import type { SourceSegment } from '../cleaning-task.ts';
import { controlTypeOf } from './control-type.ts';
import type { CleaningPass } from './pass.ts';
import { SourceReader } from './source-reader.ts';
import { abortedWithin } from './transactions.ts';
import type { PassTransactions } from './transactions.ts';

const TWO_32 = 2 ** 32;

/** What goes on from group to group in the second phase. */
export interface CleaningState {
  readonly transactions: PassTransactions;
  readonly retention: BatchRetention;
  readonly rewriter: BatchRewriter;
  /** The last offset that the map speaks for: what lies behind it is kept. */
  readonly lastMappedOffset: bigint;
}

/** Second phase, one group: writes what survives of it; the base offsets of what it becomes. */
export function cleanSegments(
  pass: CleaningPass,
  state: CleaningState,
  group: readonly SourceSegment[],
): readonly bigint[] {
  const cleaned = new CleanedSegments(pass, (group[0] as SourceSegment).baseOffset);
  try {
    for (const segment of group) cleanSegment(pass, state, segment, cleaned);
    cleaned.close();
  } catch (error) {
    cleaned.discard();
    throw error;
  }
  return cleaned.baseOffsets;
}

function cleanSegment(
  pass: CleaningPass,
  state: CleaningState,
  segment: SourceSegment,
  cleaned: CleanedSegments,
): void {
  const { task, stats } = pass;
  // All that reach into the segment, also beyond the cleanable section (KAFKA-13727).
  state.transactions.expect(abortedWithin(task, segment.baseOffset, segment.endOffset));
  const reader = new SourceReader(
    pass.disk,
    task.directory,
    segment,
    0,
    pass.ioBufferBytes,
    pass.control,
  );
  try {
    for (;;) {
      const found = pass.decoded.find(segment.baseOffset, reader.position);
      if (found !== null) reader.stepOver(found);
      const batch = found ?? reader.next();
      if (batch === null) break;
      cleanBatch(pass, state, reader, batch, found !== null, cleaned);
    }
  } catch (error) {
    throw reader.toError(error);
  } finally {
    stats.bytesRead += reader.bytesRead;
    reader.close();
  }
}

function cleanBatch(
  pass: CleaningPass,
  state: CleaningState,
  reader: SourceReader,
  batch: RecordBatch,
  isDecoded: boolean,
  cleaned: CleanedSegments,
): void {
  const { task, scanner, stats } = pass;
  const { transactions, retention, rewriter } = state;
  const horizonMs = batch.deleteHorizonMs;
  const isHorizonPassed = horizonMs !== null && task.nowMs >= horizonMs;
  const verdict = batch.isControl
    ? transactions.onMarker(batch, controlTypeOf(batch, scanner))
    : null;
  const isDiscarded = verdict
    ? verdict.isDiscardable && isHorizonPassed
    : transactions.isAborted(batch);
  const { output } = cleaned;
  const start = output.length;
  let tombstoneCount = 0;
  rewriter.reset();
  if (!isDiscarded) {
    if (verdict) {
      scanner.open(batch);
      while (scanner.next()) rewriter.keep(scanner);
    } else {
      const records = isDecoded ? pass.decoded.records : undefined;
      tombstoneCount = keepSurvivors(pass, state, batch, records, isHorizonPassed);
    }
  }
  const isKeptEmpty = rewriter.count === 0 && retention.isKeptEmpty(batch);
  // Kafka doesn't decode what it discards as a whole, and counts what it decodes.
  if (!isDiscarded || isKeptEmpty) stats.recordsRead += batch.recordCount;
  const needsHorizon =
    horizonMs === null && (tombstoneCount > 0 || verdict?.isDiscardable === true);
  if (rewriter.count === 0) {
    if (!isKeptEmpty) return;
    rewriter.writeEmpty(batch, output);
  } else if (rewriter.count === batch.recordCount && !needsHorizon) {
    output.reserve(batch.sizeInBytes);
    if (isDecoded) reader.readTo(batch, output.bytes, start);
    else batch.buffer.copy(output.bytes, start, batch.position, batch.position + batch.sizeInBytes);
    output.length = start + batch.sizeInBytes;
    stats.bytesCopied += batch.sizeInBytes;
  } else {
    // Of what is in the map, the first phase has checked it.
    if (pass.map.latest.indexOf(batch.baseOffset) < 0) reader.ensureValid(batch);
    const newHorizonMs = needsHorizon ? task.nowMs + task.settings.deleteRetentionMs : horizonMs;
    rewriter.rewrite(batch, scanner, newHorizonMs === null ? null : BigInt(newHorizonMs), output);
  }
  stats.recordsWritten += rewriter.count;
  stats.bytesWritten += output.length - start;
  cleaned.commit(batch, start, verdict?.aborted ?? null);
}

/** Has the rewriter keep what survives of a data batch, whose `records` may be decoded already; how many tombstones are among it. */
function keepSurvivors(
  pass: CleaningPass,
  state: CleaningState,
  batch: RecordBatch,
  records: Buffer | undefined,
  isHorizonPassed: boolean,
): number {
  const { map, scanner, stats } = pass;
  const { rewriter, lastMappedOffset } = state;
  const base = batch.baseOffset;
  const lastMappedDelta =
    batch.lastOffset <= lastMappedOffset
      ? batch.lastOffsetDelta
      : base > lastMappedOffset
        ? -1
        : Number(lastMappedOffset - base);
  const high = batch.buffer.readInt32BE(batch.position);
  const low = batch.buffer.readUInt32BE(batch.position + 4);
  const { latest } = map;
  const latestIndex = latest.indexOf(base);
  if (latestIndex >= 0 && !latest.hasLatest(latestIndex, latestIndex + batch.lastOffsetDelta + 1)) {
    return 0;
  }
  let tombstoneCount = 0;
  scanner.open(batch, undefined, records);
  while (scanner.next()) {
    const delta = scanner.offsetDelta;
    if (latestIndex >= 0) {
      if (!latest.isLatest(latestIndex + delta)) continue;
      if (!scanner.hasValue && isHorizonPassed) continue;
    } else if (delta <= lastMappedDelta) {
      if (scanner.keyStart < 0) {
        stats.invalidRecordsRead++;
        continue;
      }
      if (!scanner.hasValue && isHorizonPassed) continue;
      const sum = low + delta;
      const offsetHigh = sum >= TWO_32 ? high + 1 : high;
      if (!map.isLatest(scanner.buffer, scanner.keyStart, scanner.keyEnd, offsetHigh, sum | 0)) {
        continue;
      }
    }
    if (!scanner.hasValue) tombstoneCount++;
    rewriter.keep(scanner);
  }
  return tombstoneCount;
}
