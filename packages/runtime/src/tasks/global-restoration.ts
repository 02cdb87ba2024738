import type { FetchPort, TopicPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { RESTORE_PROGRESS_INTERVAL_MS } from '../limits.ts';
import type { Clock } from '../platform/clock.ts';
import type { RestoreListener, RestoreProgress } from '../restore/progress.ts';
import { GLOBAL_TASK_NAME, type GlobalState } from './global-state.ts';
import type { GlobalPartition } from './global-topics.ts';
import type { RecordQueue } from './record-queue.ts';

interface Part {
  readonly queue: RecordQueue;
  readonly storeName: string;
  readonly startOffset: bigint;
  readonly endOffset: bigint;
  reportedMs: number;
  isDone: boolean;
}

/**
 * Fills a global state up to the ends that its topics had when it began: from where its stores stand on
 * disk, otherwise from the beginnings. The fetcher then just goes on: what comes after an end is applied
 * as it arrives.
 */
export class GlobalRestoration {
  readonly state: GlobalState;
  readonly #clock: Clock;
  readonly #listener: RestoreListener;
  readonly #parts = new Map<string, Part>();

  constructor(state: GlobalState, clock: Clock, listener: RestoreListener) {
    this.state = state;
    this.#clock = clock;
    this.#listener = listener;
  }

  /** From here on what is fetched of the partitions is this restoration's. */
  begin(partitions: readonly GlobalPartition[], fetcher: FetchPort): void {
    const positions = partitions.map((at) => {
      const { topic, partition, topicId, storeName, end } = at;
      const key = topicPartitionKey(topic, partition);
      const startOffset = this.state.disk?.position(at) ?? at.beginning;
      const part: Part = {
        queue: this.state.addPartition(topic, partition, startOffset, topicId),
        storeName,
        startOffset,
        endOffset: end < startOffset ? startOffset : end,
        reportedMs: this.#clock.monotonicMs(),
        isDone: false,
      };
      this.#parts.set(key, part);
      this.#listener(this.#progress(part, 'start'));
      return { topic, partition, offset: startOffset };
    });
    fetcher.assign(positions);
  }

  get isDone(): boolean {
    for (const part of this.#parts.values()) if (!part.isDone) return false;
    return true;
  }

  get remainingRecords(): bigint {
    let sum = 0n;
    for (const part of this.#parts.values()) {
      if (!part.isDone) sum += part.endOffset - position(part);
    }
    return sum;
  }

  /** The log starts later by now; false if the position is not what is out of range. */
  trimmed(partition: TopicPartition, beginning: bigint): boolean {
    const part = this.#parts.get(topicPartitionKey(partition.topic, partition.partition));
    if (part === undefined || beginning <= part.queue.committableOffset) return false;
    part.queue.seek(beginning);
    return true;
  }

  /** To be called after each slice of work: reports, and notes what is done. */
  look(): void {
    const now = this.#clock.monotonicMs();
    for (const part of this.#parts.values()) {
      if (part.isDone) continue;
      if (part.queue.committableOffset >= part.endOffset) {
        part.isDone = true;
        this.#listener(this.#progress(part, 'end'));
      } else if (now - part.reportedMs >= RESTORE_PROGRESS_INTERVAL_MS) {
        part.reportedMs = now;
        this.#listener(this.#progress(part, 'batch'));
      }
    }
  }

  /** It ends before it is done. */
  suspend(): void {
    for (const part of this.#parts.values()) {
      if (!part.isDone) this.#listener(this.#progress(part, 'suspended'));
    }
  }

  #progress(part: Part, kind: RestoreProgress['kind']): RestoreProgress {
    const { queue, storeName, startOffset, endOffset } = part;
    return {
      kind,
      taskId: GLOBAL_TASK_NAME,
      storeName,
      topic: queue.topic,
      partition: queue.partition,
      startOffset,
      currentOffset: position(part),
      endOffset,
      restoredRecords: this.state.processedOf(queue),
    };
  }
}

function position({ queue, endOffset }: Part): bigint {
  const at = queue.committableOffset;
  return at < endOffset ? at : endOffset;
}
