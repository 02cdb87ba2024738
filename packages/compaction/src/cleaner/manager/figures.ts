import type { Log } from '../../log/log.ts';
import type { Clock } from '../../platform/clock.ts';
import { yieldToEventLoop } from '../../platform/event-loop.ts';
import { CLEANER_SLICE_MS, COUNT_STEP_BYTES } from '../../limits.ts';
import type { Segment } from '../../segment/segment.ts';

/** Work in slices: the event loop gets a turn when `CLEANER_SLICE_MS` have passed. */
export class Slices {
  readonly #clock: Clock;
  #startedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  async pause(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#startedMs < CLEANER_SLICE_MS) return;
    await yieldToEventLoop();
    this.#startedMs = this.#clock.monotonicMs();
  }
}

/**
 * Brings into memory what `cleanableRange` asks of a log's segments: timestamps and counts, for which
 * a first look reads files.
 */
export async function loadFigures(
  log: Log,
  firstDirtyOffset: bigint,
  slices: Slices,
): Promise<void> {
  const needsCounts = log.config.minCompactionLagMessages > 0;
  for (const segment of dirtySegments(log, firstDirtyOffset)) {
    const isCounted = !needsCounts || segment.countDataRecords(0);
    if ((segment.hasTimestamps && isCounted) || !isThere(log, segment)) continue;
    segment.firstBatchTimestamp();
    segment.largestTimestamp();
    while (needsCounts && !segment.countDataRecords(COUNT_STEP_BYTES)) {
      await slices.pause();
      if (!isThere(log, segment)) break;
    }
    log.noteUse(segment);
    await slices.pause();
  }
}

/** The same for what a cleaning task says of a log: its aborted transactions. */
export async function loadTransactions(log: Log, slices: Slices): Promise<void> {
  for (const segment of [...log.segments]) {
    if (!isThere(log, segment)) continue;
    segment.txnIndex.entries();
    await slices.pause();
  }
}

/** The active segment among them: what it holds counts for a lag. */
function dirtySegments(log: Log, firstDirtyOffset: bigint): readonly Segment[] {
  const first = log.segments.findLastIndex((one) => one.baseOffset <= firstDirtyOffset);
  return log.segments.slice(Math.max(0, first));
}

/** Retention, or the end of the log, may have come in between. */
function isThere(log: Log, segment: Segment): boolean {
  return !log.isClosed && log.segments.includes(segment);
}
