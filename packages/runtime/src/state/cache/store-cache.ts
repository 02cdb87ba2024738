import type { RecordHeaders } from '@millrace/protocol';
import { CACHE_ENTRY_OVERHEAD_BYTES, CACHE_RECORD_OVERHEAD_BYTES } from '../limits.ts';
import { CachedChange, type CacheEntry } from './cache-entry.ts';
import type { CachedOrigin, CachingContext } from './caching-context.ts';
import { DirtyOrder, UseOrder } from './entry-lists.ts';

type Outcome = Promise<void> | undefined;

/** The cached store that the entries belong to. */
export interface CacheOwner<K> {
  /** The entry is gone: take it out of the index. */
  forget(entry: CacheEntry<K>): void;
  /** Write the change to the store, and pass it on. */
  letGo(change: CachedChange<K>): Outcome;
}

/**
 * One store's part of its thread's record cache (Kafka's NamedCache): which entries are dirty and in
 * which order they go. Entries that were let go stay as copies until they are the oldest and room is
 * needed. When a dirty entry has to make room, all the others that are dirty go with it, it first.
 */
export class StoreCache<K> {
  readonly #context: CachingContext;
  readonly #owner: CacheOwner<K>;
  readonly #use = new UseOrder<K>();
  readonly #dirty = new DirtyOrder<K>();
  #bytes = 0;
  #failure: unknown = null;

  constructor(context: CachingContext, owner: CacheOwner<K>) {
    this.#context = context;
    this.#owner = owner;
  }

  get bytes(): number {
    return this.#bytes;
  }

  touch(entry: CacheEntry<K>): void {
    this.#use.touch(entry);
  }

  /** The entry was written by the record in hand; `isNew` if it was not in the cache before. */
  written(entry: CacheEntry<K>, isNew: boolean, valueBytes: number): void {
    this.#context.copyOrigin(entry);
    this.#dirty.written(entry);
    this.#enter(entry, isNew, valueBytes);
  }

  /** The entry is a copy of the store's row. What is clean and old makes room at once, if need be. */
  copied(entry: CacheEntry<K>, valueBytes: number): void {
    this.#enter(entry, true, valueBytes);
    const { cache } = this.#context;
    for (let oldest = this.#use.oldest; cache.isOverfull; oldest = this.#use.oldest) {
      if (oldest === null || oldest.isDirty) return;
      cache.add(-this.#drop(oldest));
    }
  }

  /** Lets go the oldest entries while the thread's cache is over its bytes. */
  evict(): Outcome {
    const { cache } = this.#context;
    while (cache.isOverfull) {
      const { oldest } = this.#use;
      if (oldest === null) return undefined;
      const { isDirty } = oldest;
      const freed = this.#drop(oldest);
      const outcome = isDirty ? this.#letGoAll(oldest) : undefined;
      if (outcome !== undefined) return this.#evictRest(outcome, freed);
      // Only now: what was written below meanwhile found the cache as full as it was.
      cache.add(-freed);
    }
    return undefined;
  }

  /** Lets go all that is dirty. */
  flush(): Outcome {
    if (this.#failure !== null) throw this.#failure as Error;
    return this.#dirty.first === null ? undefined : this.#letGoAll(null);
  }

  clear(): void {
    this.#context.cache.add(-this.#bytes);
    this.#bytes = 0;
    this.#use.clear();
    this.#dirty.clear();
  }

  #enter(entry: CacheEntry<K>, isNew: boolean, valueBytes: number): void {
    const size =
      entry.keyBytes +
      valueBytes +
      CACHE_ENTRY_OVERHEAD_BYTES +
      (entry.isDirty
        ? CACHE_RECORD_OVERHEAD_BYTES + recordBytes(entry)
        : CACHE_RECORD_OVERHEAD_BYTES);
    const delta = size - entry.sizeBytes;
    entry.sizeBytes = size;
    this.#bytes += delta;
    this.#context.cache.add(delta);
    if (isNew) this.#use.add(entry);
    else this.#use.touch(entry);
  }

  /** Returns the bytes that it had, still counted in the thread's sum. */
  #drop(entry: CacheEntry<K>): number {
    this.#use.remove(entry);
    this.#bytes -= entry.sizeBytes;
    this.#owner.forget(entry);
    return entry.sizeBytes;
  }

  #letGoAll(evicted: CacheEntry<K> | null): Outcome {
    const changes: CachedChange<K>[] = [];
    if (evicted !== null) {
      changes.push(new CachedChange(evicted));
      this.#dirty.remove(evicted);
    }
    for (let entry = this.#dirty.first; entry !== null; entry = this.#dirty.first) {
      changes.push(new CachedChange(entry));
      this.#dirty.remove(entry);
    }
    for (let i = 0; i < changes.length; i++) {
      const outcome = this.#letGo(changes[i] as CachedChange<K>);
      if (outcome !== undefined) return this.#letGoRest(outcome, changes, i + 1);
    }
    this.#forgetDeleted(changes);
    return undefined;
  }

  async #letGoRest(
    first: Promise<void>,
    changes: readonly CachedChange<K>[],
    from: number,
  ): Promise<void> {
    await first;
    for (let i = from; i < changes.length; i++) await this.#letGo(changes[i] as CachedChange<K>);
    this.#forgetDeleted(changes);
  }

  /** Nodes below see the record that wrote the entry as the one in hand. */
  #letGo(change: CachedChange<K>): Outcome {
    const before = this.#context.origin;
    this.#context.origin = change;
    let outcome: Outcome;
    try {
      outcome = this.#owner.letGo(change);
    } catch (error) {
      this.#failed(error, before);
    }
    if (outcome === undefined) {
      this.#context.origin = before;
      return undefined;
    }
    return outcome.then(
      () => {
        this.#context.origin = before;
      },
      (error: unknown) => this.#failed(error, before),
    );
  }

  /** What was to go is no longer dirty and yet not all of it gone: no commit may follow. */
  #failed(error: unknown, before: CachedOrigin | null): never {
    this.#context.origin = before;
    this.#failure = error;
    throw error;
  }

  #forgetDeleted(changes: readonly CachedChange<K>[]): void {
    for (const { entry } of changes) {
      if (entry.stored !== null || entry.isDirty || entry.isRemoved) continue;
      this.#context.cache.add(-this.#drop(entry));
    }
  }

  async #evictRest(first: Promise<void>, freed: number): Promise<void> {
    await first;
    this.#context.cache.add(-freed);
    await this.evict();
  }
}

/** Topic and headers, in the characters and bytes that Kafka Streams counts. */
function recordBytes({
  topic,
  headers,
}: {
  topic: string | null;
  headers: RecordHeaders | null;
}): number {
  let bytes = topic?.length ?? 0;
  if (headers === null) return bytes;
  for (const { key, value } of headers) bytes += key.length + (value?.length ?? 0);
  return bytes;
}
