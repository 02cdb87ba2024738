import type { KeyValueStore, SessionStore, StateStore, WindowStore } from '@millrace/runtime';
import type { TopologyTestDriver } from '@millrace/runtime/testing';
import type { GoldenCase, Json, JsonObject } from './case.ts';
import { showHeaders, toJson } from './codec.ts';

type Listed =
  | Pick<KeyValueStore<unknown, unknown>, 'all' | 'isTimestamped'>
  | (Pick<WindowStore<unknown, unknown>, 'all'> & { readonly isTimestamped?: boolean });

interface Version {
  readonly value: unknown;
  readonly timestamp: number;
}

interface Versioned {
  getRecord(key: unknown, asOf?: number): Version | null;
}

/** Every store by name, in its own iteration order. */
export function dumpStores(driver: TopologyTestDriver, golden: GoldenCase): JsonObject {
  const stores = [...driver.getAllStateStores()].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(stores.map(([name, store]) => [name, dump(store, golden)]));
}

function dump(store: StateStore, golden: GoldenCase): JsonObject {
  if ('isVersioned' in store) return versioned(store as unknown as Versioned, golden);
  if ('fetchAll' in store) return listed('window', store as unknown as Listed);
  if ('findSessions' in store) return sessions(store as SessionStore<unknown, unknown>);
  if ('range' in store) return listed('keyValue', store as unknown as Listed);
  return { kind: 'other' };
}

function listed(kind: string, store: Listed): JsonObject {
  const entries: JsonObject[] = [];
  for (const { key, value, timestamp, headers } of store.all()) {
    entries.push({
      key: toJson(key),
      value: toJson(value),
      ...(store.isTimestamped === false ? {} : { timestamp }),
      ...(headers === undefined ? {} : { headers: showHeaders(headers) }),
    });
  }
  return { kind, entries };
}

function sessions(store: SessionStore<unknown, unknown>): JsonObject {
  const entries: JsonObject[] = [];
  for (const { key, value, headers } of store.fetchRange(null, null)) {
    const shown = headers === undefined ? {} : { headers: showHeaders(headers) };
    entries.push({ key: toJson(key), value: toJson(value), ...shown });
  }
  return { kind: 'session', entries };
}

/** For each text key of the inputs the latest version, and the one as of each input's time. */
function versioned(store: Versioned, golden: GoldenCase): JsonObject {
  const keys = new Set<string>();
  const times = new Set<number>();
  for (const input of golden.inputs ?? []) {
    if ('advanceWallClockMs' in input) continue;
    if (typeof input.key === 'string') keys.add(input.key);
    times.add(input.timestamp ?? 0);
  }
  const ascending = [...times].sort((a, b) => a - b);
  const entries = [...keys].sort().map((key) => ({
    key,
    latest: version(store.getRecord(key)),
    asOf: ascending.map((at) => ({ at, is: version(store.getRecord(key, at)) })),
  }));
  return { kind: 'versioned', entries };
}

function version(found: Version | null): Json {
  if (found === null) return null;
  return { value: toJson(found.value), timestamp: found.timestamp };
}
