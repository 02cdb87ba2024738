import { CachingKeyValueStore } from './cache/caching-key-value-store.ts';
import { CachingSessionStore } from './cache/caching-session-store.ts';
import { CachingWindowStore } from './cache/caching-window-store.ts';
import type { KeyValueStore } from './key-value-store.ts';
import { VERSIONED_CHANGELOG_ADDITIONAL_LAG_MS } from './limits.ts';
import { InMemoryKeyValueStore } from './memory/in-memory-key-value-store.ts';
import { InMemorySessionStore } from './memory/in-memory-session-store.ts';
import { InMemoryVersionedStore } from './memory/in-memory-versioned-store.ts';
import { InMemoryWindowStore } from './memory/in-memory-window-store.ts';
import { LruKeyValueStore } from './memory/lru-key-value-store.ts';
import type { HeaderKeeping } from './memory/value-codec.ts';
import { PersistentKeyValueStore } from './persistent/persistent-key-value-store.ts';
import { PersistentSessionStore } from './persistent/persistent-session-store.ts';
import { PersistentVersionedStore } from './persistent/persistent-versioned-store.ts';
import { PersistentWindowStore } from './persistent/persistent-window-store.ts';
import { IN_MEMORY_SEGMENT_MS } from './session-order.ts';
import type { SessionStore } from './session-store.ts';
import type { StoreBuilder, StoreSettings, StoreType } from './store.ts';
import {
  changelogConfig,
  resolveSerdes,
  type CachedStoreOptions,
  type Logging,
  type StoreOptions,
} from './store-options.ts';
import {
  storeSuppliers,
  windowSegmentMs,
  type KeyValueStoreSupplier,
  type SessionStoreSupplier,
  type VersionedStoreSupplier,
  type WindowStoreSupplier,
} from './store-suppliers.ts';
import type { VersionedKeyValueStore } from './versioned-store.ts';
import type { WindowStore } from './window-store.ts';

export { changelogTopic, type Logging } from './store-options.ts';

/** What becomes of headers: as `HeaderKeeping`, or as `dsl.store.format` says of stores of the DSL. */
type Format = HeaderKeeping | 'dsl';

/** How a store is built, beside which one it is. */
export interface StoreParts<K, V> extends CachedStoreOptions<K, V> {
  readonly format: Format;
  /** A table's cache keeps timestamps, even if its store does not. */
  readonly isTable: boolean;
}

/** A key-value store of the application's default kind, without a cache. */
export function keyValueStore<K, V>(
  options: StoreOptions<K, V>,
): StoreBuilder<KeyValueStore<K, V>> {
  return keyValueBuilder({ ...options, format: 'none', isTable: false }, storeSuppliers.keyValue());
}

export function keyValueBuilder<K, V>(
  parts: StoreParts<K, V>,
  supplier: KeyValueStoreSupplier,
): StoreBuilder<KeyValueStore<K, V>> {
  const { name, logging } = parts;
  const { maxEntries } = supplier;
  const keepsTimestamps = supplier.isTimestamped;
  const isTimestamped = keepsTimestamps || parts.isTable;
  const isPersistent = (settings: StoreSettings): boolean =>
    settings.isOnDisk &&
    maxEntries === null &&
    (supplier.type ?? settings.defaultStoreType) === 'persistent';
  return {
    name,
    isLogged: logging !== false,
    isPersistent,
    changelogConfig: () => changelogConfig({ 'cleanup.policy': 'compact' }, logging),
    bind(settings) {
      const [key, value] = resolveSerdes(parts, settings);
      const headers = headersOf(parts.format, supplier.type, settings);
      const isCached = parts.caching === true && settings.isCachingEnabled;
      const isOnDisk = isPersistent(settings);
      const options = { isTimestamped, keepsTimestamps, headers };
      const create = (): KeyValueStore<unknown, unknown> =>
        isOnDisk
          ? new PersistentKeyValueStore(name, key, value, options)
          : maxEntries === null
            ? new InMemoryKeyValueStore(name, key, value, options)
            : new LruKeyValueStore(name, key, value, maxEntries, options);
      if (!isCached) return create as unknown as () => KeyValueStore<K, V>;
      return () =>
        new CachingKeyValueStore(create(), key, value, {
          isTimestamped,
          headers,
        }) as unknown as KeyValueStore<K, V>;
    },
  };
}

export function windowBuilder<K, V>(
  parts: StoreParts<K, V>,
  supplier: WindowStoreSupplier,
): StoreBuilder<WindowStore<K, V>> {
  const { name, logging } = parts;
  const { isTimestamped, retentionMs, windowSizeMs } = supplier;
  const typeOf = (settings: StoreSettings): StoreType => supplier.type ?? settings.defaultStoreType;
  const isPersistent = (settings: StoreSettings): boolean =>
    settings.isOnDisk && typeOf(settings) === 'persistent';
  return {
    name,
    isLogged: logging !== false,
    isPersistent,
    changelogConfig: (settings) => windowedChangelogConfig(retentionMs, logging, settings),
    bind(settings) {
      const [key, value] = resolveSerdes(parts, settings);
      const headers = headersOf(parts.format, supplier.type, settings);
      const isOnDisk = isPersistent(settings);
      const options = {
        windowSizeMs,
        retentionMs,
        segmentMs: typeOf(settings) === 'persistent' ? windowSegmentMs(retentionMs) : 1,
        isTimestamped,
        headers,
      };
      const isCached = parts.caching === true && settings.isCachingEnabled;
      const cached = { isTimestamped: isTimestamped || parts.isTable, headers };
      return () => {
        const store = isOnDisk
          ? new PersistentWindowStore(name, key, value, options)
          : new InMemoryWindowStore(name, key, value, options);
        return (isCached
          ? new CachingWindowStore(store, key, value, cached)
          : store) as unknown as WindowStore<K, V>;
      };
    },
  };
}

export function sessionBuilder<K, V>(
  parts: Omit<StoreParts<K, V>, 'isTable'>,
  supplier: SessionStoreSupplier,
): StoreBuilder<SessionStore<K, V>> {
  const { name, logging } = parts;
  const { retentionMs, isTimeOrdered } = supplier;
  const typeOf = (settings: StoreSettings): StoreType => supplier.type ?? settings.defaultStoreType;
  const isPersistent = (settings: StoreSettings): boolean =>
    settings.isOnDisk && typeOf(settings) === 'persistent';
  return {
    name,
    isLogged: logging !== false,
    isPersistent,
    changelogConfig: (settings) => windowedChangelogConfig(retentionMs, logging, settings),
    bind(settings) {
      const [key, value] = resolveSerdes(parts, settings);
      const headers = headersOf(parts.format, supplier.type, settings);
      const isOnDisk = isPersistent(settings);
      const hasSegments = typeOf(settings) === 'persistent';
      const segmentMs = hasSegments ? windowSegmentMs(retentionMs) : IN_MEMORY_SEGMENT_MS;
      const options = { retentionMs, segmentMs, headers, isTimeOrdered };
      const isCached = parts.caching === true && settings.isCachingEnabled;
      return () => {
        const store = isOnDisk
          ? new PersistentSessionStore(name, key, value, options)
          : new InMemorySessionStore(name, key, value, options);
        return (isCached
          ? new CachingSessionStore(store, key, value, headers)
          : store) as unknown as SessionStore<K, V>;
      };
    },
  };
}

/** Never cached. On disk if stores that are not told where they are are. */
export function versionedBuilder<K, V>(
  options: StoreOptions<K, V>,
  { historyRetentionMs }: VersionedStoreSupplier,
): StoreBuilder<VersionedKeyValueStore<K, V>> {
  const { name, logging } = options;
  const isPersistent = (settings: StoreSettings): boolean =>
    settings.isOnDisk && settings.defaultStoreType === 'persistent';
  return {
    name,
    isLogged: logging !== false,
    isPersistent,
    isVersioned: true,
    historyRetentionMs,
    changelogConfig: () => {
      // A compacted changelog must keep all versions that a restored store still needs.
      const lagMs = historyRetentionMs + VERSIONED_CHANGELOG_ADDITIONAL_LAG_MS;
      const library = { 'cleanup.policy': 'compact', 'min.compaction.lag.ms': String(lagMs) };
      return changelogConfig(library, logging);
    },
    bind(settings) {
      const [key, value] = resolveSerdes(options, settings);
      const Store = isPersistent(settings) ? PersistentVersionedStore : InMemoryVersionedStore;
      return () =>
        new Store(name, key, value, historyRetentionMs) as unknown as VersionedKeyValueStore<K, V>;
    },
  };
}

/** What the store forgets, its changelog forgets, too, some time later. */
function windowedChangelogConfig(
  retentionMs: number,
  logging: Logging | undefined,
  settings: StoreSettings,
): ReadonlyMap<string, string> {
  const keptMs = retentionMs + settings.changelogAdditionalRetentionMs;
  const library = { 'cleanup.policy': 'compact,delete', 'retention.ms': String(keptMs) };
  return changelogConfig(library, logging);
}

/** In-memory stores of the DSL keep no headers, whatever the format, as in Kafka Streams. */
function headersOf(format: Format, type: StoreType | null, settings: StoreSettings): HeaderKeeping {
  if (format !== 'dsl') return format;
  const isPersistent = (type ?? settings.defaultStoreType) === 'persistent';
  return settings.dslKeepsHeaders && isPersistent ? 'empty' : 'none';
}
