import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import type { StoreBuilder, StoreType } from './store.ts';
import { stores } from './stores.ts';
import { settingsOf, StoreBench } from './testing-support/store-bench.ts';
import { PUT_LATEST, PUT_NOT_PUT, type VersionedKeyValueStore } from './versioned-store.ts';

type Store = VersionedKeyValueStore<string, string>;
interface Version {
  readonly timestamp: number;
  readonly value: string | null;
}

const builder = (historyRetention: number): StoreBuilder<Store> =>
  stores.versioned({
    name: 'v',
    key: serdes.string(),
    value: serdes.string(),
    historyRetention,
  });

/** All that was ever accepted, newest last; nothing is forgotten here. */
class Model {
  readonly #versions = new Map<string, Version[]>();
  readonly #retentionMs: number;
  observed = -1;

  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  put(key: string, value: string | null, timestamp: number): number {
    if (timestamp < this.observed - this.#retentionMs) return PUT_NOT_PUT;
    this.observed = Math.max(this.observed, timestamp);
    const versions = this.of(key).filter((version) => version.timestamp !== timestamp);
    versions.push({ timestamp, value });
    versions.sort((a, b) => a.timestamp - b.timestamp);
    this.#versions.set(key, versions);
    return versions.find((version) => version.timestamp > timestamp)?.timestamp ?? PUT_LATEST;
  }

  of(key: string): Version[] {
    return this.#versions.get(key) ?? [];
  }

  asOf(key: string, time: number): Version | undefined {
    const found = this.of(key).findLast((version) => version.timestamp <= time);
    const isWithin = time >= this.observed - this.#retentionMs;
    return isWithin || found === this.of(key).at(-1) ? found : undefined;
  }
}

describe.each<StoreType>(['inMemory', 'persistent'])('versioned store: %s', (type) => {
  const open = (retentionMs: number): StoreBench<Store> =>
    new StoreBench(builder(retentionMs), { type, cacheBytes: 1_000 });

  it('equals a list of versions under any sequence of writes', () => {
    const write = fc.record({
      key: fc.constantFrom('', 'a', 'ab'),
      value: fc.option(fc.constantFrom('1', '2', '3')),
      timestamp: fc.nat(60),
      isDelete: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(write, { maxLength: 40 }),
        fc.constantFrom(0, 1, 20, 1000),
        (writes, retentionMs) => {
          const bench = open(retentionMs);
          const { store } = bench;
          const model = new Model(retentionMs);
          let dropped = 0;
          for (const { key, value, timestamp, isDelete } of writes) {
            const before = model.of(key).findLast((version) => version.timestamp <= timestamp);
            if (isDelete) {
              const isPut = model.put(key, null, timestamp) !== PUT_NOT_PUT;
              if (!isPut) dropped++;
              expect(store.delete(key, timestamp)?.value ?? null).toBe(
                isPut ? (before?.value ?? null) : null,
              );
            } else {
              const expected = model.put(key, value, timestamp);
              if (expected === PUT_NOT_PUT) dropped++;
              expect(store.put(key, value, timestamp)).toBe(expected);
            }
            for (const k of ['', 'a', 'ab']) {
              expect(store.get(k)).toBe(model.of(k).at(-1)?.value ?? null);
              for (let time = 0; time <= 60; time += 7) {
                const version = model.asOf(k, time);
                const found = store.getRecord(k, time);
                expect(found?.value ?? null).toBe(version?.value ?? null);
                expect(store.getAsOf(k, time)).toBe(version?.value ?? null);
                if (found === null) expect(store.foundTimestamp).toBe(-1);
                else expect(store.foundTimestamp).toBe(version?.timestamp);
              }
            }
          }
          expect(bench.task.dropped).toHaveLength(dropped);
          expect(bench.changelog).toHaveLength(writes.length);
          const other = bench.restoredInto(open(retentionMs));
          for (const k of ['', 'a', 'ab']) {
            expect(other.getRecord(k)).toEqual(store.getRecord(k));
            for (let time = 0; time <= 60; time += 3) {
              expect(other.getRecord(k, time)).toEqual(store.getRecord(k, time));
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('tells when a version ends, and goes through those of a time span', () => {
    const { store } = open(100);
    store.put('a', '1', 10);
    store.put('a', '2', 20);
    store.put('a', null, 30);
    store.put('a', '4', 40);
    expect(store.getRecord('a', 15)).toEqual({ value: '1', timestamp: 10, validTo: 20 });
    expect(store.getRecord('a', 35)).toBeNull();
    expect(store.getRecord('a')).toEqual({ value: '4', timestamp: 40, validTo: null });
    expect([...store.history('a', 15, 30)].map(({ value }) => value)).toEqual(['1', '2']);
    expect([...store.history('a')].map(({ value }) => value)).toEqual(['1', '2', '4']);
  });

  it('forgets what ended before the history, also of keys that nobody writes again', () => {
    const { store } = open(10);
    for (let i = 0; i < 1_000; i++) store.put(`k${String(i)}`, 'old', i);
    for (let i = 0; i < 1_000; i++) store.put(`k${String(i)}`, 'new', 1_000 + i);
    for (let i = 0; i < 1_000; i++) store.put(`k${String(i)}`, null, 3_000 + i);
    store.put('last', 'v', 10_000);
    expect([...store.history('k0')]).toEqual([]);
    expect(store.get('last')).toBe('v');
  });
});

describe('a versioned changelog', () => {
  it('is compacted only what the history no longer needs, a day later', () => {
    const config = builder(60_000).changelogConfig(settingsOf('persistent', 0));
    expect(Object.fromEntries(config)).toEqual({
      'message.timestamp.type': 'CreateTime',
      'cleanup.policy': 'compact',
      'min.compaction.lag.ms': String(60_000 + 86_400_000),
    });
  });
});
