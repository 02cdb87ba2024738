import { RecordHeaders } from '@millrace/protocol';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import { isFlushedStore } from './cached-store.ts';
import type { KeyValueEntry, KeyValueStore } from './key-value-store.ts';
import type { StoreBuilder } from './store.ts';
import { stores } from './stores.ts';
import {
  disposeBenches,
  memorySetups,
  runsOf,
  setups,
  StoreBench,
  type Settling,
  type StoreSetup,
} from './testing-support/store-bench.ts';

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

type Store = KeyValueStore<string, string>;
type Model = Map<string, { readonly value: string; readonly timestamp: number }>;

const text = { name: 's', key: serdes.string(), value: serdes.string(), caching: true } as const;
const json = serdes.json<{ n: string }>();

const kinds: readonly (readonly [string, () => StoreBuilder<Store>])[] = [
  ['timestamped', () => stores.keyValue(text)],
  ['plain', () => stores.keyValue({ ...text, timestamped: false })],
  ['with headers', () => stores.keyValue({ ...text, headers: true })],
  ['LRU with room for all', () => stores.lru({ ...text, maxEntries: 100 })],
];

const matrix = kinds.flatMap(([kind, builder]) =>
  (kind.startsWith('LRU') ? memorySetups : setups).map(
    ([name, setup]) => [`${kind}, ${name}`, builder, setup] as const,
  ),
);

/** Longer than LMDB takes, and as long as it takes just so. */
const long = [1_977, 1_978, 5_000].map((length) => 'b'.repeat(length));
/** Keys of which some begin with others, and with bytes at the ends of the order. */
const key = fc.constantFrom('', 'a', 'a\u0000', 'aa', 'ab', 'b', 'bé', 'z', '\u{10ffff}', ...long);
const command = fc.oneof(
  fc.record({
    do: fc.constant('put' as const),
    key,
    value: fc.option(fc.constantFrom('1', '22', 'long '.repeat(20))),
    timestamp: fc.nat(100),
  }),
  fc.record({ do: fc.constant('get' as const), key }),
  fc.record({ do: fc.constant('flush' as const) }),
  fc.record({
    do: fc.constant('settle' as const),
    how: fc.constantFrom<Settling>('commit', 'commit', 'spill', 'spill', 'reopen'),
  }),
  fc.record({ do: fc.constantFrom('range' as const, 'reverseRange' as const), from: key, to: key }),
  fc.record({ do: fc.constant('prefix' as const), prefix: fc.constantFrom('', 'a', 'b', 'x') }),
);

const byKey = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function rowsOf(
  model: Model,
  isTimestamped: boolean,
): { key: string; value: string; timestamp: number }[] {
  return [...model]
    .sort(([a], [b]) => byKey(a, b))
    .map(([k, { value, timestamp }]) => ({
      key: k,
      value,
      timestamp: isTimestamped ? timestamp : -1,
    }));
}

const rows = (
  entries: Iterable<KeyValueEntry<string, string>>,
): { key: string; value: string; timestamp: number }[] =>
  [...entries].map(({ key: k, value, timestamp }) => ({ key: k, value, timestamp }));

async function flush(store: Store): Promise<void> {
  if (isFlushedStore(store)) await store.flush();
}

describe.each(matrix)('key-value store: %s', (_name, builder, setup: StoreSetup) => {
  const open = (): StoreBench<Store> => new StoreBench(builder(), setup);

  it('equals a sorted map under any sequence of writes, reads and flushes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
        const bench = open();
        const { store } = bench;
        const model: Model = new Map();
        const isTimestamped = store.isTimestamped ?? true;
        for (const c of commands) {
          const expected = rowsOf(model, isTimestamped);
          switch (c.do) {
            case 'put':
              store.put(c.key, c.value, c.timestamp);
              if (c.value === null) model.delete(c.key);
              else model.set(c.key, { value: c.value, timestamp: c.timestamp });
              break;
            case 'get': {
              const found = model.get(c.key);
              expect(store.get(c.key)).toBe(found?.value ?? null);
              const timestamp = found === undefined || !isTimestamped ? -1 : found.timestamp;
              expect(store.foundTimestamp).toBe(timestamp);
              expect(store.getEntry(c.key)?.value ?? null).toBe(found?.value ?? null);
              break;
            }
            case 'flush':
              await flush(store);
              break;
            case 'settle':
              await bench.settle(c.how);
              break;
            case 'range':
            case 'reverseRange': {
              const within = expected.filter(
                ({ key: k }) => byKey(k, c.from) >= 0 && byKey(k, c.to) <= 0,
              );
              if (c.do === 'reverseRange') within.reverse();
              expect(rows(store[c.do](c.from, c.to))).toEqual(within);
              break;
            }
            case 'prefix':
              expect(rows(store.prefixScan(Buffer.from(c.prefix)))).toEqual(
                expected.filter(({ key: k }) => k.startsWith(c.prefix)),
              );
          }
          await bench.stepped();
        }
        const all = rowsOf(model, isTimestamped);
        expect(rows(store.all())).toEqual(all);
        expect(rows(store.reverseAll())).toEqual(all.toReversed());
        await flush(store);
        expect(rows(store.all())).toEqual(all);
        // On disk only what is there counts once.
        await bench.settle('commit');
        await bench.spilled();
        expect(store.approximateEntryCount()).toBe(all.length);
        expect(rows(store.all())).toEqual(all);
        const other = bench.restoredInto(open());
        expect(rows(other.all())).toEqual(all);
      }),
      { numRuns: runsOf(setup, 40) },
    );
  });

  it('goes on through a range, in order, whatever is written meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 40 }), async (commands) => {
        const bench = open();
        const { store } = bench;
        for (const k of ['a', 'aa', 'b', 'z']) store.put(k, `old ${k}`, 1);
        await flush(store);
        await bench.stepped();
        const left = [...commands];
        const seen: string[] = [];
        for (const entry of store.all()) {
          seen.push(entry.key);
          const next = left.pop();
          if (next?.do === 'put') store.put(next.key, next.value, next.timestamp);
          if (next?.do === 'flush') await flush(store);
          if (next?.do === 'settle' && next.how !== 'reopen') await bench.settle(next.how);
          await bench.stepped();
        }
        expect(seen).toEqual([...new Set(seen)].sort(byKey));
        // What nobody touched is there.
        const touched = new Set<string>(commands.flatMap((c) => (c.do === 'put' ? [c.key] : [])));
        expect(seen).toEqual(
          expect.arrayContaining(['a', 'aa', 'b', 'z'].filter((k) => !touched.has(k))),
        );
      }),
      { numRuns: runsOf(setup, 40) },
    );
  });

  it('finds nothing for a key that is deleted without ever having been there, whatever was found before', () => {
    const { store } = open();
    store.put('a', 'one', 1);
    expect(store.get('a')).toBe('one');
    store.put('b', null, 2);
    expect(store.get('b')).toBeNull();
    expect(store.foundTimestamp).toBe(-1);
    store.put('c', 'three', 3);
    store.put('d', 'four', 4);
    expect(store.get('d')).toBe('four');
    expect(store.get('c')).toBe('three');
  });

  it('keeps values of any length', async () => {
    const bench = open();
    const lengths = [0, 1, 4_000, 70_000, 300_000, 3_000_000];
    for (const length of lengths) bench.store.put(`k${String(length)}`, 'v'.repeat(length), 1);
    await flush(bench.store);
    await bench.settle('commit');
    await bench.spilled();
    await bench.settle('reopen');
    const found = lengths.map((length) => bench.store.get(`k${String(length)}`)?.length);
    expect(found).toEqual(lengths);
  });

  it('goes on through a range while what it reads is written to disk', async () => {
    const bench = open();
    const keys = Array.from({ length: 40 }, (_, i) => `k${String(i).padStart(2, '0')}`);
    for (const k of keys) bench.store.put(k, k, 1);
    await flush(bench.store);
    await bench.settle('commit');
    const seen: string[] = [];
    for (const entry of bench.store.all()) {
      seen.push(entry.key);
      if (seen.length === 3) await bench.spilled();
    }
    expect(seen).toEqual(keys);
  });

  it('returns what a key had when it deletes, or puts if there was nothing', () => {
    const { store } = open();
    expect(store.putIfAbsent('a', '1', 5)).toBeNull();
    expect(store.putIfAbsent('a', '2', 6)).toBe('1');
    expect(store.delete('a', 7)).toBe('1');
    expect(store.delete('a', 8)).toBeNull();
    expect(store.get('a')).toBeNull();
  });

  it('puts many in their order, with the time and the headers of each', () => {
    const bench = open();
    const { store } = bench;
    store.putAll([
      { key: 'b', value: '1', timestamp: 5 },
      { key: 'a', value: '2', timestamp: 6 },
      { key: 'b', value: null, timestamp: 7 },
      { key: 'c', value: '3' },
    ]);
    const timestamp = (store.isTimestamped ?? true) ? 6 : -1;
    expect(rows(store.all())).toEqual([
      { key: 'a', value: '2', timestamp },
      { key: 'c', value: '3', timestamp: -1 },
    ]);
    const copy = open().store;
    copy.putAll(store.all());
    expect(rows(copy.all())).toEqual(rows(store.all()));
  });

  it('finds nothing in a range that ends before it begins, and warns', () => {
    const warn = vi.fn();
    const bench = open();
    Object.assign(bench.task.context.logger, { warn });
    bench.store.put('a', '1', 1);
    expect([...bench.store.range('b', 'a')]).toEqual([]);
    expect([...bench.store.reverseRange('b', 'a')]).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(2);
    expect(warn.mock.calls[0]?.[0]).toEqual({ store: 's' });
    expect([...bench.store.range('a', 'a')]).toHaveLength(1);
    expect([...bench.store.range('a', null)]).toHaveLength(1);
    expect(warn).toHaveBeenCalledTimes(2);
  });

  it('is empty again when it was closed and opened', () => {
    const bench = open();
    const { store, caching, task } = bench;
    store.put('a', '1', 1);
    store.close();
    expect(caching.cache.bytes).toBe(0);
    store.open(
      {
        ...task.context,
        caching,
        ...(setup.isOnDisk === true && { diskOf: () => bench.environment }),
      },
      null,
    );
    expect(store.get('a')).toBeNull();
    expect([...store.all()]).toEqual([]);
  });
});

describe.each(setups)('key-value store of values that can be changed: %s', (_name, setup) => {
  it('keeps what it was given, whatever the caller does to the object later', async () => {
    const options = { name: 's', key: serdes.string(), value: json, caching: true };
    const { store } = new StoreBench(stores.keyValue(options), setup);
    const value = { n: '1' };
    store.put('a', value, 1);
    value.n = '2';
    (store.get('a') as { n: string }).n = '3';
    expect(store.get('a')).toEqual({ n: '1' });
    if (isFlushedStore(store)) await store.flush();
    expect([...store.all()]).toEqual([{ key: 'a', value: { n: '1' }, timestamp: 1 }]);
  });

  it('keeps headers if it is told to, in its changelog, too', async () => {
    const bench = new StoreBench(stores.keyValue({ ...text, headers: true }), setup);
    const { store } = bench;
    store.put('a', '1', 1, new RecordHeaders().add('h', '1'));
    store.put('b', '2', 2);
    store.put('a', '3', 3, new RecordHeaders().add('h', '3'));
    store.put('b', null, 4, new RecordHeaders().add('h', '4'));
    const kept = { key: 'a', value: '3', timestamp: 3, headers: new RecordHeaders().add('h', '3') };
    expect([...store.all()]).toEqual([kept]);
    expect(store.getEntry('a')).toEqual(kept);
    if (isFlushedStore(store)) await store.flush();
    expect([...store.all()]).toEqual([kept]);
    const last = bench.changelog.filter(({ value }) => value?.toString() === '3');
    expect(last.map(({ headers }) => headers?.last('h')?.value?.toString())).toEqual(['3']);
    const other = bench.restoredInto(
      new StoreBench(stores.keyValue({ ...text, headers: true }), setup),
    );
    expect(other.getEntry('a')).toEqual(kept);
  });
});

describe('LRU store', () => {
  const open = (timestamped: boolean): StoreBench<Store> =>
    new StoreBench(stores.lru({ ...text, caching: false, timestamped, maxEntries: 2 }), {
      type: 'inMemory',
      cacheBytes: 0,
    });

  it('keeps the keys that were got or put last', () => {
    const { store } = open(true);
    store.put('a', '1', 1);
    store.put('b', '2', 2);
    expect(store.get('a')).toBe('1');
    store.put('c', '3', 3);
    expect([...store.all()].map(({ key: k }) => k)).toEqual(['a', 'c']);
    store.put('a', null, 4);
    store.put('b', '4', 5);
    expect([...store.all()].map(({ key: k }) => k)).toEqual(['b', 'c']);
  });

  it('writes a tombstone for a key that it forgets only if it is a plain one, and restores alike', () => {
    for (const [timestamped, tombstones] of [
      [true, []],
      [false, ['61']],
    ] as const) {
      const bench = open(timestamped);
      for (const [at, k] of ['a', 'b', 'c'].entries()) bench.store.put(k, k, at);
      const written = bench.changelog.filter(({ value }) => value === null);
      expect(written.map(({ key: k }) => k?.toString('hex'))).toEqual(tombstones);
      const other = bench.restoredInto(open(timestamped));
      expect([...other.all()]).toEqual([...bench.store.all()]);
    }
  });
});
