import path from 'node:path';
import type { Disk } from '../platform/disk.ts';
import type { Logger } from '../platform/logger.ts';
import { Segment } from '../segment/segment.ts';
import { parseSegmentFileName, segmentFilePath } from '../segment/segment-files.ts';
import type { SegmentFileName } from '../segment/segment-files.ts';

interface Found extends SegmentFileName {
  readonly path: string;
}

const TEMPORARY = '.tmp';

function listFiles(disk: Disk, directory: string): Found[] {
  const found: Found[] = [];
  for (const entry of disk.list(directory)) {
    const name = entry.isDirectory ? null : parseSegmentFileName(entry.name);
    if (name) found.push({ ...name, path: path.join(directory, entry.name) });
  }
  return found;
}

/**
 * Brings a partition directory to one state after a crash in the middle of a replacement of
 * segments: all old, or all new. Segments are written as `.cleaned`, then renamed to `.swap`, highest
 * base first; the replacement counts once no `.cleaned` is left.
 *
 * Returns the bases of the `.log` files that are there then, rising.
 */
export function completeReplacements(disk: Disk, directory: string, logger: Logger): bigint[] {
  for (const entry of disk.list(directory)) {
    if (entry.name.endsWith(TEMPORARY)) disk.unlink(path.join(directory, entry.name));
  }
  for (const file of listFiles(disk, directory)) {
    if (file.state === '.deleted') disk.unlink(file.path);
  }
  dropUnfinished(disk, directory, logger);
  finishSwaps(disk, directory, logger);

  const files = listFiles(disk, directory).filter((file) => file.state === '');
  const bases = files.filter((file) => file.kind === '.log').map((file) => file.baseOffset);
  const known = new Set(bases);
  for (const file of files) {
    if (file.kind === '.snapshot' || file.kind === '.log' || known.has(file.baseOffset)) continue;
    logger.warn({ path: file.path }, 'an index without its log file is removed');
    disk.unlink(file.path);
  }
  return bases.sort((a, b) => (a < b ? -1 : 1));
}

/** A `.cleaned` file is left: its replacement never happened, nor did its renames to `.swap`. */
function dropUnfinished(disk: Disk, directory: string, logger: Logger): void {
  const files = listFiles(disk, directory);
  const cleaned = files.filter((file) => file.state === '.cleaned');
  if (cleaned.length === 0) return;
  let lowest = (cleaned[0] as Found).baseOffset;
  for (const file of cleaned) if (file.baseOffset < lowest) lowest = file.baseOffset;
  const swaps = files.filter((file) => file.state === '.swap' && file.baseOffset >= lowest);
  // The swaps first: a crash in between must not leave them looking like a finished replacement.
  for (const file of [...swaps, ...cleaned]) {
    logger.info({ path: file.path }, 'a file of an unfinished replacement is removed');
    disk.unlink(file.path);
  }
}

/** Only `.swap` is left: the replacement counts, whatever of the old files is still there goes. */
function finishSwaps(disk: Disk, directory: string, logger: Logger): void {
  const swaps = listFiles(disk, directory).filter((file) => file.state === '.swap');
  const logs = swaps.filter((file) => file.kind === '.log');
  const first = logs.map((file) => file.baseOffset).reduce<bigint | null>(lower, null);
  if (first !== null) {
    let end = 0n;
    for (const file of logs) {
      const next = nextOffsetOf(disk, file);
      if (next > end) end = next;
    }
    for (const file of listFiles(disk, directory)) {
      const isReplaced = file.baseOffset >= first && file.baseOffset < end;
      // Snapshots are not replaced; those whose segment is gone are stray and go later.
      if (file.state !== '' || file.kind === '.snapshot' || !isReplaced) continue;
      logger.info({ path: file.path }, 'a replaced segment file is removed');
      disk.unlink(file.path);
    }
  }
  // The log last: as long as it is a swap, the next start does this again.
  const order = [...swaps.filter((file) => file.kind !== '.log'), ...logs];
  for (const file of order) {
    disk.rename(file.path, segmentFilePath(directory, file.baseOffset, file.kind));
  }
}

const lower = (a: bigint | null, b: bigint): bigint => (a === null || b < a ? b : a);

function nextOffsetOf(disk: Disk, swap: Found): bigint {
  const file = disk.open(swap.path, 'read');
  try {
    return Segment.nextOffsetOf(file, swap.baseOffset);
  } finally {
    file.close();
  }
}
