import { StorageFullError, StorageIoError, TaskCorruptedError } from '../errors.ts';
import { freeBytes } from '../platform/directories.ts';
import { DISK_FULL_FREE_BYTES } from './limits.ts';

/** LMDB fails so when it could write a part only; lmdb does not always get to know why. */
const INPUT_OUTPUT_ERROR = /Input\/output error|EIO|Commit failed/;

/** What failed on disk, in our words: no room, damaged state of a task, or anything else. */
export function storageError(error: unknown, directory: string, taskId: string | null): Error {
  const why = error instanceof Error ? error.message : String(error);
  const state = taskId === null ? 'The state' : `The state of task ${taskId}`;
  const context = taskId === null ? { directory } : { task: taskId, directory };
  if (/no space|ENOSPC|MDB_MAP_FULL/i.test(why) || isWrittenInPart(why, directory)) {
    return new StorageFullError(
      `The disk of ${directory} is full: ${state.replace('The', 'the')} cannot be written. Make room and start again; nothing that was committed is lost`,
      { cause: error, context },
    );
  }
  if (
    taskId !== null &&
    /MDB_(INVALID|CORRUPTED|VERSION_MISMATCH|PAGE_NOTFOUND|PANIC|BAD_)/.test(why)
  ) {
    return new TaskCorruptedError(
      `${state} in ${directory} is damaged (${why}); it is wiped and restored`,
      { cause: error, context, wipesState: true },
    );
  }
  return new StorageIoError(`${state} in ${directory}: ${why}`, { cause: error, context });
}

function isWrittenInPart(why: string, directory: string): boolean {
  return INPUT_OUTPUT_ERROR.test(why) && isFull(directory);
}

/** @throws StorageFullError */
export function ensureRoom(directory: string, taskId: string): void {
  if (isFull(directory)) throw storageError(new Error('ENOSPC'), directory, taskId);
}

function isFull(directory: string): boolean {
  try {
    return freeBytes(directory) < DISK_FULL_FREE_BYTES;
  } catch {
    // The disk does not even tell: it is not just full.
    return false;
  }
}
