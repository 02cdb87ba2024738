import type { RecordHeaders } from '@millrace/protocol';
import type { StateStore } from './store.ts';

/**
 * Takes what a record cache lets go: at most one change per key since the last time, with the
 * timestamp and headers of the last record that made it. Returns what the nodes below returned.
 */
export type FlushListener<K, V> = (
  key: K,
  value: V | null,
  old: V | null,
  timestamp: number,
  headers: RecordHeaders | null,
) => Promise<void> | undefined;

/**
 * A store that holds back writes until a commit: a record cache, or a buffer whose changelog is written
 * at once for many records. A task flushes its stores one after another, in their order.
 */
export interface FlushedStore extends StateStore {
  /** Lets go everything; before a commit. May process and emit. */
  flush(): Promise<void> | undefined;
}

/** A store with a record cache before it: writes reach store, changelog and the nodes below later. */
export interface CachedStore<K, V> extends FlushedStore {
  /** Set once, in the `init` of the node that owns the store; without one nothing is forwarded. */
  setFlushListener(listener: FlushListener<K, V>, sendsOldValues: boolean): void;
  /** Lets go the oldest entries while the cache is over its bytes; to be called after each write. */
  evict(): Promise<void> | undefined;
}

export function isCachedStore(store: StateStore): store is CachedStore<unknown, unknown> {
  return 'setFlushListener' in store;
}

export function isFlushedStore(store: StateStore): store is FlushedStore {
  return 'flush' in store;
}
