import { BigMap } from '../memory/big-map.ts';

/** What a queue needs of its entries. */
export interface Queued {
  /** Unique in a queue; of entries with equal times the one with the lower id comes first. */
  readonly id: string;
  readonly time: number;
  /** The queue's own: where the entry stands in its heap. */
  queueIndex: number;
}

/**
 * Entries in the order of their times, and found by their ids: what both buffers stand on. A binary
 * heap whose entries know their places, so that one can be taken out of the middle, too.
 */
export class TimeOrderedQueue<E extends Queued> {
  readonly #byId = new BigMap<string, E>();
  readonly #heap: E[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** The entry to be let go next. */
  get first(): E | undefined {
    return this.#heap[0];
  }

  get(id: string): E | undefined {
    return this.#byId.get(id);
  }

  /** The entry's id is not in the queue yet; the caller has looked. */
  add(entry: E): void {
    this.#byId.add(entry.id, entry);
    this.#heap.push(entry);
    this.#up(entry, this.#heap.length - 1);
  }

  remove(entry: E): void {
    this.#byId.delete(entry.id);
    const heap = this.#heap;
    const last = heap.pop() as E;
    if (last === entry) return;
    const index = entry.queueIndex;
    this.#up(last, index);
    if (last.queueIndex === index) this.#down(last, index);
  }

  clear(): void {
    this.#byId.clear();
    this.#heap.length = 0;
  }

  #up(entry: E, from: number): void {
    const heap = this.#heap;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex] as E;
      if (!isBefore(entry, parent)) break;
      heap[index] = parent;
      parent.queueIndex = index;
      index = parentIndex;
    }
    heap[index] = entry;
    entry.queueIndex = index;
  }

  #down(entry: E, from: number): void {
    const heap = this.#heap;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= heap.length) break;
      let child = heap[childIndex] as E;
      const right = heap[childIndex + 1];
      if (right !== undefined && isBefore(right, child)) {
        childIndex++;
        child = right;
      }
      if (!isBefore(child, entry)) break;
      heap[index] = child;
      child.queueIndex = index;
      index = childIndex;
    }
    heap[index] = entry;
    entry.queueIndex = index;
  }
}

function isBefore(a: Queued, b: Queued): boolean {
  return a.time < b.time || (a.time === b.time && a.id < b.id);
}
