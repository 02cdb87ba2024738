import type { TaskMeasures } from '../metrics/task-measures.ts';
import type { Outcome } from '../operators/outcome.ts';
import type { Cancellable, PunctuationType } from '../operators/punctuation.ts';
import type { Clock } from '../platform/clock.ts';
import { PunctuationQueue, type Punctuation } from './punctuation-queue.ts';

/** The handler's word on what a punctuator threw: returns if it is to be passed over. */
type PunctuationFailed = (
  node: { readonly name: string },
  error: unknown,
  timestamp: number,
) => Outcome;

interface PunctuationTiming {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly measures: Pick<TaskMeasures, 'punctuated'>;
  readonly onCalled?: (node: string, tookMs: number) => void;
}

/** What the processors of a task have scheduled. */
export class Punctuations {
  readonly #failed: PunctuationFailed;
  readonly #timing: PunctuationTiming | null;
  readonly #streamTime = new PunctuationQueue();
  readonly #wallClock = new PunctuationQueue();
  #calledCount = 0;

  constructor(failed: PunctuationFailed, timing: PunctuationTiming | null = null) {
    this.#failed = failed;
    this.#timing = timing;
  }

  /** How often a punctuator was called so far. */
  get calledCount(): number {
    return this.#calledCount;
  }

  /** Stream time at which the next call is due; Infinity if there is none. */
  get nextStreamTimeMs(): number {
    return this.#streamTime.nextMs;
  }

  /** Wall-clock time at which the next call is due; Infinity if there is none. */
  get nextWallClockMs(): number {
    return this.#wallClock.nextMs;
  }

  /** Without a start, stream time's grid begins at 0, and wall-clock time's an interval after now. */
  schedule(
    node: { readonly name: string },
    type: PunctuationType,
    startMs: number | null,
    intervalMs: number,
    punctuate: (timestamp: number) => Outcome,
    nowMs: number,
  ): Cancellable {
    if (type === 'stream-time') {
      return this.#streamTime.schedule(node, startMs ?? 0, intervalMs, punctuate);
    }
    return this.#wallClock.schedule(node, startMs ?? nowMs + intervalMs, intervalMs, punctuate);
  }

  /** Calls everything that is due, one after the other. */
  run(type: PunctuationType, nowMs: number): Outcome {
    const queue = type === 'stream-time' ? this.#streamTime : this.#wallClock;
    for (let due = queue.takeDue(nowMs); due !== null; due = queue.takeDue(nowMs)) {
      const outcome = this.#call(due, nowMs);
      if (outcome !== undefined) return this.#runRest(outcome, due, queue, nowMs);
      queue.reschedule(due, nowMs);
    }
    return undefined;
  }

  /** The task is given up. */
  clear(): void {
    this.#streamTime.clear();
    this.#wallClock.clear();
  }

  #call({ node, punctuate }: Punctuation, nowMs: number): Outcome {
    const timing = this.#timing;
    this.#calledCount++;
    const startMs = timing?.clock.monotonicMs() ?? 0;
    let outcome: Outcome;
    try {
      outcome = punctuate(nowMs);
    } catch (error) {
      return this.#failed(node, error, nowMs);
    } finally {
      if (timing !== null) {
        const tookMs = timing.clock.monotonicMs() - startMs;
        timing.measures.punctuated(tookMs);
        timing.onCalled?.(node.name, tookMs);
      }
    }
    return outcome?.catch((error: unknown) => this.#failed(node, error, nowMs));
  }

  async #runRest(
    outcome: Promise<void>,
    first: Punctuation,
    queue: PunctuationQueue,
    nowMs: number,
  ): Promise<void> {
    await outcome;
    queue.reschedule(first, nowMs);
    for (let due = queue.takeDue(nowMs); due !== null; due = queue.takeDue(nowMs)) {
      await this.#call(due, nowMs);
      queue.reschedule(due, nowMs);
    }
  }
}
