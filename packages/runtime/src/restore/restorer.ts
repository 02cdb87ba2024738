import type { Logger } from 'pino';
import { OffsetOutOfRangeError } from '../client/errors.ts';
import type { FetchPort } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { TaskCorruptedError } from '../errors.ts';
import {
  RESTORE_BUFFER_MAX_BYTES,
  RESTORE_PROGRESS_INTERVAL_MS,
  RESTORE_SLICE_RECORDS,
} from '../limits.ts';
import type { Clock } from '../platform/clock.ts';
import type { RestoreTarget } from './changelog-reader.ts';
import { ChangelogReader } from './changelog-reader.ts';
import type { RestoreListener } from './progress.ts';

export interface RestorerOptions {
  readonly fetcher: FetchPort;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listener: RestoreListener;
  /** All stores of the task are restored. */
  readonly onRestored: (taskId: string, ends: ReadonlyMap<string, bigint>) => void;
  /** A task cannot be restored: its reason says what is to be done. */
  readonly onFailed: (taskId: string, error: Error) => void;
  readonly onWork: () => void;
}

/**
 * Restores the stores of a stream thread's tasks: all their changelog partitions at the same time,
 * through a fetcher of its own, in bounded slices, so that tasks which run already go on.
 */
export class Restorer {
  readonly #options: RestorerOptions;
  readonly #readers = new Map<string, ChangelogReader>();
  /** By task: the stores that are still restored, and where those that are done ended. */
  readonly #tasks = new Map<
    string,
    { readonly open: Set<string>; readonly ends: Map<string, bigint> }
  >();
  #restoredTotal = 0;
  /** By task, while it is here or until it is restored anew. */
  readonly #restoredOf = new Map<string, number>();

  constructor(options: RestorerOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#tasks.size === 0;
  }

  get activeTaskCount(): number {
    return this.#tasks.size;
  }

  get restoredTotal(): number {
    return this.#restoredTotal;
  }

  get remainingRecords(): bigint {
    let sum = 0n;
    for (const reader of this.#readers.values()) sum += reader.endOffset - reader.position;
    return sum;
  }

  /** Records restored into the task's stores since it was opened. */
  restoredOf(taskId: string): number {
    return this.#restoredOf.get(taskId) ?? 0;
  }

  remainingRecordsOf(taskId: string): bigint {
    let sum = 0n;
    for (const { target, endOffset, position } of this.#readers.values()) {
      if (target.taskId === taskId) sum += endOffset - position;
    }
    return sum;
  }

  /** Looks up where each changelog starts and ends, then fetches. Tasks without targets are restored at once. */
  async start(taskId: string, targets: readonly RestoreTarget[]): Promise<void> {
    const task = {
      open: new Set(targets.map((target) => target.store.name)),
      ends: new Map<string, bigint>(),
    };
    this.#tasks.set(taskId, task);
    this.#restoredOf.set(taskId, 0);
    const { fetcher } = this.#options;
    const [beginnings, ends] =
      targets.length === 0
        ? [new Map<string, bigint>(), new Map<string, bigint>()]
        : await Promise.all([
            fetcher.beginningOffsets(targets),
            fetcher.endOffsets(targets, 'read_uncommitted'),
          ]);
    // Cancelled in the meantime, or begun anew.
    if (this.#tasks.get(taskId) !== task) return;
    const positions = [];
    for (const target of targets) {
      const key = topicPartitionKey(target.topic, target.partition);
      const reader = this.#open(target, beginnings.get(key) ?? 0n, ends.get(key) ?? 0n);
      if (reader === null) return;
      this.#readers.set(key, reader);
      this.#options.listener(reader.progress('start'));
      if (!reader.isDone) {
        const { topic, partition } = target;
        positions.push({ topic, partition, offset: reader.startOffset });
      }
    }
    fetcher.assign(positions);
    this.#finishDone();
    if (task.open.size === 0) this.#finishTask(taskId);
    this.#options.onWork();
  }

  /** The task goes elsewhere, or is closed. */
  cancel(taskId: string): void {
    this.#restoredOf.delete(taskId);
    if (!this.#tasks.delete(taskId)) return;
    for (const [key, reader] of this.#readers) {
      if (reader.target.taskId !== taskId) continue;
      this.#readers.delete(key);
      this.#options.fetcher.unassign([reader.target]);
      this.#options.listener(reader.progress('suspended'));
    }
  }

  /** Takes what was fetched and applies it, for about `budgetMs`. True if there was something to do. */
  pass(budgetMs: number): boolean {
    if (this.#readers.size === 0) return false;
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + budgetMs;
    let worked = this.#drain();
    let applied: number;
    do {
      applied = 0;
      for (const reader of this.#readers.values()) {
        const count = this.#apply(reader, untilMs);
        applied += count;
        this.#restoredTotal += count;
        const { taskId } = reader.target;
        this.#restoredOf.set(taskId, this.restoredOf(taskId) + count);
        this.#balance(reader);
      }
      if (applied > 0) worked = true;
    } while (applied > 0 && clock.monotonicMs() < untilMs);
    this.#report();
    this.#finishDone();
    return worked;
  }

  /** null: the task has failed. */
  #open(target: RestoreTarget, beginning: bigint, logEnd: bigint): ChangelogReader | null {
    const end = target.limit === null || target.limit > logEnd ? logEnd : target.limit;
    const known = target.store.committedOffset();
    const start = known === null || known < beginning ? beginning : known;
    if (known !== null && known > logEnd) {
      this.#fail(
        target,
        `The store knows offset ${known.toString()}, but the changelog ends at ${logEnd.toString()}: it was created anew`,
      );
      return null;
    }
    if (known !== null && known < beginning && target.store.isPersistent) {
      this.#fail(
        target,
        `The store knows offset ${known.toString()}, but the changelog starts at ${beginning.toString()}: what was deleted in between is not known`,
      );
      return null;
    }
    return new ChangelogReader(target, start, end < start ? start : end);
  }

  #apply(reader: ChangelogReader, untilMs: number): number {
    const { store, disk } = reader.target;
    // What waits for the disk takes memory: its stores go on when it has caught up.
    if (disk?.isBehind() === true) return 0;
    try {
      const count = reader.apply(RESTORE_SLICE_RECORDS, this.#options.clock, untilMs);
      if (count > 0 && store.isPersistent) {
        store.commit(reader.position);
        disk?.spillIfDue(this.#options.clock.monotonicMs());
      }
      return count;
    } catch (error) {
      this.#failTask(reader.target.taskId, error as Error);
      return 0;
    }
  }

  #drain(): boolean {
    const fetched = this.#options.fetcher.drain();
    for (const part of fetched) {
      const reader = this.#readers.get(topicPartitionKey(part.topic, part.partition));
      if (reader === undefined) continue;
      if (part.error === null) {
        reader.push(part);
        this.#balance(reader);
      } else {
        this.#failedFetch(reader, part.error);
      }
    }
    return fetched.length > 0;
  }

  /** Retention may have moved the start of the log while it was read: go on from there. */
  #failedFetch(reader: ChangelogReader, error: Error): void {
    const { target } = reader;
    if (!(error instanceof OffsetOutOfRangeError)) {
      this.#failTask(target.taskId, error);
      return;
    }
    this.#moveToStart(reader).catch((failure: unknown) => {
      this.#failTask(target.taskId, failure as Error);
    });
  }

  async #moveToStart(reader: ChangelogReader): Promise<void> {
    const { target } = reader;
    const { topic, partition } = target;
    const key = topicPartitionKey(topic, partition);
    const { fetcher, logger } = this.#options;
    const beginning = (await fetcher.beginningOffsets([target])).get(key) ?? 0n;
    if (this.#readers.get(key) !== reader) return;
    if (beginning <= reader.position) {
      this.#fail(
        target,
        `Its position ${reader.position.toString()} is out of range, although the changelog starts at ${beginning.toString()}`,
      );
      return;
    }
    logger.info(
      { topic, partition, from: reader.position.toString(), to: beginning.toString() },
      'the changelog was trimmed while it was restored; going on from its new start',
    );
    reader.seek(beginning);
    if (!reader.isDone) fetcher.assign([{ topic, partition, offset: beginning }]);
    this.#options.onWork();
  }

  #fail(target: RestoreTarget, what: string): void {
    const { topic, partition, taskId, store } = target;
    this.#failTask(
      taskId,
      new TaskCorruptedError(
        `Store ${store.name} of task ${taskId} cannot be restored from ${topic}-${String(partition)}. ${what}; it is wiped and restored from the start`,
        { context: { task: taskId, store: store.name, topic, partition }, wipesState: true },
      ),
    );
  }

  #failTask(taskId: string, error: Error): void {
    this.cancel(taskId);
    this.#options.onFailed(taskId, error);
  }

  /** A partition whose bytes pile up is left out of fetches until they are applied. */
  #balance(reader: ChangelogReader): void {
    const { topic, partition } = reader.target;
    const isFull = reader.bufferedBytes >= RESTORE_BUFFER_MAX_BYTES;
    if (isFull === reader.isPaused) return;
    reader.isPaused = isFull;
    if (isFull) this.#options.fetcher.pause(topic, partition);
    else this.#options.fetcher.resume(topic, partition);
  }

  #report(): void {
    const now = this.#options.clock.monotonicMs();
    for (const reader of this.#readers.values()) {
      if (now - reader.reportedMs < RESTORE_PROGRESS_INTERVAL_MS) continue;
      reader.reportedMs = now;
      this.#options.listener(reader.progress('batch'));
    }
  }

  #finishDone(): void {
    for (const [key, reader] of this.#readers) {
      if (!reader.isDone) continue;
      const { target } = reader;
      this.#readers.delete(key);
      this.#options.fetcher.unassign([target]);
      if (reader.leftOutCount > 0) {
        const { topic, partition } = target;
        this.#options.logger.info(
          { topic, partition, count: reader.leftOutCount },
          'what the deserialization handler left out of a source topic is not restored either',
        );
      }
      const progress = reader.progress('end');
      // The end may lie behind the last record that was applied.
      if (target.store.isPersistent) target.store.commit(progress.currentOffset);
      this.#options.listener(progress);
      const task = this.#tasks.get(target.taskId);
      if (task === undefined) continue;
      task.open.delete(target.store.name);
      task.ends.set(target.store.name, progress.currentOffset);
      if (task.open.size === 0) this.#finishTask(target.taskId);
    }
  }

  #finishTask(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    this.#tasks.delete(taskId);
    this.#options.onRestored(taskId, task.ends);
  }
}
