import { INPUT_BUFFER_MAX_BYTES, QUEUE_SHARE_MAX_BYTES, QUEUE_SHARE_MIN_BYTES } from '../limits.ts';
import type { RecordQueue } from './record-queue.ts';

/**
 * When a queue holds enough, so that its partition is left out of fetches. `buffered.records.per.partition`
 * alone would end prefetching at the first large batch, so a queue is full only if it has its share of
 * bytes as well; and however few records that is, two shares are always enough. No fetch asks for more
 * than a share of one partition, so a queue holds three of them at most, unless a single batch is larger.
 */
export class FlowControl {
  readonly #maxRecords: number;
  #shareBytes = QUEUE_SHARE_MAX_BYTES;

  constructor(maxRecords: number) {
    this.#maxRecords = maxRecords;
  }

  /** The queues of a thread share its memory. */
  share(queueCount: number): void {
    const share = Math.floor(INPUT_BUFFER_MAX_BYTES / Math.max(queueCount, 1));
    this.#shareBytes = Math.min(Math.max(share, QUEUE_SHARE_MIN_BYTES), QUEUE_SHARE_MAX_BYTES);
  }

  /** The most that a fetch may ask of one partition, bytes. */
  get fetchBytes(): number {
    return this.#shareBytes;
  }

  isFull(queue: RecordQueue): boolean {
    const bytes = queue.bufferedBytes;
    if (bytes <= this.#shareBytes) return false;
    return bytes > 2 * this.#shareBytes || queue.bufferedRecords > this.#maxRecords;
  }
}
