import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import { isFlushedStore } from './cached-store.ts';
import type { StoreBuilder } from './store.ts';
import { windowSegmentMs } from './store-suppliers.ts';
import { stores } from './stores.ts';
import {
  diskSetups,
  disposeBenches,
  memorySetups,
  runsOf,
  setups,
  StoreBench,
  type Settling,
  type StoreSetup,
} from './testing-support/store-bench.ts';
import type { WindowEntry, WindowStore } from './window-store.ts';

// So few that every bound is met by a handful of rows.
vi.mock('./limits.ts', async (original) => ({
  ...(await original<typeof import('./limits.ts')>()),
  CLEAN_ROWS_MAX_BYTES: 600,
  SPILL_SLICE_ROWS: 2,
  WALK_FIRST_ROWS: 2,
  WALK_ROWS: 3,
  HISTORY_SWEEP_ROWS: 2,
}));

afterEach(disposeBenches);

type Store = WindowStore<string, string>;
interface Row {
  readonly key: string;
  readonly start: number;
  readonly value: string;
  readonly timestamp: number;
}

const WINDOW_MS = 10;
const text = { name: 'w', key: serdes.string(), value: serdes.string(), caching: true } as const;
/** Nothing expires, several segments. */
const LONG_MS = 150_000;

const builder = (retention: number): StoreBuilder<Store> =>
  stores.window({ ...text, retention, windowSize: WINDOW_MS });

/** Keys whose bytes mix with those of a window's start when one key begins with another. */
const shortKey = fc.constantFrom('', 'a', 'a\u0000', 'a\u0000\u0000\u0000', 'ab', 'b', 'z');
/** With the window's start longer than LMDB takes, and as long as it takes just so. */
const longKey = fc.constantFrom(...[1_965, 1_966, 5_000].map((length) => 'b'.repeat(length)));
const key = fc.oneof({ weight: 4, arbitrary: shortKey }, { weight: 1, arbitrary: longKey });
const start = fc.oneof(fc.nat(40), fc.nat(LONG_MS - 1));
const write = fc.record({
  do: fc.constant('put' as const),
  key,
  start,
  value: fc.option(fc.constantFrom('1', '22', 'long '.repeat(20))),
  timestamp: fc.nat(100),
});
const command = fc.oneof(
  { weight: 3, arbitrary: write },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get' as const), key, start }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      how: fc.constantFrom<Settling>('commit', 'commit', 'spill', 'spill', 'reopen'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('fetch' as const, 'fetchRange' as const, 'fetchAll' as const),
      backward: fc.boolean(),
      key,
      last: fc.option(key),
      from: start,
      to: start,
    }),
  },
);

const idOf = (k: string, s: number): string => JSON.stringify([k, s]);

const storeKey = ({ key: k, start: s }: Row): Buffer => {
  const suffix = Buffer.alloc(8);
  suffix.writeBigInt64BE(BigInt(s));
  return Buffer.concat([Buffer.from(k), suffix]);
};

const byKey = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** In the order in which Kafka Streams' store of the type iterates. */
function ordered(rows: readonly Row[], { type }: StoreSetup, retentionMs: number): Row[] {
  const segmentMs = type === 'persistent' ? windowSegmentMs(retentionMs) : 1;
  const segment = ({ start: s }: Row): number => Math.floor(s / segmentMs);
  return [...rows].sort(
    (a, b) => segment(a) - segment(b) || Buffer.compare(storeKey(a), storeKey(b)),
  );
}

const rowsOf = (entries: Iterable<WindowEntry<string, string>>): Row[] =>
  [...entries].map(({ key: windowed, value, timestamp }) => {
    expect(windowed.end).toBe(windowed.start + WINDOW_MS);
    return { key: windowed.key, start: windowed.start, value, timestamp };
  });

async function flush(store: Store): Promise<void> {
  if (isFlushedStore(store)) await store.flush();
}

describe.each(setups)('window store: %s', (_name, setup) => {
  const open = (retentionMs: number): StoreBench<Store> =>
    new StoreBench(builder(retentionMs), setup);

  it('equals a list of windows under any sequence of writes, reads and flushes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
        const bench = open(LONG_MS);
        const { store } = bench;
        const model = new Map<string, Row>();
        const all = (): Row[] => ordered([...model.values()], setup, LONG_MS);
        for (const c of commands) {
          if (c.do === 'put') {
            store.put(c.key, c.value, c.start, c.timestamp);
            const { key: k, start: s, value, timestamp } = c;
            if (value === null) model.delete(idOf(k, s));
            else model.set(idOf(k, s), { key: k, start: s, value, timestamp });
          } else if (c.do === 'get') {
            const found = model.get(idOf(c.key, c.start));
            expect(store.get(c.key, c.start)).toBe(found?.value ?? null);
            expect(store.foundTimestamp).toBe(found?.timestamp ?? -1);
          } else if (c.do === 'flush') {
            await flush(store);
          } else if (c.do === 'settle') {
            await bench.settle(c.how);
          } else {
            const { from, to, key: first, last, backward } = c;
            let expected = all().filter(({ start: s }) => s >= from && s <= to);
            if (c.do === 'fetch') expected = expected.filter((row) => row.key === first);
            if (c.do === 'fetchRange') {
              expected = expected.filter(
                (row) => byKey(row.key, first) >= 0 && (last === null || byKey(row.key, last) <= 0),
              );
            }
            if (backward) expected.reverse();
            const found =
              c.do === 'fetch'
                ? store[backward ? 'backwardFetch' : 'fetch'](first, from, to)
                : c.do === 'fetchRange'
                  ? store[backward ? 'backwardFetchRange' : 'fetchRange'](first, last, from, to)
                  : store[backward ? 'backwardFetchAll' : 'fetchAll'](from, to);
            expect(rowsOf(found)).toEqual(expected);
          }
          await bench.stepped();
        }
        expect(rowsOf(store.all())).toEqual(all());
        expect(rowsOf(store.backwardAll())).toEqual(all().reverse());
        await flush(store);
        expect(rowsOf(store.all())).toEqual(all());
        expect(rowsOf(bench.restoredInto(open(LONG_MS)).all())).toEqual(all());
      }),
      { numRuns: runsOf(setup, 60) },
    );
  });

  it('goes on through a fetch, in order, whatever is written meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 30 }), async (commands) => {
        const bench = open(LONG_MS);
        const { store } = bench;
        for (const k of ['a', 'ab', 'z']) for (const s of [0, 20, 70_000]) store.put(k, k, s, 1);
        await flush(store);
        const left = [...commands];
        const seen: Row[] = [];
        for (const row of store.all()) {
          const { key: k, start: s } = row.key;
          seen.push({ key: k, start: s, value: row.value, timestamp: row.timestamp });
          const next = left.pop();
          if (next?.do === 'put') store.put(next.key, next.value, next.start, next.timestamp);
          if (next?.do === 'flush') await flush(store);
          if (next?.do === 'settle' && next.how !== 'reopen') await bench.settle(next.how);
          await bench.stepped();
        }
        expect(seen).toEqual(ordered(seen, setup, LONG_MS));
        expect(new Set(seen.map((row) => idOf(row.key, row.start))).size).toBe(seen.length);
      }),
      { numRuns: runsOf(setup, 30) },
    );
  });

  it('finds nothing in a range of keys that ends before it begins, and warns', () => {
    const warn = vi.fn();
    const bench = new StoreBench(builder(LONG_MS), setup);
    Object.assign(bench.task.context.logger, { warn });
    bench.store.put('a', '1', 5, 5);
    expect([...bench.store.fetchRange('b', 'a', 0, 9)]).toEqual([]);
    expect([...bench.store.backwardFetchRange('b', 'a', 0, 9)]).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(2);
    expect(warn.mock.calls[0]?.[0]).toEqual({ store: 'w' });
    expect([...bench.store.fetchRange('a', 'a', 0, 9)]).toHaveLength(1);
    expect(warn).toHaveBeenCalledTimes(2);
  });

  it('goes on through a fetch while what it reads is written to disk', async () => {
    const bench = open(LONG_MS);
    const starts = Array.from({ length: 40 }, (_, i) => i * 3_000);
    for (const s of starts) bench.store.put('a', String(s), s, 1);
    await flush(bench.store);
    await bench.settle('commit');
    const seen: number[] = [];
    for (const { key: windowed } of bench.store.fetch('a', 0, LONG_MS)) {
      seen.push(windowed.start);
      if (seen.length === 3) await bench.spilled();
    }
    expect(seen).toEqual(starts);
  });

  it('finds no expired window once it was let go, whatever came in which order', async () => {
    const retentionMs = 100;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            key,
            start: fc.oneof(fc.nat(400), fc.nat(300_000)),
            value: fc.constant('v'),
            how: fc.option(fc.constantFrom<Settling>('commit', 'spill', 'reopen')),
          }),
          { maxLength: 30 },
        ),
        async (writes) => {
          // A cache of nothing, or none: every write is in the store at once.
          if (setup.cacheBytes > 1) return;
          const bench = open(retentionMs);
          const { store } = bench;
          let observed = -1;
          const written = new Map<string, Row>();
          for (const { key: k, start: s, value, how } of writes) {
            store.put(k, value, s, s);
            observed = Math.max(observed, s);
            written.set(idOf(k, s), { key: k, start: s, value, timestamp: s });
            if (how !== null) await bench.settle(how);
            await bench.stepped();
          }
          await flush(store);
          const live = [...written.values()].filter(({ start: s }) => s > observed - retentionMs);
          expect(rowsOf(store.all())).toEqual(ordered(live, setup, retentionMs));
        },
      ),
      { numRuns: runsOf(setup, 60) },
    );
  });

  it('drops a write that its type takes for too late, and writes it to the changelog all the same', async () => {
    const bench = open(60_000);
    const { store, task } = bench;
    store.put('a', '1', 200_000, 1);
    // Expired, but its segment (of a minute) still lives in a persistent store.
    store.put('a', '2', 125_000, 2);
    store.put('a', '3', 110_000, 3);
    await flush(store);
    expect(task.dropped).toHaveLength(setup.type === 'persistent' ? 1 : 2);
    expect(bench.changelog).toHaveLength(3);
  });
});

describe('a cache before a window store', () => {
  it('finds an expired window as long as it keeps it, as in Kafka Streams', async () => {
    const { store } = new StoreBench(builder(100), { type: 'persistent', cacheBytes: 10_000 });
    store.put('a', '1', 0, 1);
    await flush(store);
    store.put('b', '2', 500, 501);
    await flush(store);
    expect(store.get('a', 0)).toBe('1');
    expect([...store.all()].map(({ key: k }) => k.start)).toEqual([0, 500]);
  });
});

const uncached = diskSetups.filter(([, { cacheBytes }]) => cacheBytes === 0);

describe.each([...memorySetups.filter(([, { cacheBytes }]) => cacheBytes === 0), ...uncached])(
  'restored windows: %s',
  (_name, setup) => {
    it('expire as others do (faust-streaming/faust#385)', async () => {
      const hourMs = 3_600_000;
      const first = new StoreBench(builder(hourMs), setup);
      for (let i = 0; i < 500; i++) first.store.put('a', String(i), i * 600_000, 1);
      const bench = new StoreBench(builder(hourMs), setup);
      const store = first.restoredInto(bench);
      await bench.settle('commit');
      await bench.spilled();
      expect(rowsOf(store.all()).map(({ value }) => value)).toEqual([
        '494',
        '495',
        '496',
        '497',
        '498',
        '499',
      ]);
      store.put('b', null, 499 * 600_000 + 2 * hourMs, 2);
      expect(rowsOf(store.all())).toEqual([]);
      await bench.settle('commit');
      await bench.spilled();
      await bench.settle('reopen');
      expect(rowsOf(store.all())).toEqual([]);
    });
  },
);

describe.each(uncached)('a window store: %s', (_name, setup) => {
  it('drops whole segments once they have expired, also those that it finds when it is opened', async () => {
    const bench = new StoreBench(builder(120_000), setup);
    const { store } = bench;
    for (let start = 0; start <= 600_000; start += 30_000) {
      store.put('a', String(start), start, start);
      await bench.settle('commit');
      await bench.spilled();
    }
    const numbers = (): number[] =>
      bench.environment
        .tableNames('w/')
        .map((name) => Number(name.slice(2)))
        .sort((a, b) => a - b);
    expect(numbers()).toEqual([8, 9, 10]);
    await bench.settle('reopen');
    expect(rowsOf(store.all()).map((row) => row.start)).toEqual([
      510_000, 540_000, 570_000, 600_000,
    ]);
    // No record since: what was observed is known all the same.
    store.put('a', 'late', 420_000, 1);
    expect(bench.task.dropped).toHaveLength(1);
    expect(store.get('a', 480_000)).toBeNull();
    store.put('a', 'late', 490_000, 1);
    expect(store.get('a', 490_000)).toBe('late');
  });

  it('goes through more segments than there is room for tables', async () => {
    const bench = new StoreBench(builder(60_000), setup);
    for (let segment = 0; segment < 120; segment++) {
      bench.store.put('a', String(segment), segment * 60_000, 1);
      await bench.settle('commit');
      await bench.spilled();
    }
    expect(bench.environment.tableNames('w/')).toEqual(['w/118', 'w/119']);
  });

  it('takes no room on disk for segments that come and go between two commits', async () => {
    const bench = new StoreBench(builder(60_000), setup);
    for (let segment = 0; segment < 500; segment++) {
      bench.store.put('a', String(segment), segment * 60_000, 1);
    }
    await bench.settle('commit');
    await bench.spilled();
    expect(bench.environment.tableNames('w/')).toEqual(['w/498', 'w/499']);
    expect(rowsOf(bench.store.all()).map(({ value }) => value)).toEqual(['499']);
  });
});
