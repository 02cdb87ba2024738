import type { Outcome } from '../operators/outcome.ts';
import type { Cancellable } from '../operators/punctuation.ts';

/** One schedule: when it comes next, and what is called then. */
export interface Punctuation {
  readonly node: { readonly name: string };
  readonly intervalMs: number;
  readonly punctuate: (timestamp: number) => Outcome;
  dueMs: number;
  isCancelled: boolean;
}

/**
 * The schedules of a task that go by one kind of time, the earliest first: a binary heap with Java's
 * rules, so that equal times come in Kafka Streams' order.
 */
export class PunctuationQueue {
  readonly #heap: Punctuation[] = [];

  /** The earliest due time; Infinity if nothing is scheduled. */
  nextMs = Infinity;

  schedule(
    node: { readonly name: string },
    dueMs: number,
    intervalMs: number,
    punctuate: (timestamp: number) => Outcome,
  ): Cancellable {
    const punctuation = { node, dueMs, intervalMs, punctuate, isCancelled: false };
    this.#add(punctuation);
    return {
      cancel: () => {
        punctuation.isCancelled = true;
      },
    };
  }

  /** Takes the earliest one that is due; null if none is. Cancelled ones are dropped on the way. */
  takeDue(nowMs: number): Punctuation | null {
    while (this.#heap.length > 0 && this.nextMs <= nowMs) {
      const first = this.#takeFirst();
      if (!first.isCancelled) return first;
    }
    return null;
  }

  /** After the call at `nowMs`: back to its place, at the next tick of its grid that is still to come. */
  reschedule(punctuation: Punctuation, nowMs: number): void {
    if (punctuation.isCancelled) return;
    const { dueMs, intervalMs } = punctuation;
    const missed = Math.floor((nowMs - dueMs) / intervalMs);
    punctuation.dueMs = dueMs + (Math.max(missed, 0) + 1) * intervalMs;
    this.#add(punctuation);
  }

  clear(): void {
    this.#heap.length = 0;
    this.nextMs = Infinity;
  }

  #add(punctuation: Punctuation): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parentAt = (at - 1) >>> 1;
      const parent = heap[parentAt] as Punctuation;
      if (punctuation.dueMs >= parent.dueMs) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = punctuation;
    this.nextMs = (heap[0] as Punctuation).dueMs;
  }

  #takeFirst(): Punctuation {
    const heap = this.#heap;
    const first = heap[0] as Punctuation;
    const last = heap.pop() as Punctuation;
    if (heap.length === 0) {
      this.nextMs = Infinity;
      return first;
    }
    let at = 0;
    for (let childAt = 1; childAt < heap.length; childAt = 2 * at + 1) {
      let child = heap[childAt] as Punctuation;
      const right = heap[childAt + 1];
      if (right !== undefined && child.dueMs > right.dueMs) {
        childAt++;
        child = right;
      }
      if (last.dueMs <= child.dueMs) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
    this.nextMs = (heap[0] as Punctuation).dueMs;
    return first;
  }
}
