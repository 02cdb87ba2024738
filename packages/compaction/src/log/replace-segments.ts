import { CleaningAbortedError, LogDirError } from '../errors.ts';
import {
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  SEGMENT_SUFFIXES,
  SWAP_SUFFIX,
  segmentFilePath,
} from '../segment/segment-files.ts';
import { Segment } from '../segment/segment.ts';
import { syncFile } from './flush.ts';
import { ensureUsable, markFailed } from './log-state.ts';
import type { LogState } from './log-state.ts';
import { segmentJitter } from './roll.ts';

export interface SegmentReplacement {
  /** Base offsets of neighbouring segments, none of them the active one, rising. */
  readonly sources: readonly bigint[];
  /** Base offsets of complete `.cleaned` segments that take their place, rising. */
  readonly cleaned: readonly bigint[];
  /** What the new files are dated, epoch ms. */
  readonly modifiedMs: number;
}

/**
 * Puts `.cleaned` segments in the place of others, as Kafka does: synced, renamed to `.swap` (highest
 * base first), the old files out of the way, `.swap` off. The replacement counts from the moment when no
 * `.cleaned` is left; `startup-files` brings one that a crash interrupts to its end, or undoes
 * it. Readers see the old segments or the new ones: between the renames nobody reads.
 *
 * @throws CleaningAbortedError when a source is not there any more; LogDirError. The `.cleaned`
 * files are gone then and the log is as it was, or it is out of service.
 */
export async function replaceSegments(
  state: LogState,
  replacement: SegmentReplacement,
): Promise<void> {
  const { disk } = state.environment;
  try {
    ensureUsable(state);
    sourcesOf(state, replacement);
    await syncCleaned(state, replacement);
    // Retention, or the end of the log, may have come in between.
    ensureUsable(state);
    sourcesOf(state, replacement);
    ensureComplete(state, replacement);
  } catch (error) {
    discardCleaned(state, replacement.cleaned);
    throw error;
  }
  commit(state, replacement);
  let deleted: string[];
  try {
    deleted = swap(state, replacement);
    await disk.syncDirectory(state.directory);
  } catch (error) {
    if (state.isClosed) throw error;
    throw markFailed(state, error);
  }
  state.environment.deletions.schedule(state.config.fileDeleteDelayMs, deleted);
}

function sourcesOf(state: LogState, { sources }: SegmentReplacement): Segment[] {
  const { segments } = state;
  return sources.map((baseOffset) => {
    const segment = segments.at(segments.floorIndex(baseOffset));
    if (segment?.baseOffset !== baseOffset || segment === segments.active) {
      throw new CleaningAbortedError(
        `${state.name}: the segment at ${String(baseOffset)} is not there any more, or is appended to again`,
      );
    }
    return segment;
  });
}

/** Sources must not go for files that somebody has removed. */
function ensureComplete(state: LogState, { cleaned }: SegmentReplacement): void {
  for (const baseOffset of cleaned) {
    const file = segmentFilePath(state.directory, baseOffset, `.log${CLEANED_SUFFIX}`);
    if (state.environment.disk.stat(file) === null) {
      throw new LogDirError(`${file} is gone: what should take the place of others is not there`);
    }
  }
}

/** The files of segments in a state, those that are there; of each segment the log last. */
function filesOf(
  state: LogState,
  baseOffsets: readonly bigint[],
  suffix: typeof CLEANED_SUFFIX | typeof SWAP_SUFFIX,
): string[] {
  const { disk } = state.environment;
  return baseOffsets
    .flatMap((baseOffset) =>
      SEGMENT_SUFFIXES.toReversed().map((kind) =>
        segmentFilePath(state.directory, baseOffset, kind + suffix),
      ),
    )
    .filter((file) => disk.stat(file) !== null);
}

async function syncCleaned(state: LogState, replacement: SegmentReplacement): Promise<void> {
  const { disk } = state.environment;
  for (const file of filesOf(state, replacement.cleaned, CLEANED_SUFFIX)) {
    disk.setModified(file, replacement.modifiedMs);
    await syncFile(disk, file);
  }
}

/**
 * Removes `.cleaned` segments that nothing will come of: before a replacement counts, nothing of it
 * need stay. The swaps first: see `startup-files`.
 */
export function discardCleaned(state: LogState, cleaned: readonly bigint[]): void {
  if (state.isClosed) return;
  const { disk } = state.environment;
  try {
    for (const file of filesOf(state, cleaned, SWAP_SUFFIX)) disk.unlink(file);
    for (const file of filesOf(state, cleaned, CLEANED_SUFFIX)) disk.unlink(file);
  } catch (error) {
    markFailed(state, error);
  }
}

function commit(state: LogState, replacement: SegmentReplacement): void {
  const { disk } = state.environment;
  try {
    for (const file of filesOf(state, replacement.cleaned.toReversed(), CLEANED_SUFFIX)) {
      disk.rename(file, file.slice(0, -CLEANED_SUFFIX.length) + SWAP_SUFFIX);
    }
  } catch (error) {
    discardCleaned(state, replacement.cleaned);
    throw error;
  }
}

/** From here on there is no way back. Returns the files that wait for their deletion. */
function swap(state: LogState, replacement: SegmentReplacement): string[] {
  const { environment, segments, producers, directory } = state;
  const { disk, clock, cache } = environment;
  const deleted: string[] = [];
  const sources = sourcesOf(state, replacement);
  for (const segment of sources) {
    segments.remove(segment);
    cache.forget(segment);
    deleted.push(...segment.renameWithSuffix(DELETED_SUFFIX));
  }
  for (const file of filesOf(state, replacement.cleaned, SWAP_SUFFIX)) {
    disk.rename(file, file.slice(0, -SWAP_SUFFIX.length));
  }
  for (const baseOffset of replacement.cleaned) {
    const jitterMs = segmentJitter(state);
    const segment = Segment.open(disk, directory, baseOffset, clock.now(), jitterMs);
    segments.add(segment);
    cache.touch(segment);
  }
  const kept = new Set(replacement.cleaned);
  for (const baseOffset of replacement.sources) {
    if (!kept.has(baseOffset) && producers.hasSnapshot(baseOffset)) {
      producers.removeSnapshot(baseOffset);
    }
  }
  return deleted;
}
