import { HeadHeap } from './head-heap.ts';
import type { RecordQueue } from './record-queue.ts';

/**
 * The queues of one task, and the choice among them: always the record with the lowest head timestamp.
 * Among several of these, the queue is next that Kafka Streams would take.
 *
 * While some partition has nothing buffered, a record from another one might be too early. What is
 * done then is `max.task.idle.ms` (KIP-353, KIP-695):
 *
 * - -1: process what is there.
 * - 0: for each empty partition the lag must be known. Unknown, or more to fetch: wait. Nothing to
 *   fetch: go ("enforced").
 * - above 0: the same, but a partition that has nothing to fetch is waited for, too, until it has been
 *   empty for that long. The time counts from when it ran empty, whether or not others have records.
 */
export class PartitionGroup {
  readonly queues: readonly RecordQueue[];
  readonly #maxTaskIdleMs: number;
  /** By queue: until when an empty, caught-up partition is waited for; -1 none. */
  readonly #idleDeadlines: number[];
  readonly #heads = new HeadHeap();
  /** First of the heads, and may go; null if that has to be found out. */
  #current: RecordQueue | null = null;
  /** It goes although an empty partition might still bring an earlier record. */
  #isEnforced = false;
  #enforcedCount = 0;

  constructor(queues: readonly RecordQueue[], maxTaskIdleMs: number) {
    this.queues = queues;
    this.#maxTaskIdleMs = maxTaskIdleMs;
    this.#idleDeadlines = queues.map(() => -1);
  }

  /** Records chosen although an empty partition might have brought an earlier one. */
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
    if (current === null) return this.#choose(nowMs);
    if (!isOutdated(current)) return current;
    // Its head was taken, and nothing else has happened.
    if (this.queues.length === 1 && current.hasHead) {
      // The only one, as most tasks have: there is nothing to be put in order.
      current.offeredOrder = current.headOrder;
      return current;
    }
    this.#pollFirst(current);
    if (current.hasHead) this.#offer(current);
    if (this.#heads.first !== current) return this.#choose(nowMs);
    if (this.#isEnforced) this.#enforcedCount++;
    return current;
  }

  /** When the next wait for an idle partition ends, by the wall clock of `select`; Infinity if none is on. */
  nextDeadlineMs(nowMs: number): number {
    let next = Infinity;
    // Nothing waits for it.
    if (this.#heads.size === 0) return next;
    for (const deadline of this.#idleDeadlines) {
      if (deadline > nowMs && deadline < next) next = deadline;
    }
    return next;
  }

  #choose(nowMs: number): RecordQueue | null {
    const queues = this.queues;
    this.#current = null;
    this.#isEnforced = false;
    this.#lookForHeads();
    const first = this.#heads.first;
    if (this.#heads.size < queues.length) {
      // The next record of one whose time is not known yet may be the earliest.
      if (queues.some((queue) => !queue.hasHead && queue.extraction !== null)) return null;
      if (!this.#mayGoWithout(nowMs) || first === undefined) return null;
      this.#isEnforced = this.#maxTaskIdleMs >= 0;
      if (this.#isEnforced) this.#enforcedCount++;
    } else if (this.#maxTaskIdleMs > 0) {
      this.#idleDeadlines.fill(-1);
    }
    this.#current = first ?? null;
    return this.#current;
  }

  /** Makes the heap hold what has a head, in the order in which the heads came. */
  #lookForHeads(): void {
    const first = this.#heads.first;
    if (first !== undefined && isOutdated(first)) this.#pollFirst(first);
    if (this.queues.some((queue) => queue.offeredOrder >= 0 && isOutdated(queue))) {
      // One inside of the heap was moved elsewhere.
      this.#heads.clear();
      for (const queue of this.queues) queue.offeredOrder = -1;
    }
    const fresh = this.queues.filter((queue) => queue.hasHead && queue.offeredOrder < 0);
    fresh.sort((a, b) => a.headOrder - b.headOrder);
    for (const queue of fresh) this.#offer(queue);
  }

  #offer(queue: RecordQueue): void {
    queue.offeredOrder = queue.headOrder;
    this.#heads.offer(queue);
  }

  #pollFirst(first: RecordQueue): void {
    first.offeredOrder = -1;
    this.#heads.poll();
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
    return mayGo;
  }
}

/** Its head is not the one that it was offered with. */
function isOutdated(queue: RecordQueue): boolean {
  return !queue.hasHead || queue.headOrder !== queue.offeredOrder;
}
