import type { PartitionBuffer, ProducerPort } from '../client/ports.ts';
import { CacheFlushError, reasonOf, StreamsError } from '../errors.ts';
import { isCachedStore, isFlushedStore, type FlushedStore } from '../state/cached-store.ts';
import type { TaskDisk } from '../state/persistent/task-disk.ts';
import type { StateStore } from '../state/store.ts';
import type { Changelog } from '../topology/built-topology.ts';
import type { TaskContext } from '../operators/task-context.ts';

/** One store of a task with its changelog partition. */
export interface TaskStore {
  readonly store: StateStore;
  /** null: the store is not logged. */
  readonly changelog: Changelog | null;
}

/**
 * The stores of one task: opened with their changelog appenders, restored, and committed together
 * with the changelog offset that covers what was written.
 */
export class TaskStores {
  readonly entries: readonly TaskStore[];
  readonly #partition: number;
  readonly #buffers = new Map<string, PartitionBuffer>();
  /** By store: what the producer had written to its changelog when it was opened, for an earlier task. */
  readonly #ackedBefore = new Map<string, bigint | null>();
  /** By store: what was appended to its changelog until the last commit, bytes. */
  readonly #committedBytes = new Map<string, number>();
  /** By store: the changelog position up to which it was restored. */
  readonly #restoredEnds = new Map<string, bigint>();
  /** null: no store of the task is on disk. */
  readonly disk: TaskDisk | null;

  constructor(
    stores: ReadonlyMap<string, StateStore>,
    changelogs: readonly Changelog[],
    partition: number,
    disk: TaskDisk | null = null,
  ) {
    this.#partition = partition;
    this.disk = disk;
    this.entries = [...stores.values()].map((store) => ({
      store,
      changelog: changelogs.find((changelog) => changelog.storeName === store.name) ?? null,
    }));
  }

  /** A source topic that serves as changelog is never written. */
  open(context: TaskContext, producer: ProducerPort): void {
    for (const { store, changelog } of this.entries) {
      if (changelog === null || changelog.isSourceTopic) {
        store.open(context, null);
        continue;
      }
      const buffer = producer.partition(changelog.name, this.#partition);
      this.#buffers.set(store.name, buffer);
      this.#ackedBefore.set(store.name, buffer.ackedEndOffset);
      this.#committedBytes.set(store.name, buffer.appendedBytes);
      store.open(context, buffer);
    }
  }

  /**
   * Before a commit: stores let go what they hold back, in the order of the nodes that they belong to.
   * Throws a CacheFlushError if the nodes below cannot process it; the other stores are flushed all the
   * same, and the first error counts.
   */
  flush(): Promise<void> | undefined {
    return this.#flushFrom(0, null);
  }

  #flushFrom(from: number, failed: Error | null): Promise<void> | undefined {
    let failure = failed;
    for (let i = from; i < this.entries.length; i++) {
      const { store } = this.entries[i] as TaskStore;
      if (!isFlushedStore(store)) continue;
      try {
        const outcome = store.flush();
        if (outcome !== undefined) return this.#flushRest(outcome, store, i + 1, failure);
      } catch (error) {
        failure ??= flushFailed(store, error);
      }
    }
    if (failure !== null) throw failure;
    return undefined;
  }

  async #flushRest(
    pending: Promise<void>,
    store: FlushedStore,
    next: number,
    failed: Error | null,
  ): Promise<void> {
    let failure = failed;
    try {
      await pending;
    } catch (error) {
      failure ??= flushFailed(store, error);
    }
    await this.#flushFrom(next, failure);
  }

  restoredTo(storeName: string, position: bigint): void {
    this.#restoredEnds.set(storeName, position);
  }

  /** `sourceOffset` says what is committed of a source topic that serves as changelog. */
  commit(sourceOffset: (topic: string) => bigint | null): void {
    for (const { store, changelog } of this.entries) {
      if (changelog === null) {
        store.commit(null);
      } else if (changelog.isSourceTopic) {
        store.commit(sourceOffset(changelog.name));
      } else {
        store.commit(this.#changelogOffset(store.name));
        this.#committedBytes.set(store.name, this.#appendedBytes(store.name));
      }
    }
  }

  /** What the persistent stores hold back until a commit, about: what went to their changelogs since the last one. */
  get uncommittedBytes(): number {
    let bytes = 0;
    for (const entry of this.entries) bytes += this.uncommittedBytesOf(entry);
    return bytes;
  }

  uncommittedBytesOf({ store, changelog }: TaskStore): number {
    if (changelog === null || !store.isPersistent) return 0;
    return this.#appendedBytes(store.name) - (this.#committedBytes.get(store.name) ?? 0);
  }

  #appendedBytes(storeName: string): number {
    return this.#buffers.get(storeName)?.appendedBytes ?? 0;
  }

  /** What the producer wrote for an earlier task says nothing: the topic may be another one by now. */
  #changelogOffset(storeName: string): bigint | null {
    const acked = this.#buffers.get(storeName)?.ackedEndOffset ?? null;
    const restored = this.#restoredEnds.get(storeName) ?? null;
    if (acked === null || acked === this.#ackedBefore.get(storeName)) return restored;
    if (restored === null) return acked;
    return acked > restored ? acked : restored;
  }

  /** A promise is that of stores on disk: what they have committed is written before. One that fails to close keeps no other open. */
  close(): Promise<void> | undefined {
    let failure: unknown = null;
    // Before the disk lets go of the task's directory, where some may have files of their own.
    for (const { store } of this.entries) {
      if (!store.isOpen || this.disk?.keeps(store.name) === true) continue;
      try {
        store.close();
      } catch (error) {
        failure ??= error;
      }
    }
    if (this.disk === null) {
      if (failure !== null) throw failure as Error;
      return undefined;
    }
    return this.#closeDisk(this.disk, failure);
  }

  async #closeDisk(disk: TaskDisk, failure: unknown): Promise<void> {
    try {
      await disk.close();
    } finally {
      // What their caches hold counts for the whole thread.
      for (const { store } of this.entries) if (isCachedStore(store)) store.close();
    }
    if (failure !== null) throw failure as Error;
  }
}

/** The handler has been asked about the cause already, at the node below that failed. */
function flushFailed({ name: store }: FlushedStore, cause: unknown): Error {
  if (cause instanceof StreamsError && cause.scope !== 'record') return cause;
  return new CacheFlushError(
    `What store ${store} held back could not be processed: ${reasonOf(cause)}`,
    { cause, context: { store } },
  );
}
