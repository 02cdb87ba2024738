import { checkedDisk } from '../../log-dir/checked-disk.ts';
import { parseSegmentFileName } from '../../segment/segment-files.ts';
import { BatchRetention } from './batch-retention.ts';
import { BatchRewriter } from './batch-rewriter.ts';
import { buildOffsetMap } from './build-map.ts';
import { cleanSegments } from './clean-segments.ts';
import { removeCleaned } from './cleaned-segments.ts';
import type {
  CleanedGroup,
  CleaningReport,
  CleaningStats,
  CleaningTask,
} from '../cleaning-task.ts';
import { DecodedBatches } from './decoded-batches.ts';
import { groupSegments } from './group-segments.ts';
import type { CleaningPass, CleaningTools } from './pass.ts';
import { RecordScanner } from './record-scanner.ts';
import { PassTransactions } from './transactions.ts';

/**
 * One pass over a log: reads its segments and writes `.cleaned` files, nothing else, so it can run in
 * another thread. Yields group by group what replaces what, in rising order; each may be swapped in
 * while the pass goes on. What it throws, or whoever ends it early, leaves no file of the group that
 * was being written.
 *
 * @throws CorruptBatchError naming file and position, LogDirError, StorageFullError, and whatever
 * `control` throws. The log is as it was then, but for groups that were swapped in.
 */
export function* cleanLog(
  task: CleaningTask,
  tools: CleaningTools,
): Generator<CleanedGroup, CleaningReport> {
  const { clock } = tools;
  const stats = newStats();
  const scanner = new RecordScanner(task.settings.maxDecompressedMessageBytes);
  const disk = checkedDisk(tools.disk);
  const decoded = new DecodedBatches(tools.map);
  const pass: CleaningPass = { ...tools, disk, task, scanner, decoded, stats };
  removeLeftovers(pass);
  const startedMs = clock.monotonicMs();
  const lastMappedOffset = buildOffsetMap(pass);
  const mappedMs = clock.monotonicMs();
  const nextFirstDirtyOffset = lastMappedOffset + 1n;
  const state = {
    transactions: new PassTransactions(),
    retention: new BatchRetention(task),
    rewriter: new BatchRewriter(),
    lastMappedOffset,
  };
  // The segment that the next pass begins in is rewritten as a whole, too.
  const sources = task.segments.filter((one) => one.baseOffset < nextFirstDirtyOffset);
  for (const group of groupSegments(sources, task)) {
    const cleaned = cleanSegments(pass, state, group);
    yield {
      sources: group.map((segment) => segment.baseOffset),
      cleaned,
      modifiedMs: group.at(-1)?.modifiedMs ?? task.nowMs,
    };
  }
  stats.mapUtilization = tools.map.utilization;
  stats.mapMs = mappedMs - startedMs;
  stats.cleanMs = clock.monotonicMs() - mappedMs;
  return { nextFirstDirtyOffset, stats };
}

/**
 * Files that an earlier pass left when it failed. They must go before anything is swapped in: at a
 * start, a `.cleaned` file says that no `.swap` above it counts.
 */
function removeLeftovers({ disk, task }: CleaningPass): void {
  const bases = new Set<bigint>();
  for (const entry of disk.list(task.directory)) {
    const name = parseSegmentFileName(entry.name);
    if (name?.state === '.cleaned') bases.add(name.baseOffset);
  }
  removeCleaned(disk, task.directory, [...bases]);
}

function newStats(): CleaningStats {
  return {
    mapBytesRead: 0,
    mapRecordsRead: 0,
    mapUtilization: 0,
    bytesRead: 0,
    recordsRead: 0,
    bytesWritten: 0,
    recordsWritten: 0,
    bytesCopied: 0,
    invalidRecordsRead: 0,
    mapMs: 0,
    cleanMs: 0,
  };
}
