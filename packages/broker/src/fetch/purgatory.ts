import type { Clock, Timer } from '@millrace/compaction';
import { PARKED_FETCHES } from '../limits.ts';

/** A fetch that waits for more bytes. */
export interface ParkedFetch {
  /** Compared by identity. */
  readonly partitions: readonly object[];
  readonly maxWaitMs: number;
  /**
   * Something happened to one of the partitions. True if the fetch is answered now; asked at most once
   * per turn of the loop, however many appends there were.
   */
  tryComplete(): boolean;
  /** Time is up, a partition is gone or the broker stops: answer with what there is. */
  complete(): void;
}

interface Entry {
  readonly fetch: ParkedFetch;
  timer: Timer | null;
  isDirty: boolean;
  isDone: boolean;
}

/**
 * Fetches that found less than their minimum wait here, each under its partitions, until an append to
 * one of them, their time, or the end of a partition. Appends of one turn are looked at together, after
 * the produce that made them has been answered.
 */
export class FetchPurgatory {
  readonly #clock: Clock;
  readonly #byPartition = new Map<object, Set<Entry>>();
  readonly #entries = new Set<Entry>();
  #dirty: Entry[] = [];
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get parkedCount(): number {
    return this.#entries.size;
  }

  /** Takes the fetch in; the result takes it out again without an answer. */
  park(fetch: ParkedFetch): () => void {
    const entry: Entry = { fetch, timer: null, isDirty: false, isDone: false };
    if (this.#isClosed || this.#entries.size >= PARKED_FETCHES) {
      entry.isDone = true;
      fetch.complete();
      return () => undefined;
    }
    this.#entries.add(entry);
    for (const partition of fetch.partitions) {
      let waiting = this.#byPartition.get(partition);
      if (waiting === undefined) {
        waiting = new Set();
        this.#byPartition.set(partition, waiting);
      }
      waiting.add(entry);
    }
    entry.timer = this.#clock.setTimer(fetch.maxWaitMs, () => {
      this.#complete(entry);
    });
    return () => {
      this.#remove(entry);
    };
  }

  /** Something was appended to the partition, or what may be read of it has moved. */
  wake(partition: object): void {
    const waiting = this.#byPartition.get(partition);
    if (waiting === undefined) return;
    for (const entry of waiting) {
      if (entry.isDirty) continue;
      entry.isDirty = true;
      if (this.#dirty.length === 0) {
        queueMicrotask(() => {
          this.#checkDirty();
        });
      }
      this.#dirty.push(entry);
    }
  }

  /** The partition is gone: whoever waits for it is told so by its own next look. */
  partitionGone(partition: object): void {
    for (const entry of [...(this.#byPartition.get(partition) ?? [])]) this.#complete(entry);
  }

  /** Answers everyone; nobody is parked any more. */
  close(): void {
    this.#isClosed = true;
    for (const entry of [...this.#entries]) this.#complete(entry);
  }

  #checkDirty(): void {
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const entry of dirty) {
      entry.isDirty = false;
      if (entry.isDone) continue;
      if (entry.fetch.tryComplete()) this.#remove(entry);
    }
  }

  #complete(entry: Entry): void {
    if (entry.isDone) return;
    this.#remove(entry);
    entry.fetch.complete();
  }

  #remove(entry: Entry): void {
    if (entry.isDone) return;
    entry.isDone = true;
    entry.timer?.cancel();
    this.#entries.delete(entry);
    for (const partition of entry.fetch.partitions) {
      const waiting = this.#byPartition.get(partition);
      if (waiting === undefined) continue;
      waiting.delete(entry);
      if (waiting.size === 0) this.#byPartition.delete(partition);
    }
  }
}
