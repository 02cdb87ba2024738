import { parseDurationMs, type Duration } from '../duration.ts';
import { TopologyError } from '../errors.ts';
import type { Serde } from '../serdes/serde.ts';
import type { StoreSettings, StoreType } from './store.ts';

/** `true` or topic configs: logged (the default). `false`: no changelog, so nothing survives the process. */
export type Logging = boolean | Readonly<Record<string, string>>;

/** What every store can be told. */
export interface StoreOptions<K, V> {
  readonly name: string;
  /** Without one the topology's default key serde. */
  readonly key?: Serde<K> | null | undefined;
  /** Without one the topology's default value serde. */
  readonly value?: Serde<V> | null | undefined;
  readonly logging?: Logging | undefined;
}

/** What the stores that can have a record cache can be told, too. */
export interface CachedStoreOptions<K, V> extends StoreOptions<K, V> {
  /** Whether it has a record cache; default false, as in Kafka Streams. Tables of the DSL have one. */
  readonly caching?: boolean | undefined;
}

/** `<application>-<store>-changelog`. */
export function changelogTopic(applicationId: string, storeName: string): string {
  return `${applicationId}-${storeName}-changelog`;
}

/** Kafka's order of precedence: what the library sets gives way to what the user gave. */
export function changelogConfig(
  library: Readonly<Record<string, string>>,
  logging: Logging | undefined,
): ReadonlyMap<string, string> {
  const user = typeof logging === 'object' ? logging : {};
  return new Map(Object.entries({ 'message.timestamp.type': 'CreateTime', ...library, ...user }));
}

export function resolveSerdes(
  options: StoreOptions<unknown, unknown>,
  settings: StoreSettings,
): [ReturnType<StoreSettings['serdes']['key']>, ReturnType<StoreSettings['serdes']['value']>] {
  const owner = `The store ${options.name}`;
  const topic = changelogTopic(settings.applicationId, options.name);
  return [
    settings.serdes.key(options.key ?? null, owner, topic),
    settings.serdes.value(options.value ?? null, owner, topic),
  ];
}

const storeTypes: ReadonlySet<unknown> = new Set<StoreType>(['inMemory', 'persistent']);

export function checkedType(type: StoreType | undefined, what: string): StoreType | null {
  if (type === undefined) return null;
  if (storeTypes.has(type)) return type;
  throw new TopologyError(
    `The type of ${what} is "${type}", but must be "inMemory" or "persistent".`,
  );
}

/** A duration in ms, `least` or more; `what` names the option in the error. */
export function checkedMs(duration: Duration, least: number, what: string): number {
  const ms = parseDurationMs(duration);
  if (ms !== null && Number.isSafeInteger(ms) && ms >= least) return ms;
  throw new TopologyError(
    `${what} is "${String(duration)}", but must be a whole number of milliseconds, ${String(least)} or more, or ` +
      'a text such as "5m" or "1h30m".',
  );
}

export function checkedEntries(maxEntries: number, what: string): number {
  if (Number.isSafeInteger(maxEntries) && maxEntries >= 1) return maxEntries;
  throw new TopologyError(`${what} is ${String(maxEntries)}, but must be a whole number from 1.`);
}
