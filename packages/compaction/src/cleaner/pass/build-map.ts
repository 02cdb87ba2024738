import type { RecordBatch } from '@millrace/protocol';
import type { SourceSegment } from '../cleaning-task.ts';
import { controlTypeOf } from './control-type.ts';
import type { CleaningPass } from './pass.ts';
import { SourceReader } from './source-reader.ts';
import { abortedWithin, PassTransactions } from './transactions.ts';

const TWO_32 = 2 ** 32;

/**
 * First phase: reads the dirty section into the offset map, as far as it fits, which may end inside of
 * a batch. Records of aborted transactions and markers stay out: they must shadow nobody. Returns the
 * last offset that the map speaks for.
 */
export function buildOffsetMap(pass: CleaningPass): bigint {
  const { task, map } = pass;
  const { firstDirtyOffset, firstUncleanableOffset } = task;
  map.reset(firstDirtyOffset, firstUncleanableOffset);
  const first = task.segments.findLastIndex((one) => one.baseOffset <= firstDirtyOffset);
  const dirty = task.segments.slice(Math.max(0, first));
  const transactions = new PassTransactions();
  // From the segment's start, not from the first dirty offset: as Kafka counts.
  transactions.expect(
    abortedWithin(task, dirty[0]?.baseOffset ?? firstDirtyOffset, firstUncleanableOffset),
  );
  let latest = firstDirtyOffset - 1n;
  for (const segment of dirty) {
    const start = segment.baseOffset <= firstDirtyOffset ? task.firstDirtyPosition : 0;
    const reached = readSegment(pass, segment, start, transactions);
    if (reached === null) {
      // Also over a hole at its end, or the same range would be dirty for ever (KAFKA-8764).
      latest = segment.endOffset - 1n;
      continue;
    }
    if (reached > latest) latest = reached;
    break;
  }
  pass.decoded.settle();
  return latest;
}

/** The last offset that was taken in before the map was full; null: all of it was. */
function readSegment(
  pass: CleaningPass,
  segment: SourceSegment,
  start: number,
  transactions: PassTransactions,
): bigint | null {
  const { task, scanner, stats } = pass;
  const reader = new SourceReader(
    pass.disk,
    task.directory,
    segment,
    start,
    pass.ioBufferBytes,
    pass.control,
  );
  let reached = -1n;
  try {
    for (let batch = reader.next(); batch; batch = reader.next()) {
      if (batch.isControl) {
        transactions.onMarker(batch, controlTypeOf(batch, scanner));
        stats.mapRecordsRead++;
      } else if (transactions.isAborted(batch) || batch.lastOffset < task.firstDirtyOffset) {
        stats.mapRecordsRead += batch.recordCount;
      } else {
        reader.ensureValid(batch);
        const lastDelta = putRecords(pass, batch, segment.baseOffset, reader.batchPosition);
        if (lastDelta === NONE) return reached;
        if (lastDelta !== ALL) return batch.baseOffset + BigInt(lastDelta);
      }
      reached = batch.lastOffset;
    }
    return null;
  } catch (error) {
    throw reader.toError(error);
  } finally {
    stats.mapBytesRead += reader.bytesRead;
    reader.close();
  }
}

const ALL = -1;
const NONE = -2;

/** ALL, or the offset delta of the last record that found room (NONE: not even the first did). */
function putRecords(
  pass: CleaningPass,
  batch: RecordBatch,
  segment: bigint,
  position: number,
): number {
  const { map, scanner, decoded, stats, task } = pass;
  const base = batch.baseOffset;
  const firstDelta = base >= task.firstDirtyOffset ? 0 : Number(task.firstDirtyOffset - base);
  const high = batch.buffer.readInt32BE(batch.position);
  const low = batch.buffer.readUInt32BE(batch.position + 4);
  const { recordCount } = batch;
  const isDecoded = batch.codec !== 'none' && recordCount > 0;
  const room = isDecoded ? decoded.roomFor(recordCount) : undefined;
  scanner.open(batch, room);
  let lastDelta = NONE;
  let isCovered = firstDelta === 0;
  while (scanner.next()) {
    const delta = scanner.offsetDelta;
    if (scanner.keyStart >= 0 && delta >= firstDelta) {
      if (map.isFull) return lastDelta;
      const sum = low + delta;
      const offsetHigh = sum >= TWO_32 ? high + 1 : high;
      map.put(scanner.buffer, scanner.keyStart, scanner.keyEnd, offsetHigh, sum | 0);
      if (delta <= lastDelta) isCovered = false;
      lastDelta = delta;
    } else {
      isCovered = false;
    }
    stats.mapRecordsRead++;
  }
  // Where the second phase would have to look at the map, and at the batch's CRC, it reads it again.
  if (isCovered && map.cover(base, batch.nextOffset) && room !== undefined) {
    decoded.keep(segment, position, batch, scanner.buffer, room);
  }
  return ALL;
}
