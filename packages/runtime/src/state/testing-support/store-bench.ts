import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchBuilder, RecordBatch, RecordCursor } from '@millrace/protocol';
import { TaskDouble, type Sent } from '../../operators/testing-support/task-double.ts';
import { SerdeResolver } from '../../serdes/serde-resolver.ts';
import type { CachingContext, OriginCopy } from '../cache/caching-context.ts';
import { RecordCache } from '../cache/record-cache.ts';
import { isFlushedStore } from '../cached-store.ts';
import { STATE_TABLES_PER_STORE } from '../limits.ts';
import { StateEnvironment } from '../persistent/environment.ts';
import type {
  PersistentStore,
  StateStore,
  StoreBuilder,
  StoreSettings,
  StoreType,
} from '../store.ts';

const CHANGELOG_BATCH_BYTES = 1 << 20;

/** How a suite runs a store: of which type, and with a cache of how many bytes, if any. */
export interface StoreSetup {
  readonly type: StoreType;
  readonly cacheBytes: number;
  /** A persistent store that is on disk indeed. */
  readonly isOnDisk?: boolean;
  /** Everything is committed and on disk after each step: no row waits in memory. */
  readonly isWrittenThrough?: boolean;
}

/** What may happen to a store between two steps, and must not change what is in it. */
export type Settling = 'commit' | 'spill' | 'reopen';

const onDisk = new Set<{ dispose(): Promise<void> }>();

/** For `afterEach`. */
export async function disposeBenches(): Promise<void> {
  await Promise.all([...onDisk].map((bench) => bench.dispose()));
  onDisk.clear();
}

/** A store that is open in a task of its own. */
export class StoreBench<S extends StateStore> {
  readonly task = new TaskDouble();
  readonly caching: CachingContext & { topic: string; offset: bigint };

  readonly setup: StoreSetup;
  #store: S;
  readonly #directory: string | null = null;
  #environment: StateEnvironment | null = null;
  #persistent: PersistentStore | null = null;
  #spilling: Promise<void> = Promise.resolve();

  constructor(builder: StoreBuilder<S>, setup: StoreSetup) {
    const { type, cacheBytes } = setup;
    this.setup = setup;
    this.caching = {
      cache: new RecordCache({ maxBytes: cacheBytes }),
      topic: 'in',
      offset: 0n,
      origin: null,
      copyOrigin(target: OriginCopy): void {
        target.topic = this.topic;
        target.partition = 0;
        target.baseOffset = this.offset;
        target.offsetDelta = 0;
      },
    };
    this.#store = builder.bind(settingsOf(type, cacheBytes, setup.isOnDisk))();
    if (setup.isOnDisk === true) {
      this.#directory = mkdtempSync(join(tmpdir(), 'millrace-store-'));
      onDisk.add(this);
    }
    this.#open();
  }

  get store(): S {
    return this.#store;
  }

  /** The state directory's of the store that is on disk. */
  get environment(): StateEnvironment {
    return this.#environment as StateEnvironment;
  }

  /** Does nothing to a store that is not on disk. */
  async settle(how: Settling): Promise<void> {
    if (this.#persistent === null) return;
    if (isFlushedStore(this.store)) await this.store.flush();
    if (how === 'commit') this.store.commit(BigInt(this.changelog.length));
    if (how === 'spill') {
      await this.#spilling;
      this.#spilling = this.#persistent.spill();
    }
    if (how === 'reopen') await this.#reopen();
  }

  /** After each step of a suite. */
  async stepped(): Promise<void> {
    if (this.setup.isWrittenThrough !== true) return;
    await this.settle('commit');
    await this.settle('spill');
    await this.#spilling;
  }

  async spilled(): Promise<void> {
    await this.settle('spill');
    await this.#spilling;
  }

  async dispose(): Promise<void> {
    await this.#spilling;
    if (this.store.isOpen) this.store.close();
    await this.#environment?.close();
    if (this.#directory !== null) rmSync(this.#directory, { recursive: true, force: true });
  }

  /** As after a restart with the store built in another way; of a store on disk. */
  async rebuilt(builder: StoreBuilder<S>): Promise<void> {
    const { type, cacheBytes } = this.setup;
    await this.#reopen(builder.bind(settingsOf(type, cacheBytes, true))());
  }

  /** As after a kill: what is committed but not on disk, and what is not committed, is restored. */
  async #reopen(as: S = this.store): Promise<void> {
    await this.#spilling;
    this.store.close();
    await this.environment.close();
    this.#store = as;
    this.#open();
    this.#restore(this.changelog.slice(Number(this.store.committedOffset() ?? 0n)), this.store);
  }

  #open(): void {
    if (this.#directory !== null) {
      this.#environment = StateEnvironment.open({
        directory: this.#directory,
        taskId: '0_0',
        tableCount: STATE_TABLES_PER_STORE,
      });
    }
    const context = { ...this.task.context, caching: this.caching };
    this.store.open(
      this.#environment === null ? context : { ...context, diskOf: (store) => this.#diskOf(store) },
      this.task.collector.partition(changelogOf(this.store), 0),
    );
  }

  #diskOf(store: PersistentStore): StateEnvironment {
    this.#persistent = store;
    return this.environment;
  }

  get changelog(): readonly Sent[] {
    return this.task.sent;
  }

  /** Another store of the same kind, filled from what this one has written to its changelog. */
  restoredInto(other: StoreBench<S>): S {
    this.#restore(this.changelog, other.store);
    return other.store;
  }

  #restore(changelog: readonly Sent[], store: S): void {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: CHANGELOG_BATCH_BYTES });
    for (const { key, value, timestamp, headers } of changelog) {
      builder.appendBytes(timestamp, key, value, headers);
    }
    if (builder.isEmpty) return;
    const cursor = new RecordCursor();
    cursor.open(new RecordBatch(Buffer.from(builder.build())));
    while (cursor.next()) store.restore(cursor);
  }
}

export function settingsOf(type: StoreType, cacheBytes: number, isOnDisk = false): StoreSettings {
  return {
    applicationId: 'test',
    serdes: new SerdeResolver(null, null),
    changelogAdditionalRetentionMs: 0,
    defaultStoreType: type,
    dslKeepsHeaders: false,
    isCachingEnabled: cacheBytes > 0,
    isOnDisk,
  };
}

function changelogOf(store: StateStore): string {
  return `test-${store.name}-changelog`;
}

/** Every type of store without a cache, and with caches that hold nothing, a little and everything. */
export const memorySetups: readonly (readonly [string, StoreSetup])[] = (
  ['inMemory', 'persistent'] as const
).flatMap((type) =>
  [0, 1, 300, 1_000_000].map((cacheBytes) => {
    const name = cacheBytes === 0 ? 'no cache' : `a cache of ${String(cacheBytes)} bytes`;
    return [`${type}, ${name}`, { type, cacheBytes }] as const;
  }),
);

/** A run on disk opens and closes files: there are fewer. */
export function runsOf({ isOnDisk }: StoreSetup, count: number): number {
  return isOnDisk === true ? Math.ceil(count / 4) : count;
}

/** On disk, with layers of rows before it and with none. */
export const diskSetups: readonly (readonly [string, StoreSetup])[] = [
  ['on disk, no cache', { type: 'persistent', cacheBytes: 0, isOnDisk: true }],
  ['on disk, a cache of 300 bytes', { type: 'persistent', cacheBytes: 300, isOnDisk: true }],
  [
    'on disk, written through',
    { type: 'persistent', cacheBytes: 0, isOnDisk: true, isWrittenThrough: true },
  ],
];

export const setups: readonly (readonly [string, StoreSetup])[] = [...memorySetups, ...diskSetups];
