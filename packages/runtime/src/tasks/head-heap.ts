import type { RecordQueue } from './record-queue.ts';

/**
 * The queues that have a head, the one with the lowest timestamp first. A binary heap as Java's
 * PriorityQueue is one, so that among equal timestamps the same queue comes first as in Kafka Streams.
 */
export class HeadHeap {
  readonly #queues: RecordQueue[] = [];

  get size(): number {
    return this.#queues.length;
  }

  get first(): RecordQueue | undefined {
    return this.#queues[0];
  }

  offer(queue: RecordQueue): void {
    const queues = this.#queues;
    let at = queues.length;
    queues.push(queue);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = queues[above] as RecordQueue;
      if (queue.headTimestamp >= parent.headTimestamp) break;
      queues[at] = parent;
      at = above;
    }
    queues[at] = queue;
  }

  /** Takes the first away. */
  poll(): void {
    const queues = this.#queues;
    const last = queues.pop();
    const size = queues.length;
    if (last === undefined || size === 0) return;
    let at = 0;
    for (let below = 1; below < size; below = 2 * at + 1) {
      let child = queues[below] as RecordQueue;
      const right = queues[below + 1];
      if (right !== undefined && child.headTimestamp > right.headTimestamp) {
        below++;
        child = right;
      }
      if (last.headTimestamp <= child.headTimestamp) break;
      queues[at] = child;
      at = below;
    }
    queues[at] = last;
  }

  clear(): void {
    this.#queues.length = 0;
  }
}
