import type { Awaitable } from './outcome.ts';

/** `stream-time` goes on with the records' timestamps, `wall-clock-time` with the clock. */
export type PunctuationType = 'stream-time' | 'wall-clock-time';

/** Called with the stream time or the wall-clock time of the call, epoch ms. */
export type Punctuator = (timestamp: number) => Awaitable<unknown>;

export interface Cancellable {
  /** No further call comes; also from within the punctuator. */
  cancel(): void;
}

export interface ScheduleOptions {
  /**
   * Epoch ms from which the calls are counted: at `startTime`, `startTime + interval` and so on. One
   * that is past means that the first call comes as soon as there is a time. Default: 0 for stream
   * time, and an interval from now for wall-clock time.
   */
  readonly startTime?: number | undefined;
}
