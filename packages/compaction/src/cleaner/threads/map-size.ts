import { OFFSET_MAP_SLOT_BYTES } from '../../limits.ts';
import type { CleaningTask } from '../cleaning-task.ts';

/** Below this share of the memory that is allowed a map is made to measure; above, as large as it may be. */
const SMALL_SHARE = 1 / 8;
const LEAST_MAP_BYTES = 64 * 1024;

/**
 * Bytes of an offset map that a pass cannot fill, if that is few: there are no more keys than offsets.
 * A map costs its whole size once its slots have been written to here and there.
 */
export function mapBytesFor(task: CleaningTask, maxBytes: number, loadFactor: number): number {
  const offsetCount = Number(task.firstUncleanableOffset - task.firstDirtyOffset);
  let bytes = LEAST_MAP_BYTES;
  while (bytes * loadFactor < (offsetCount + 1) * OFFSET_MAP_SLOT_BYTES) bytes *= 2;
  return bytes <= maxBytes * SMALL_SHARE ? bytes : maxBytes;
}
