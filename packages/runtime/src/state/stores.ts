import type { KeyValueStore } from './key-value-store.ts';
import type { SessionStore } from './session-store.ts';
import {
  keyValueBuilder,
  sessionBuilder,
  versionedBuilder,
  windowBuilder,
} from './store-builders.ts';
import type { CachedStoreOptions, StoreOptions } from './store-options.ts';
import type { StoreBuilder } from './store.ts';
import {
  storeSuppliers,
  type KeyValueSupplierOptions,
  type LruSupplierOptions,
  type SessionSupplierOptions,
  type VersionedSupplierOptions,
  type WindowSupplierOptions,
} from './store-suppliers.ts';
import type { VersionedKeyValueStore } from './versioned-store.ts';
import type { WindowStore } from './window-store.ts';

interface KeepsHeaders {
  /** Entries keep the headers of the record that wrote them, and the changelog's records carry them (KIP-1271). */
  readonly headers?: boolean | undefined;
}

export type KeyValueStoreOptions<K, V> = CachedStoreOptions<K, V> &
  KeyValueSupplierOptions &
  KeepsHeaders;
export type LruStoreOptions<K, V> = CachedStoreOptions<K, V> & LruSupplierOptions;
export type WindowStoreOptions<K, V> = CachedStoreOptions<K, V> &
  WindowSupplierOptions &
  KeepsHeaders;
export type SessionStoreOptions<K, V> = CachedStoreOptions<K, V> &
  SessionSupplierOptions &
  KeepsHeaders;
export type VersionedStoreOptions<K, V> = StoreOptions<K, V> & VersionedSupplierOptions;

/**
 * Stores for processors, to be added with `addStateStore` or brought by a processor's supplier. They
 * are logged, and have no record cache, unless the options say otherwise.
 */
export const stores = {
  /** One value per key. */
  keyValue<K, V>(options: KeyValueStoreOptions<K, V>): StoreBuilder<KeyValueStore<K, V>> {
    return keyValueBuilder(parts(options), storeSuppliers.keyValue(options));
  },

  /** The keys that were used last, up to a number, in memory. */
  lru<K, V>(options: LruStoreOptions<K, V>): StoreBuilder<KeyValueStore<K, V>> {
    return keyValueBuilder(parts(options), storeSuppliers.lru(options));
  },

  /** One value per key and window start, for a time. */
  window<K, V>(options: WindowStoreOptions<K, V>): StoreBuilder<WindowStore<K, V>> {
    return windowBuilder(parts(options), storeSuppliers.window(options));
  },

  /** One aggregate per key, session start and session end, for a time. */
  session<K, V>(options: SessionStoreOptions<K, V>): StoreBuilder<SessionStore<K, V>> {
    return sessionBuilder(parts(options), storeSuppliers.session(options));
  },

  /** The values of a key over time (KIP-889). */
  versioned<K, V>(
    options: VersionedStoreOptions<K, V>,
  ): StoreBuilder<VersionedKeyValueStore<K, V>> {
    return versionedBuilder(options, storeSuppliers.versioned(options));
  },
} as const;

function parts<K, V>(
  options: CachedStoreOptions<K, V> & KeepsHeaders,
): Parameters<typeof keyValueBuilder<K, V>>[0] {
  return { ...options, format: options.headers === true ? 'kept' : 'none', isTable: false };
}
