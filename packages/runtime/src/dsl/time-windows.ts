import { TopologyError } from '../errors.ts';
import type { WindowShape } from '../operators/window-aggregate.ts';
import { durationMs, type Duration } from './duration.ts';

export interface TimeWindowsOptions {
  readonly size: Duration;
  /** Distance of two windows' starts. Default: the size (tumbling windows); less makes hopping ones. */
  readonly advance?: Duration;
  /** How long after its end a window still takes late records. Default 0. */
  readonly grace?: Duration;
}

/** Tumbling or hopping windows, aligned to epoch 0; each is `[start, end)`. */
export class TimeWindows implements WindowShape {
  readonly sizeMs: number;
  readonly advanceMs: number;
  readonly graceMs: number;

  constructor(sizeMs: number, advanceMs: number, graceMs: number) {
    this.sizeMs = sizeMs;
    this.advanceMs = advanceMs;
    this.graceMs = graceMs;
  }
}

export function timeWindows(options: TimeWindowsOptions): TimeWindows {
  const sizeMs = durationMs(options.size, 'size of the windows');
  const advanceMs = durationMs(options.advance ?? sizeMs, 'advance of the windows');
  const graceMs = durationMs(options.grace ?? 0, 'grace of the windows');
  if (sizeMs === 0) throw new TopologyError('size of the windows is 0, but must be at least 1 ms.');
  if (advanceMs === 0 || advanceMs > sizeMs) {
    throw new TopologyError(
      `advance of the windows is ${String(advanceMs)} ms, but must be from 1 ms to their size, ${String(sizeMs)} ms.`,
    );
  }
  return new TimeWindows(sizeMs, advanceMs, graceMs);
}
