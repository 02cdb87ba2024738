import { BatchBuilder, RecordBatch, RecordCursor } from '@millrace/protocol';
import { TaskDouble, type Sent } from '../../operators/testing-support/task-double.ts';
import { SerdeResolver } from '../../serdes/serde-resolver.ts';
import type { CachingContext, OriginCopy } from '../cache/caching-context.ts';
import { RecordCache } from '../cache/record-cache.ts';
import type { StateStore, StoreBuilder, StoreSettings, StoreType } from '../store.ts';

const CHANGELOG_BATCH_BYTES = 1 << 20;

/** How a suite runs a store: of which type, and with a cache of how many bytes, if any. */
export interface StoreSetup {
  readonly type: StoreType;
  readonly cacheBytes: number;
}

/** A store that is open in a task of its own. */
export class StoreBench<S extends StateStore> {
  readonly task = new TaskDouble();
  readonly store: S;
  readonly caching: CachingContext & { topic: string; offset: bigint };

  constructor(builder: StoreBuilder<S>, { type, cacheBytes }: StoreSetup) {
    this.caching = {
      cache: new RecordCache(cacheBytes),
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
    this.store = builder.bind(settingsOf(type, cacheBytes))();
    this.store.open(
      { ...this.task.context, caching: this.caching },
      this.task.collector.partition(changelogOf(this.store), 0),
    );
  }

  get changelog(): readonly Sent[] {
    return this.task.sent;
  }

  /** Another store of the same kind, filled from what this one has written to its changelog. */
  restoredInto(other: StoreBench<S>): S {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: CHANGELOG_BATCH_BYTES });
    for (const { key, value, timestamp, headers } of this.changelog) {
      builder.appendBytes(timestamp, key, value, headers);
    }
    if (builder.isEmpty) return other.store;
    const cursor = new RecordCursor();
    cursor.open(new RecordBatch(Buffer.from(builder.build())));
    while (cursor.next()) other.store.restore(cursor);
    return other.store;
  }
}

export function settingsOf(type: StoreType, cacheBytes: number): StoreSettings {
  return {
    applicationId: 'test',
    serdes: new SerdeResolver(null, null),
    changelogAdditionalRetentionMs: 0,
    defaultStoreType: type,
    dslKeepsHeaders: false,
    isCachingEnabled: cacheBytes > 0,
    isOnDisk: false,
  };
}

function changelogOf(store: StateStore): string {
  return `test-${store.name}-changelog`;
}

/** Every type of store without a cache, and with caches that hold nothing, a little and everything. */
export const setups: readonly (readonly [string, StoreSetup])[] = (
  ['inMemory', 'persistent'] as const
).flatMap((type) =>
  [0, 1, 300, 1_000_000].map((cacheBytes) => {
    const name = cacheBytes === 0 ? 'no cache' : `a cache of ${String(cacheBytes)} bytes`;
    return [`${type}, ${name}`, { type, cacheBytes }] as const;
  }),
);
