import type { KeyRanges, RecordCursor, RecordHeaders } from '@millrace/protocol';
import type { StateEnvironment } from './persistent/environment.ts';
import type { PartitionAppender } from './partition-appender.ts';
import type { CachingContext } from './cache/caching-context.ts';
import type { SerdeResolver } from '../serdes/serde-resolver.ts';

/** Where a store warns; a task's logger is one. */
export interface StoreLogger {
  warn(bindings: object, message: string): void;
}

/** What a store may ask of the task that it belongs to; a `TaskContext` has it. */
export interface StoreContext {
  readonly applicationId: string;
  readonly taskId: { readonly subtopology: number; readonly partition: number };
  readonly logger?: StoreLogger;
  /** For the record caches of its stores; none if no store is cached. */
  readonly caching?: CachingContext | null;
  /** Counts a record that was skipped by rule. */
  recordDropped(node: string, reason: string, headers?: RecordHeaders | null): void;
  /** Where a persistent store of the task is kept; what it commits is written there from now on. Without it there is no disk. */
  diskOf?(store: PersistentStore): StateEnvironment;
  /**
   * A directory for the files of a persistent store that keeps them itself, below the task's in
   * `state.dir`. It goes with the store's state. Only where the builder says that the store is persistent
   * (`isPersistent`) and there is a disk: not in a test driver.
   */
  directoryOf?(storeName: string): string;
}

/**
 * A task's state store. Writes go to the store and, if it is logged, to its changelog; `commit`
 * tells it that all writes so far stand together with a changelog offset (KIP-892, KIP-1035).
 */
export interface StateStore {
  readonly name: string;
  /** Persistent stores keep their contents and committed offset over a restart. */
  readonly isPersistent: boolean;
  readonly isOpen: boolean;
  /** `changelog` is null when logging is off. */
  open(context: StoreContext, changelog: PartitionAppender | null): void;
  /**
   * Applies the changelog record under the cursor (a null value is a tombstone), without writing to
   * the changelog again. Whatever is kept is copied: the cursor's bytes are reused.
   */
  restore(cursor: RecordCursor): void;
  /**
   * Records with these keys will be restored next, `source` holds their bytes. A store whose rows lie
   * anywhere in a large memory looks at all of them together, which takes the time of few.
   */
  expect?(source: Buffer, keys: KeyRanges): void;
  /** Next changelog offset to restore from; null if the store must be restored from the start. */
  committedOffset(): bigint | null;
  /** `changelogOffset`: the changelog's next offset that covers every write so far; null if it isn't logged. */
  commit(changelogOffset: bigint | null): void;
  close(): void;
}

/** A store on disk. A commit is known to it at once, and reaches the disk with the next `spill`. */
export interface PersistentStore extends StateStore {
  /** What is committed and not on disk yet, about, in bytes of memory. */
  readonly unspilledBytes: number;
  /** Writes to disk what is committed, then the changelog offset that it stands at. One at a time. */
  spill(): Promise<void>;
}

/** What is known only when a topology is bound to an application. */
export interface StoreSettings {
  readonly applicationId: string;
  readonly serdes: SerdeResolver;
  /** `windowstore.changelog.additional.retention.ms`. */
  readonly changelogAdditionalRetentionMs: number;
  /** `dsl.store.suppliers.class`: the kind of stores that are not told which. */
  readonly defaultStoreType: StoreType;
  /** `dsl.store.format=HEADERS`. */
  readonly dslKeepsHeaders: boolean;
  /** False if `statestore.cache.max.bytes` is 0: then no store has a record cache. */
  readonly isCachingEnabled: boolean;
  /** Persistent stores are on disk; otherwise, as in a test driver, they only behave like it. */
  readonly isOnDisk: boolean;
}

/**
 * `inMemory`: lost with the process, and restored from the changelog. `persistent`: Kafka Streams'
 * RocksDB stores, with their order and expiry.
 */
export type StoreType = 'inMemory' | 'persistent';

/** Describes a store: what its changelog looks like, and how each task's instance is made. */
export interface StoreBuilder<S extends StateStore = StateStore> {
  readonly name: string;
  readonly isLogged: boolean;
  /** Whether the store is on disk; not if it is missing. */
  isPersistent?(settings: StoreSettings): boolean;
  /** Only of a versioned store (KIP-889), ms. */
  readonly historyRetentionMs?: number;
  /** A table in this store has a history (KIP-914). */
  readonly isVersioned?: boolean;
  /** Topic configs of the changelog: cleanup.policy, retention.ms and what the user added. */
  changelogConfig(settings: StoreSettings): ReadonlyMap<string, string>;
  /** Resolves the serdes once; the result makes one task's instance a call. */
  bind(settings: StoreSettings): () => S;
}
