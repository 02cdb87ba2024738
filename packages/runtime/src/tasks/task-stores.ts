import type { PartitionBuffer, ProducerPort } from '../client/ports.ts';
import { CacheFlushError, reasonOf, StreamsError } from '../errors.ts';
import { isFlushedStore, type FlushedStore } from '../state/cached-store.ts';
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
  /** By store: the changelog position up to which it was restored. */
  readonly #restoredEnds = new Map<string, bigint>();

  constructor(
    stores: ReadonlyMap<string, StateStore>,
    changelogs: readonly Changelog[],
    partition: number,
  ) {
    this.#partition = partition;
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
      store.open(context, buffer);
    }
  }

  /**
   * Before a commit: stores let go what they hold back, in the order of the nodes that they belong to.
   * Throws a CacheFlushError if the nodes below cannot process it.
   */
  flush(): Promise<void> | undefined {
    for (let i = 0; i < this.entries.length; i++) {
      const { store } = this.entries[i] as TaskStore;
      const outcome = isFlushedStore(store) ? flushOne(store) : undefined;
      if (outcome !== undefined) return this.#flushRest(outcome, i + 1);
    }
    return undefined;
  }

  async #flushRest(first: Promise<void>, from: number): Promise<void> {
    await first;
    for (const { store } of this.entries.slice(from)) {
      if (isFlushedStore(store)) await flushOne(store);
    }
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
      }
    }
  }

  /** A producer may have written to the partition before this task had it: the higher one counts. */
  #changelogOffset(storeName: string): bigint | null {
    const acked = this.#buffers.get(storeName)?.ackedEndOffset ?? null;
    const restored = this.#restoredEnds.get(storeName) ?? null;
    if (acked === null || restored === null) return acked ?? restored;
    return acked > restored ? acked : restored;
  }

  close(): void {
    for (const { store } of this.entries) if (store.isOpen) store.close();
  }
}

function flushOne(store: FlushedStore): Promise<void> | undefined {
  let outcome: Promise<void> | undefined;
  try {
    outcome = store.flush();
  } catch (error) {
    throw flushFailed(store, error);
  }
  return outcome?.catch((error: unknown) => {
    throw flushFailed(store, error);
  });
}

/** The handler has been asked about the cause already, at the node below that failed. */
function flushFailed({ name: store }: FlushedStore, cause: unknown): Error {
  if (cause instanceof StreamsError && cause.scope !== 'record') return cause;
  return new CacheFlushError(
    `What store ${store} held back could not be processed: ${reasonOf(cause)}`,
    { cause, context: { store } },
  );
}
