import type { RecordQueue } from './record-queue.ts';

/**
 * The queues of one task, and the choice among them: always the record with the lowest head timestamp.
 *
 * While some partition has nothing buffered, a record from another one might be too early. What is
 * done then is `max.task.idle.ms` (KIP-353, KIP-695):
 *
 * - -1: process what is there.
 * - 0: for each empty partition the lag must be known. Unknown, or more to fetch: wait. Nothing to
 *   fetch: go.
 * - above 0: where there is nothing to fetch, wait for that long on top; then go ("enforced").
 */
export class PartitionGroup {
  readonly queues: readonly RecordQueue[];
  readonly #maxTaskIdleMs: number;
  /** By queue: until when an empty, caught-up partition is waited for; -1 none. */
  readonly #idleDeadlines: number[];
  #current: RecordQueue | null = null;
  /** `#current` is the right choice for as long as its head is not later than this. */
  #limit = -1;
  #enforcedCount = 0;

  constructor(queues: readonly RecordQueue[], maxTaskIdleMs: number) {
    this.queues = queues;
    this.#maxTaskIdleMs = maxTaskIdleMs;
    this.#idleDeadlines = queues.map(() => -1);
  }

  /** How often the group went on although an empty partition might have brought an earlier record. */
  get enforcedCount(): number {
    return this.#enforcedCount;
  }

  /** Must be called when a queue got records or moved: the choice starts anew. */
  changed(): void {
    this.#current = null;
  }

  /** The queue whose head is next; null when there is none, or when it is to be waited for. */
  select(nowMs: number): RecordQueue | null {
    const current = this.#current;
    if (current !== null && current.hasHead && current.headTimestamp <= this.#limit) return current;
    return this.#choose(nowMs);
  }

  /** When the next wait for an idle partition ends, by the wall clock of `select`; Infinity if none is on. */
  nextDeadlineMs(nowMs: number): number {
    let next = Infinity;
    for (const deadline of this.#idleDeadlines) {
      if (deadline > nowMs && deadline < next) next = deadline;
    }
    return next;
  }

  #choose(nowMs: number): RecordQueue | null {
    const queues = this.queues;
    let best: RecordQueue | null = null;
    let second = Infinity;
    let emptyCount = 0;
    for (let i = 0; i < queues.length; i++) {
      const queue = queues[i] as RecordQueue;
      if (!queue.hasHead) {
        // Its next record may be the earliest.
        if (queue.extraction !== null) return null;
        emptyCount++;
      } else if (best === null || queue.headTimestamp < best.headTimestamp) {
        if (best !== null) second = best.headTimestamp;
        best = queue;
      } else if (queue.headTimestamp < second) {
        second = queue.headTimestamp;
      }
    }
    if (best === null) return null;
    if (emptyCount > 0) {
      if (!this.#mayGoWithout(nowMs)) return null;
    } else if (this.#maxTaskIdleMs > 0) {
      this.#idleDeadlines.fill(-1);
    }
    this.#current = best;
    this.#limit = second;
    return best;
  }

  #mayGoWithout(nowMs: number): boolean {
    if (this.#maxTaskIdleMs < 0) return true;
    let mayGo = true;
    for (let i = 0; i < this.queues.length; i++) {
      const queue = this.queues[i] as RecordQueue;
      if (queue.hasHead || queue.fetchedLag !== 0n) {
        this.#idleDeadlines[i] = -1;
        if (!queue.hasHead) mayGo = false;
      } else if (this.#maxTaskIdleMs > 0) {
        const known = this.#idleDeadlines[i] as number;
        const deadline = known < 0 ? nowMs + this.#maxTaskIdleMs : known;
        this.#idleDeadlines[i] = deadline;
        if (nowMs < deadline) mayGo = false;
      }
    }
    if (mayGo && this.#maxTaskIdleMs > 0) this.#enforcedCount++;
    return mayGo;
  }
}
