import type { KeyRanges, RecordCursor } from '@millrace/protocol';
import type { FetchedPartition } from '../client/ports.ts';
import { StreamsError } from '../errors.ts';
import { RESTORE_LOOK_RECORDS } from '../limits.ts';
import type { Clock } from '../platform/clock.ts';
import { RecordWalker } from '../records/record-walker.ts';
import { ROWS_EXPECTED_MAX } from '../state/limits.ts';
import type { StateStore } from '../state/store.ts';
import type { RestoreProgress } from './progress.ts';

/** A store to be restored from one changelog partition. */
export interface RestoreTarget {
  readonly taskId: string;
  readonly store: StateStore;
  readonly topic: string;
  readonly partition: number;
  /**
   * For a source topic that serves as changelog: what the group has committed of it. What lies behind
   * is processed, not silently loaded, so that everything downstream sees it. null: the whole changelog.
   */
  readonly limit: bigint | null;
  /** The task's disk; null if none of its stores is on disk. */
  readonly disk?: RestoreDisk | null;
}

/** What restoring asks of a task's disk. */
interface RestoreDisk {
  /** So much waits to be written that nothing should be added for now. */
  isBehind(): boolean;
  /** Begins to write what is committed, if there is enough of it. */
  spillIfDue(nowMs: number): void;
}

/**
 * Applies one changelog partition to a store, from a start up to an end that was taken when it began.
 * It is done when the position gets there: the last offsets may be markers, or compacted away.
 */
export class ChangelogReader {
  readonly target: RestoreTarget;
  readonly startOffset: bigint;
  readonly endOffset: bigint;
  readonly #walker: RecordWalker;
  isPaused = false;
  restoredRecords = 0;
  /** Of a source topic: records and batches that could not be read. */
  leftOutCount = 0;
  /** Monotonic time of the last progress report. */
  reportedMs = 0;
  #batchBase = -1n;
  #endDelta = 0;
  #isPastEnd = false;
  /** Keys of the records to come that the store was told of. */
  readonly #ahead: KeyRanges = {
    starts: new Int32Array(ROWS_EXPECTED_MAX),
    ends: new Int32Array(ROWS_EXPECTED_MAX),
    count: 0,
  };
  /** Records before the store is told of more. */
  #untilTold = 0;

  constructor(target: RestoreTarget, startOffset: bigint, endOffset: bigint) {
    this.target = target;
    this.startOffset = startOffset;
    this.endOffset = endOffset;
    // A store copies what it keeps (`StateStore.restore`).
    const { topic, partition } = target;
    this.#walker = new RecordWalker(topic, partition, startOffset, { recycles: true });
  }

  get position(): bigint {
    const position = this.#walker.position;
    return position < this.endOffset ? position : this.endOffset;
  }

  get isDone(): boolean {
    return this.#isPastEnd || this.#walker.position >= this.endOffset;
  }

  get bufferedBytes(): number {
    return this.#walker.bufferedBytes;
  }

  push(fetched: FetchedPartition): void {
    this.#walker.push(fetched);
  }

  /** The log starts later by now: what it no longer has cannot be restored. */
  seek(position: bigint): void {
    this.#walker.seek(position);
  }

  /** Applies up to `maxRecords` of what was fetched, fewer of a slow store; returns how many. */
  apply(maxRecords: number, clock: Clock, untilMs: number): number {
    const walker = this.#walker;
    const cursor = walker.cursor;
    let count = 0;
    while (count < maxRecords && !this.#isPastEnd && this.#next()) {
      if (cursor.baseOffset !== this.#batchBase) {
        this.#batchBase = cursor.baseOffset;
        this.#endDelta = Number(this.endOffset - this.#batchBase);
        this.#untilTold = 0;
      }
      // A batch may reach beyond the end: somebody still writes, or the end lies inside of it.
      if (cursor.offsetDelta >= this.#endDelta) {
        this.#isPastEnd = true;
        break;
      }
      if (this.#untilTold-- === 0) this.#tellAhead(cursor);
      this.#restore(cursor);
      if (++count % RESTORE_LOOK_RECORDS === 0 && clock.monotonicMs() >= untilMs) break;
    }
    this.restoredRecords += count;
    return count;
  }

  #next(): boolean {
    for (;;) {
      try {
        return this.#walker.next();
      } catch (error) {
        this.#leftOut(error);
        this.#walker.skipBroken();
      }
    }
  }

  #tellAhead(cursor: RecordCursor): void {
    const ahead = this.#ahead;
    const { store } = this.target;
    this.#untilTold = ROWS_EXPECTED_MAX;
    if (store.expect === undefined) return;
    cursor.keysAhead(ahead);
    store.expect(cursor.buffer, ahead);
  }

  #restore(cursor: RecordCursor): void {
    try {
      this.target.store.restore(cursor);
    } catch (error) {
      this.#leftOut(error);
    }
  }

  /**
   * A changelog holds only what a store has written. A source topic may hold anything; what of it is
   * committed although it cannot be read, the deserialization handler has left out before.
   */
  #leftOut(error: unknown): void {
    const isRecords = !(error instanceof StreamsError) || error.scope === 'record';
    if (this.target.limit === null || !isRecords) throw error;
    this.leftOutCount++;
  }

  progress(kind: RestoreProgress['kind']): RestoreProgress {
    const { target, startOffset, endOffset } = this;
    return {
      kind,
      taskId: target.taskId,
      storeName: target.store.name,
      topic: target.topic,
      partition: target.partition,
      startOffset,
      currentOffset: this.#isPastEnd ? endOffset : this.position,
      endOffset,
      restoredRecords: this.restoredRecords,
    };
  }
}
