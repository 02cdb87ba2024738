import type { CleanedGroup, CleaningReport, CleaningTask } from '../cleaning-task.ts';
import type { IoThrottle } from './io-throttle.ts';

export interface CleanerThreadSettings {
  /** The most that its offset map takes, bytes. */
  readonly mapBytes: number;
  /** Share of the map's slots that may be filled. */
  readonly loadFactor: number;
  /** Of the read buffer and of the write buffer each. */
  readonly bufferBytes: number;
  readonly throttle: IoThrottle;
}

/** Puts in place what a pass has written; rejects when the pass is to end. */
export type SwapGroup = (group: CleanedGroup) => Promise<void>;

/** Where passes run, one at a time. */
export interface CleanerThread {
  /**
   * Runs a pass; it waits for each group to be swapped. What rejects leaves no `.cleaned` file but
   * where the thread itself died.
   *
   * @throws what `cleanLog` and `swap` throw; CleaningAbortedError after `abort`; CleanerThreadError.
   */
  run(task: CleaningTask, swap: SwapGroup): Promise<CleaningReport>;
  /** Has the pass under way end soon, within `CLEANER_ABORT_MS`. */
  abort(): void;
  /** Gives its memory back, to be taken anew by the next pass. Only while there is none. */
  release(): void;
  /** Aborts, and resolves when nothing runs any more. */
  close(): Promise<void>;
}

/** Makes a thread that takes memory when its first pass comes. */
export type NewCleanerThread = (settings: CleanerThreadSettings) => CleanerThread;
