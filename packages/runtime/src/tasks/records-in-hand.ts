/** What is looked at of a task. */
interface HoldingTask {
  readonly name: string;
  readonly hasRecordInHand: boolean;
  readonly processedCount: number;
}

interface Held {
  /** While it is the same, so is the record. */
  readonly processedCount: number;
  /** Seen first, on the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Since when tasks have had the record that they have in hand, as far as it was looked at: a function
 * whose promise never settles holds up its task without a word, and at least once nothing else waits
 * for it.
 */
export class RecordsInHand {
  readonly #maxMs: number;
  readonly #held = new Map<string, Held>();

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  /** The tasks whose record has taken too long. */
  overdue(tasks: readonly HoldingTask[], nowMs: number): string[] {
    this.#look(tasks, nowMs);
    return [...this.#held].flatMap(([name, { sinceMs }]) =>
      nowMs - sinceMs > this.#maxMs ? [name] : [],
    );
  }

  /** When the next one is overdue, on the monotonic clock; Infinity if none is in hand. */
  nextOverdueMs(tasks: readonly HoldingTask[], nowMs: number): number {
    this.#look(tasks, nowMs);
    let nextMs = Infinity;
    for (const { sinceMs } of this.#held.values()) {
      nextMs = Math.min(nextMs, sinceMs + this.#maxMs + 1);
    }
    return nextMs;
  }

  #look(tasks: readonly HoldingTask[], nowMs: number): void {
    const holding = new Set<string>();
    for (const { name, hasRecordInHand, processedCount } of tasks) {
      if (!hasRecordInHand) continue;
      holding.add(name);
      if (this.#held.get(name)?.processedCount !== processedCount) {
        this.#held.set(name, { processedCount, sinceMs: nowMs });
      }
    }
    for (const name of this.#held.keys()) if (!holding.has(name)) this.#held.delete(name);
  }
}
