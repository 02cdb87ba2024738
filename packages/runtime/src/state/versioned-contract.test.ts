import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import type { StoreBuilder } from './store.ts';
import { stores } from './stores.ts';
import {
  disposeBenches,
  runsOf,
  settingsOf,
  StoreBench,
  type Settling,
  type StoreSetup,
} from './testing-support/store-bench.ts';
import { PUT_LATEST, PUT_NOT_PUT, type VersionedKeyValueStore } from './versioned-store.ts';

// So few that every bound is met by a handful of rows.
vi.mock('./limits.ts', async (original) => ({
  ...(await original<typeof import('./limits.ts')>()),
  CLEAN_ROWS_MAX_BYTES: 600,
  SPILL_SLICE_ROWS: 2,
  HISTORY_SWEEP_ROWS: 2,
}));

afterEach(disposeBenches);

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

const onDisk = { type: 'persistent', cacheBytes: 1_000, isOnDisk: true } as const;

const versionedSetups: readonly (readonly [string, StoreSetup])[] = [
  ['inMemory', { type: 'inMemory', cacheBytes: 1_000 }],
  ['persistent', { type: 'persistent', cacheBytes: 1_000 }],
  ['on disk', onDisk],
  ['on disk, written through', { ...onDisk, isWrittenThrough: true }],
];

/** All that was ever accepted, newest last; nothing is forgotten here. */
class Model {
  readonly #versions = new Map<string, Version[]>();
  /** Times at which a version is known to end, whatever stands there now. */
  readonly #ends = new Map<string, Set<number>>();
  readonly #retentionMs: number;
  observed = -1;

  constructor(retentionMs: number) {
    this.#retentionMs = retentionMs;
  }

  put(key: string, value: string | null, timestamp: number): number {
    if (timestamp < this.observed - this.#retentionMs) return PUT_NOT_PUT;
    this.observed = Math.max(this.observed, timestamp);
    const before = this.of(key);
    const latest = before.at(-1);
    const others = before.filter((version) => version.timestamp !== timestamp);
    const next = others.find((version) => version.timestamp > timestamp);
    const ends = this.#ends.get(key) ?? new Set();
    this.#ends.set(key, ends);
    if (latest?.timestamp === timestamp) {
      // A tombstone in the place of the latest value is only known where something ends.
      const isKept = value !== null || latest.value === null || ends.has(timestamp);
      this.#versions.set(key, isKept ? [...others, { timestamp, value }] : others);
      return PUT_LATEST;
    }
    if (next !== undefined) ends.add(next.timestamp);
    else if (value === null || (latest?.value ?? null) !== null) ends.add(timestamp);
    const versions = [...others, { timestamp, value }].sort((a, b) => a.timestamp - b.timestamp);
    this.#versions.set(key, versions);
    return next?.timestamp ?? PUT_LATEST;
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

describe.each(versionedSetups)('versioned store: %s', (_name, setup) => {
  const open = (retentionMs: number): StoreBench<Store> =>
    new StoreBench(builder(retentionMs), setup);

  it('equals a list of versions under any sequence of writes', async () => {
    const write = fc.record({
      key: fc.constantFrom('', 'a', 'ab'),
      value: fc.option(fc.constantFrom('1', '2', '3')),
      timestamp: fc.nat(60),
      isDelete: fc.boolean(),
      how: fc.option(fc.constantFrom<Settling>('commit', 'commit', 'spill', 'spill', 'reopen')),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { maxLength: 40 }),
        fc.constantFrom(0, 1, 20, 1000),
        async (writes, retentionMs) => {
          const bench = open(retentionMs);
          const { store } = bench;
          const model = new Model(retentionMs);
          let dropped = 0;
          for (const { key, value, timestamp, isDelete, how } of writes) {
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
            if (how !== null) await bench.settle(how);
            await bench.stepped();
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
      { numRuns: runsOf(setup, 150) },
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

describe.each(versionedSetups)(
  'a tombstone with the timestamp of the latest value: %s',
  (_name, setup) => {
    const open = (): StoreBench<Store> => new StoreBench(builder(100), setup);

    it('leaves nothing if no version ends there: an older value is the latest then', () => {
      const { store } = open();
      expect(store.put('a', '1', 8)).toBe(PUT_LATEST);
      expect(store.put('a', null, 8)).toBe(PUT_LATEST);
      expect(store.put('a', '2', 5)).toBe(PUT_LATEST);
      expect(store.getRecord('a')).toEqual({ value: '2', timestamp: 5, validTo: null });
      expect(store.getAsOf('a', 8)).toBe('2');
    });

    it.each<readonly [string, readonly (readonly [string | null, number])[]]>([
      ['an older value', [['0', 3]]],
      [
        'an older value that came later',
        [
          ['1', 8],
          ['0', 3],
        ],
      ],
      [
        'an older tombstone that came later',
        [
          ['1', 8],
          [null, 3],
        ],
      ],
      ['an earlier tombstone', [[null, 8]]],
      [
        'an older tombstone that was written again',
        [
          [null, 3],
          ['1', 8],
          [null, 3],
        ],
      ],
    ])('stays if %s ends there', (_what, first) => {
      const { store } = open();
      for (const [value, timestamp] of first) store.put('a', value, timestamp);
      store.put('a', '1', 8);
      store.put('a', null, 8);
      expect(store.put('a', '2', 5)).toBe(8);
      expect(store.get('a')).toBeNull();
      expect(store.getRecord('a', 5)).toEqual({ value: '2', timestamp: 5, validTo: 8 });
    });

    it('leaves nothing after an older tombstone that was the latest', () => {
      const { store } = open();
      store.put('a', '0', 2);
      store.put('a', null, 3);
      store.put('a', '1', 8);
      store.put('a', null, 8);
      expect(store.put('a', '2', 5)).toBe(PUT_LATEST);
      expect(store.getRecord('a')).toEqual({ value: '2', timestamp: 5, validTo: null });
      expect(store.getRecord('a', 2)).toEqual({ value: '0', timestamp: 2, validTo: 3 });
    });
  },
);

describe('a versioned store on disk', () => {
  it('forgets what has expired of keys that nobody writes again, round after round', async () => {
    const bench = new StoreBench(builder(10), onDisk);
    const { store } = bench;
    const table = (): string[] =>
      [...bench.environment.table('v').rows(null, null, false)].map(([key]) => key);
    for (let i = 0; i < 20; i++) {
      store.put(`dead${String(i)}`, 'v', i);
      store.put(`dead${String(i)}`, null, i + 1);
    }
    await bench.settle('commit');
    await bench.spilled();
    expect(table()).toHaveLength(20);
    for (let time = 1_000; time < 1_200; time += 5) {
      store.put('last', 'v', time);
      await bench.settle('commit');
    }
    await bench.spilled();
    expect(table()).toEqual(['last']);
  });

  it('has old latest values again after it was wiped', async () => {
    const bench = new StoreBench(builder(10), onDisk);
    bench.store.put('a', 'old', 1);
    bench.store.put('b', 'new', 100);
    await bench.settle('commit');
    await bench.spilled();
    await bench.environment.forgetOffset('v');
    await bench.environment.dropTable('v');
    await bench.settle('reopen');
    expect(bench.store.get('a')).toBe('old');
    expect(bench.store.get('b')).toBe('new');
  });

  it('takes nothing that is too late after it was opened again', async () => {
    const bench = new StoreBench(builder(10), onDisk);
    bench.store.put('a', '1', 100);
    await bench.settle('commit');
    await bench.spilled();
    await bench.settle('reopen');
    expect(bench.store.put('b', 'late', 89)).toBe(PUT_NOT_PUT);
    expect(bench.store.put('b', 'in time', 90)).toBe(PUT_LATEST);
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
