import path from 'node:path';
import { StorageFullError } from '../errors.ts';
import type { Disk } from '../platform/disk.ts';
import type { Segment } from '../segment/segment.ts';
import { ensureNotFailed, markFailed } from './log-state.ts';
import type { LogState } from './log-state.ts';
import { partitionMetadataPath } from './partition-metadata.ts';

/**
 * Syncs everything below the log's present end and then moves the recovery point there. What
 * recovery would need for an earlier start goes first: epochs, snapshots, the directory's entries.
 *
 * A failed sync takes the log out of service: the kernel may have dropped the pages.
 */
export async function flushLog(state: LogState): Promise<void> {
  const { disk, clock } = state.environment;
  const target = state.logEndOffset;
  ensureNotFailed(state);
  if (target <= state.recoveryPoint && !state.directoryNeedsSync) return;
  try {
    const segments = state.segments.from(state.recoveryPoint);
    for (const segment of segments) await syncSegment(state, segment);
    await syncSnapshots(state, segments);
    if (state.isEpochFileOutdated) await state.epochFile.request();
    await state.epochFile.settled();
    if (state.directoryNeedsSync) {
      state.directoryNeedsSync = false;
      await syncMetadata(state);
      await disk.syncDirectory(state.directory);
      await disk.syncDirectory(path.dirname(state.directory));
    }
  } catch (error) {
    // Retention may have taken a segment away, or deletion the whole log, under our hands.
    if (state.isClosed) return;
    // Nothing is synced, and nothing is lost.
    if (error instanceof StorageFullError) throw error;
    throw markFailed(state, error);
  }
  // The epoch file has a failure of its own.
  ensureNotFailed(state);
  if (target > state.recoveryPoint) state.recoveryPoint = target;
  state.lastFlushMs = clock.monotonicMs();
}

async function syncSegment(state: LogState, segment: Segment): Promise<void> {
  if (!state.segments.all.includes(segment)) return;
  await segment.sync(() => state.segments.all.includes(segment));
  if (segment !== state.segments.active && state.segments.all.includes(segment)) {
    state.environment.cache.touch(segment);
  }
}

/** Written without a sync when the log was made. */
async function syncMetadata(state: LogState): Promise<void> {
  const { disk } = state.environment;
  const metadata = partitionMetadataPath(state.directory);
  if (disk.stat(metadata)) await syncFile(disk, metadata);
}

export async function syncFile(disk: Disk, file: string): Promise<void> {
  const opened = disk.open(file, 'readWrite');
  try {
    await opened.sync();
  } finally {
    opened.close();
  }
}

async function syncSnapshots(state: LogState, segments: readonly Segment[]): Promise<void> {
  const { disk } = state.environment;
  for (const segment of segments) {
    if (!state.producers.hasSnapshot(segment.baseOffset)) continue;
    await syncFile(disk, state.producers.snapshotPath(segment.baseOffset));
  }
}
