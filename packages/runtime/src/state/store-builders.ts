import type { Serde } from '../serdes/serde.ts';
import type { KeyValueStore } from './key-value-store.ts';
import { InMemoryKeyValueStore } from './memory/in-memory-key-value-store.ts';
import { InMemoryWindowStore } from './memory/in-memory-window-store.ts';
import type { StoreBuilder, StoreSettings } from './store.ts';
import type { WindowStore } from './window-store.ts';

/** `true` or topic configs: logged (the default). `false`: no changelog, so nothing survives the process. */
export type Logging = boolean | Readonly<Record<string, string>>;

export interface KeyValueStoreOptions<K, V> {
  readonly name: string;
  /** Without one the topology's default key serde. */
  readonly key?: Serde<K> | null | undefined;
  /** Without one the topology's default value serde. */
  readonly value?: Serde<V> | null | undefined;
  readonly logging?: Logging | undefined;
}

export interface WindowStoreOptions<K, V> extends KeyValueStoreOptions<K, V> {
  readonly windowSizeMs: number;
  readonly retentionMs: number;
}

/** `<application>-<store>-changelog`. */
export function changelogTopic(applicationId: string, storeName: string): string {
  return `${applicationId}-${storeName}-changelog`;
}

/** A timestamped key-value store in memory. */
export function keyValueStore<K, V>(
  options: KeyValueStoreOptions<K, V>,
): StoreBuilder<KeyValueStore<K, V>> {
  return {
    name: options.name,
    isLogged: options.logging !== false,
    changelogConfig: () => topicConfig({ 'cleanup.policy': 'compact' }, options.logging),
    bind(settings) {
      const [key, value] = resolveSerdes(options, settings);
      return () =>
        new InMemoryKeyValueStore<unknown, unknown>(
          options.name,
          key,
          value,
        ) as unknown as KeyValueStore<K, V>;
    },
  };
}

/** A timestamped window store in memory. */
export function windowStore<K, V>(
  options: WindowStoreOptions<K, V>,
): StoreBuilder<WindowStore<K, V>> {
  return {
    name: options.name,
    isLogged: options.logging !== false,
    changelogConfig: (settings) =>
      topicConfig(
        {
          'cleanup.policy': 'compact,delete',
          'retention.ms': String(options.retentionMs + settings.changelogAdditionalRetentionMs),
        },
        options.logging,
      ),
    bind(settings) {
      const [key, value] = resolveSerdes(options, settings);
      return () =>
        new InMemoryWindowStore<unknown, unknown>(
          options.name,
          key,
          value,
          options.retentionMs,
          options.windowSizeMs,
        ) as unknown as WindowStore<K, V>;
    },
  };
}

/** Kafka's order of precedence: what the library sets gives way to what the user gave. */
function topicConfig(
  library: Readonly<Record<string, string>>,
  logging: Logging | undefined,
): ReadonlyMap<string, string> {
  const user = typeof logging === 'object' ? logging : {};
  return new Map(Object.entries({ 'message.timestamp.type': 'CreateTime', ...library, ...user }));
}

function resolveSerdes(
  options: KeyValueStoreOptions<unknown, unknown>,
  settings: StoreSettings,
): [ReturnType<StoreSettings['serdes']['key']>, ReturnType<StoreSettings['serdes']['value']>] {
  const owner = `The store ${options.name}`;
  const topic = changelogTopic(settings.applicationId, options.name);
  return [
    settings.serdes.key(options.key ?? null, owner, topic),
    settings.serdes.value(options.value ?? null, owner, topic),
  ];
}
