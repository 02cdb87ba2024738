import type { Logger } from 'pino';
import type { RecordHeaders } from '@millrace/protocol';
import type { RecordCollector } from '../operators/record-collector.ts';
import { TopologyError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { RecordCache } from '../state/cache/record-cache.ts';
import type { StateEnvironment } from '../state/persistent/environment.ts';
import type { PersistentStore, StateStore } from '../state/store.ts';
import { DroppedRecords } from './dropped-records.ts';
import type { RecordQueue } from './record-queue.ts';
import type { StreamTime } from './stream-time.ts';
import type { Outcome } from '../operators/outcome.ts';
import type { Cancellable, PunctuationType } from '../operators/punctuation.ts';
import type { RecordOrigin, TaskContext, TaskId } from '../operators/task-context.ts';
import type { Punctuations } from './punctuations.ts';
import { TaskCaching } from './task-caching.ts';

const noStores: ReadonlyMap<string, StateStore> = new Map();

/** Where persistent stores are kept. */
interface ContextDisk {
  diskOf(store: PersistentStore): StateEnvironment;
  directoryOf(storeName: string): string;
}

/** The context of one task: what is current is read from the queue in hand, nothing is copied per record. */
export class StreamTaskContext implements TaskContext {
  readonly applicationId: string;
  readonly taskId: TaskId;
  readonly logger: Logger;
  readonly collector: RecordCollector;
  readonly appConfigs: Readonly<Record<string, unknown>>;
  readonly dropped: DroppedRecords;
  readonly caching: TaskCaching | null;
  readonly diskOf?: (store: PersistentStore) => StateEnvironment;
  readonly directoryOf?: (storeName: string) => string;
  readonly #stores: ReadonlyMap<string, StateStore>;
  readonly #globalStores: ReadonlyMap<string, StateStore>;
  readonly #streamTime: StreamTime;
  readonly #clock: Clock;
  readonly #punctuations: Punctuations;
  /** The queue whose head is being processed. */
  queue: RecordQueue | null = null;
  origin: RecordOrigin | null = null;
  /** Set once per pass of the loop; -1 outside of one. */
  systemTimeMs = -1;
  isCommitRequested = false;

  constructor(options: {
    readonly applicationId: string;
    readonly taskId: TaskId;
    readonly logger: Logger;
    readonly collector: RecordCollector;
    readonly stores: ReadonlyMap<string, StateStore>;
    /** As tasks may see them. */
    readonly globalStores?: ReadonlyMap<string, StateStore>;
    readonly streamTime: StreamTime;
    readonly clock: Clock;
    readonly punctuations: Punctuations;
    readonly appConfigs: Readonly<Record<string, unknown>>;
    /** Without one no store is cached. */
    readonly cache?: RecordCache | null;
    /** Where persistent stores are kept; without one there are none. */
    readonly disk?: ContextDisk | null;
    /** Somebody may ask for a record's bytes when a node below a cache has failed. */
    readonly keepsRawRecords?: boolean;
  }) {
    this.applicationId = options.applicationId;
    this.taskId = options.taskId;
    this.logger = options.logger;
    this.collector = options.collector;
    this.#stores = options.stores;
    this.#globalStores = options.globalStores ?? noStores;
    this.#streamTime = options.streamTime;
    this.#clock = options.clock;
    this.#punctuations = options.punctuations;
    this.appConfigs = options.appConfigs;
    this.dropped = new DroppedRecords(options.logger);
    const { disk = null } = options;
    if (disk !== null) {
      this.diskOf = (store) => disk.diskOf(store);
      this.directoryOf = (storeName) => disk.directoryOf(storeName);
    }
    const { cache = null, keepsRawRecords = false } = options;
    this.caching = cache === null ? null : new TaskCaching(this, cache, keepsRawRecords);
  }

  get topic(): string | null {
    if (this.origin !== null) return this.origin.topic;
    return this.queue === null ? null : this.queue.topic;
  }

  get partition(): number {
    if (this.origin !== null) return this.origin.partition;
    return this.queue === null ? -1 : this.queue.partition;
  }

  offset(): bigint {
    if (this.origin !== null) return this.origin.offset;
    return this.queue === null ? -1n : this.queue.headOffset();
  }

  currentStreamTimeMs(): number {
    return this.#streamTime.current;
  }

  currentSystemTimeMs(): number {
    return this.systemTimeMs < 0 ? this.#clock.now() : this.systemTimeMs;
  }

  store(name: string): StateStore {
    const store = this.#stores.get(name) ?? this.#globalStores.get(name);
    if (store === undefined) {
      const known = [...this.#stores.keys()].join(', ') || 'none';
      throw new TopologyError(
        `Store ${name} is not connected to the subtopology of task ` +
          `${String(this.taskId.subtopology)}_${String(this.taskId.partition)}, which has: ${known}`,
        { context: { store: name } },
      );
    }
    return store;
  }

  hasGlobalStore(name: string): boolean {
    return this.#globalStores.has(name);
  }

  requestCommit(): void {
    this.isCommitRequested = true;
  }

  schedule(
    node: { readonly name: string },
    type: PunctuationType,
    startMs: number | null,
    intervalMs: number,
    punctuate: (timestamp: number) => Outcome,
  ): Cancellable {
    const nowMs = this.currentSystemTimeMs();
    return this.#punctuations.schedule(node, type, startMs, intervalMs, punctuate, nowMs);
  }

  recordDropped(node: string, reason: string, headers?: RecordHeaders | null): void {
    const { topic, partition } = this;
    const offset = this.offset().toString();
    const headerCount = headers?.size ?? 0;
    this.dropped.record(node, reason, { topic, partition, offset, headerCount });
  }
}
