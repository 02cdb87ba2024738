import type { Clock } from '../platform/clock.ts';
import type { TaskMeasures } from './task-measures.ts';
import { WindowedValues } from './windows.ts';

/** A task that takes turns. */
interface MeasuredTurns {
  readonly measures: Pick<TaskMeasures, 'tookTurn'>;
}

/**
 * Where the time of a stream thread goes. A pass of its loop is cut into laps, each of which ends where
 * the next begins, so the clock is read a few times per pass and never per record.
 */
export class ThreadTimings {
  readonly pollLatency = new WindowedValues();
  readonly pollRecords = new WindowedValues();
  readonly punctuateLatency = new WindowedValues();
  readonly processLatency = new WindowedValues();
  readonly processRecords = new WindowedValues();
  pollCount = 0;
  restoreCallCount = 0;
  /** Time spent so far, ms. */
  pollMs = 0;
  punctuateMs = 0;
  processMs = 0;
  restoreMs = 0;
  commitMs = 0;
  /** Waited for room in the producer with records at hand. */
  fullMs = 0;
  readonly #clock: Clock;
  #lapStartMs: number;
  #turnStartMs = 0;
  /** Processed in this pass. */
  #records = 0;
  #isFull = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lapStartMs = clock.monotonicMs();
  }

  /** What was fetched is in the queues: `records` of them. */
  polled(records: number): void {
    const tookMs = this.#lap();
    this.pollCount++;
    this.pollMs += tookMs;
    this.pollLatency.record(tookMs);
    if (records > 0) this.pollRecords.record(records);
    if (this.#isFull) this.fullMs += tookMs;
    this.#isFull = false;
  }

  punctuated(hasCalled: boolean): void {
    const tookMs = this.#lap();
    this.punctuateMs += tookMs;
    if (hasCalled) this.punctuateLatency.record(tookMs);
    this.#turnStartMs = this.#lapStartMs;
  }

  /** After `punctuated`: a task had its turn. Returns when that ended, on the monotonic clock. */
  tookTurn(task: MeasuredTurns, records: number): number {
    const nowMs = this.#clock.monotonicMs();
    task.measures.tookTurn(nowMs - this.#turnStartMs, records);
    this.#records += records;
    this.#turnStartMs = nowMs;
    return nowMs;
  }

  /** All turns of the pass are over; `isFull`: because there was no more room in the producer. */
  processed(isFull: boolean): void {
    const tookMs = this.#lap();
    const records = this.#records;
    this.#records = 0;
    this.processMs += tookMs;
    this.processRecords.record(records);
    if (records > 0) this.processLatency.record(tookMs / records);
    this.#isFull = isFull;
  }

  restored(hasWorked: boolean): void {
    const tookMs = this.#lap();
    if (!hasWorked) return;
    this.restoreMs += tookMs;
    this.restoreCallCount++;
  }

  /** A commit was tried. */
  committed(): void {
    this.commitMs += this.#lap();
  }

  #lap(): number {
    const nowMs = this.#clock.monotonicMs();
    const tookMs = nowMs - this.#lapStartMs;
    this.#lapStartMs = nowMs;
    return tookMs;
  }
}
