import { RecordHeaders } from '@millrace/protocol';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import { Windowed } from '../serdes/windowed-key.ts';
import { isFlushedStore } from './cached-store.ts';
import type { SessionEntry, SessionStore } from './session-store.ts';
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

// So few that every bound is met by a handful of rows.
vi.mock('./limits.ts', async (original) => ({
  ...(await original<typeof import('./limits.ts')>()),
  CLEAN_ROWS_MAX_BYTES: 600,
  SPILL_SLICE_ROWS: 2,
  WALK_FIRST_ROWS: 2,
  WALK_ROWS: 3,
  SESSION_LISTS_MAX_ENTRIES: 6,
}));

afterEach(disposeBenches);

type Store = SessionStore<string, string>;
interface Row {
  readonly key: string;
  readonly start: number;
  readonly end: number;
  readonly value: string;
  readonly header: string | null;
}

/** How the store is built, beside its type and cache. */
interface Variant {
  readonly headers: boolean;
  readonly timeOrdered: boolean;
}

const text = { name: 's', key: serdes.string(), value: serdes.string(), caching: true } as const;
/** Nothing expires, several segments. */
const LONG_MS = 150_000;
const PLAIN: Variant = { headers: false, timeOrdered: false };

const builder = (retention: number, variant = PLAIN): StoreBuilder<Store> =>
  stores.session({ ...text, ...variant, retention });

/** Keys whose bytes mix with those of a session when one key begins with another. */
const key = fc.oneof(
  fc.constant('a'),
  fc.constantFrom('', 'a', 'a\u0000', 'a\u0000\u0000\u0000', 'ab', 'b', 'z'),
);
const time = fc.oneof(
  { weight: 3, arbitrary: fc.nat(40) },
  { arbitrary: fc.nat(LONG_MS - 1), weight: 1 },
);
/** Often with the same end as others, or the same start. */
const session = fc
  .tuple(time, fc.oneof(fc.constant(0), fc.nat(30), fc.nat(LONG_MS - 1)))
  .map(([end, lengthMs]) => ({ start: Math.max(0, end - lengthMs), end }));
const bounds = { key, last: fc.option(key), from: time, to: time, backward: fc.boolean() };
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      key,
      session,
      value: fc.option(fc.constantFrom('1', '22', 'long '.repeat(20))),
      header: fc.option(fc.constantFrom('x', 'y')),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), key, session }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get' as const), key, session }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      how: fc.constantFrom<Settling>('commit', 'commit', 'spill', 'spill', 'reopen'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('find' as const, 'range' as const, 'byEnd' as const, 'fetch' as const),
      ...bounds,
    }),
  },
);
type Question = Extract<typeof command extends fc.Arbitrary<infer C> ? C : never, { from: number }>;

const idOf = (row: { key: string; start: number; end: number }): string =>
  JSON.stringify([row.key, row.start, row.end]);

const bytesOf = (...times: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(8 * times.length);
  for (const [at, ms] of times.entries()) bytes.writeBigInt64BE(BigInt(ms), 8 * at);
  return bytes;
};
const rowBytes = ({ key: k, start, end }: Row): Buffer =>
  Buffer.concat([Buffer.from(k), bytesOf(end, start)]);
const byKey = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const inMemoryOrder = (a: Row, b: Row): number =>
  a.end - b.end || byKey(a.key, b.key) || b.start - a.start;

/** In the order in which Kafka Streams' store of the type iterates. */
function ordered(rows: Iterable<Row>, { type }: StoreSetup, retentionMs: number): Row[] {
  if (type === 'inMemory') return [...rows].sort(inMemoryOrder);
  const segmentMs = windowSegmentMs(retentionMs);
  const segment = ({ end }: Row): number => Math.floor(end / segmentMs);
  return [...rows].sort(
    (a, b) => segment(a) - segment(b) || Buffer.compare(rowBytes(a), rowBytes(b)),
  );
}

function orderedByEnd(rows: Iterable<Row>, { type }: StoreSetup): Row[] {
  if (type === 'inMemory') return [...rows].sort(inMemoryOrder);
  return [...rows].sort((a, b) => a.end - b.end || a.start - b.start || byKey(a.key, b.key));
}

const shown = ({ key: windowed, value, headers }: SessionEntry<string, string>): Row => {
  const [first] = headers ?? [];
  const header = first === undefined ? null : String(first.value);
  return { key: windowed.key, start: windowed.start, end: windowed.end, value, header };
};
const rowsOf = (entries: Iterable<SessionEntry<string, string>>): Row[] => [...entries].map(shown);
const allOf = (store: Store): Row[] => rowsOf(store.fetchRange(null, null));

function ask(store: Store, question: Question): Row[] {
  const { do: name, key: first, last, from, to, backward } = question;
  switch (name) {
    case 'find':
      return rowsOf(store[backward ? 'backwardFindSessions' : 'findSessions'](first, from, to));
    case 'range':
      return rowsOf(
        store[backward ? 'backwardFindSessionsRange' : 'findSessionsRange'](first, last, from, to),
      );
    case 'fetch':
      return last === null
        ? rowsOf(store[backward ? 'backwardFetch' : 'fetch'](first))
        : rowsOf(store[backward ? 'backwardFetchRange' : 'fetchRange'](first, last));
    case 'byEnd':
      return rowsOf(store.findSessionsByEnd(from, to));
  }
}

function expected(all: readonly Row[], question: Question, setup: StoreSetup): Row[] {
  const { do: name, key: first, last, from, to, backward } = question;
  if (name === 'byEnd') {
    return orderedByEnd(
      all.filter(({ end }) => end >= from && end <= to),
      setup,
    );
  }
  const isOne = name === 'find' || (name === 'fetch' && last === null);
  const rows = all.filter((row) => {
    if (isOne ? row.key !== first : byKey(row.key, first) < 0) return false;
    if (!isOne && last !== null && byKey(row.key, last) > 0) return false;
    return name === 'fetch' || (row.end >= from && row.start <= to);
  });
  return backward ? rows.reverse() : rows;
}

async function flush(store: Store): Promise<void> {
  if (isFlushedStore(store)) await store.flush();
}

function put(store: Store, row: Omit<Row, 'value'> & { value: string | null }): void {
  const headers = new RecordHeaders();
  if (row.header !== null) headers.add('h', row.header);
  store.put(new Windowed(row.key, row.start, row.end), row.value, 7, headers);
}

const variants: readonly (readonly [string, StoreSetup, Variant])[] = setups.flatMap(
  ([name, setup]) => [
    [name, setup, PLAIN] as const,
    [`${name}, with headers, time-ordered`, setup, { headers: true, timeOrdered: true }] as const,
  ],
);

describe.each(variants)('session store: %s', (_name, setup, variant) => {
  const open = (retentionMs: number): StoreBench<Store> =>
    new StoreBench(builder(retentionMs, variant), setup);
  const kept = (row: Row): Row => (variant.headers ? row : { ...row, header: null });

  it('equals a list of sessions under any sequence of writes, reads and flushes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
        const bench = open(LONG_MS);
        const { store } = bench;
        const model = new Map<string, Row>();
        const all = (): Row[] => ordered(model.values(), setup, LONG_MS);
        for (const c of commands) {
          if (c.do === 'put') {
            const { key: k, value, header } = c;
            const row = { key: k, ...c.session, value, header };
            put(store, row);
            if (value === null) model.delete(idOf(row));
            else model.set(idOf(row), kept({ ...row, value }));
          } else if (c.do === 'remove') {
            const { start, end } = c.session;
            store.remove(new Windowed(c.key, start, end), 8);
            model.delete(idOf({ key: c.key, start, end }));
          } else if (c.do === 'get') {
            const { start, end } = c.session;
            const found = model.get(idOf({ key: c.key, start, end }));
            expect(store.fetchSession(c.key, start, end)).toBe(found?.value ?? null);
          } else if (c.do === 'flush') {
            await flush(store);
          } else if (c.do === 'settle') {
            await bench.settle(c.how);
          } else {
            expect(ask(store, c)).toEqual(expected(all(), c, setup));
          }
          await bench.stepped();
        }
        expect(allOf(store)).toEqual(all());
        expect(rowsOf(store.backwardFetchRange(null, null))).toEqual(all().reverse());
        await flush(store);
        expect(allOf(store)).toEqual(all());
        for (const { key: k, start, end, value } of all()) {
          expect(store.fetchSession(k, start, end)).toBe(value);
        }
        expect(allOf(bench.restoredInto(open(LONG_MS)))).toEqual(all());
      }),
      { numRuns: runsOf(setup, 60) },
    );
  });

  it('finds a session that began before others which end earlier', async () => {
    const { store } = open(LONG_MS);
    for (const [start, end] of [
      [110, 112],
      [500, 600],
      [0, 700],
    ] as const) {
      put(store, { key: 'a', start, end, value: 'v', header: null });
    }
    const starts = (): number[] => [...store.findSessions('a', 105, 120)].map((e) => e.key.start);
    expect(starts()).toEqual([110, 0]);
    await flush(store);
    expect(starts()).toEqual([110, 0]);
  });

  it('goes on through a fetch, in order, whatever is written meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 30 }),
        fc.constantFrom('all' as const, 'key' as const, 'end' as const, 'backward' as const),
        async (commands, how) => {
          const bench = open(LONG_MS);
          const { store } = bench;
          for (const k of ['a', 'ab', 'z']) {
            for (const end of [0, 20, 70_000, 90_000]) {
              put(store, { key: k, start: Math.max(0, end - 5), end, value: k, header: null });
            }
          }
          await flush(store);
          await bench.settle('commit');
          const left = [...commands];
          const seen: Row[] = [];
          const walks = {
            all: () => store.fetchRange(null, null),
            key: () => store.fetch('a'),
            end: () => store.findSessionsByEnd(0, LONG_MS),
            backward: () => store.backwardFetchRange(null, null),
          };
          for (const entry of walks[how]()) {
            seen.push(shown(entry));
            const next = left.pop();
            if (next?.do === 'put') put(store, { ...next, ...next.session });
            if (next?.do === 'flush') await flush(store);
            if (next?.do === 'settle' && next.how !== 'reopen') await bench.settle(next.how);
            await bench.stepped();
          }
          const inOrder = how === 'end' ? orderedByEnd(seen, setup) : ordered(seen, setup, LONG_MS);
          expect(seen).toEqual(how === 'backward' ? inOrder.reverse() : inOrder);
          expect(new Set(seen.map(idOf)).size).toBe(seen.length);
        },
      ),
      { numRuns: runsOf(setup, 30) },
    );
  });

  it('goes on through a fetch while what it reads is written to disk', async () => {
    const bench = open(LONG_MS);
    const ends = Array.from({ length: 40 }, (_, i) => i * 3_000);
    for (const end of ends) {
      put(bench.store, { key: 'a', start: end, end, value: 'v', header: null });
    }
    await flush(bench.store);
    await bench.settle('commit');
    for (const walk of [bench.store.fetch('a'), bench.store.findSessionsByEnd(0, LONG_MS)]) {
      const seen: number[] = [];
      for (const { key: windowed } of walk) {
        seen.push(windowed.end);
        if (seen.length === 3) await bench.spilled();
      }
      expect(seen).toEqual(ends);
    }
  });

  it('finds no expired session once it was let go, whatever came in which order', async () => {
    const retentionMs = 100;
    const segmentMs = windowSegmentMs(retentionMs);
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            key,
            end: fc.oneof(fc.nat(400), fc.nat(300_000)),
            lengthMs: fc.nat(200),
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
          for (const { key: k, end, lengthMs, how } of writes) {
            const start = Math.max(0, end - lengthMs);
            const row = { key: k, start, end, value: String(observed), header: null };
            put(store, row);
            observed = Math.max(observed, end);
            written.set(idOf(row), row);
            if (how !== null) await bench.settle(how);
            await bench.stepped();
            for (const other of [...written.values()].slice(-3)) {
              const found = store.fetchSession(other.key, other.start, other.end);
              expect(found).toBe(other.end > observed - retentionMs ? other.value : null);
            }
          }
          await flush(store);
          const rows = [...written.values()];
          const limit = observed - retentionMs;
          const live = rows.filter(({ end }) => end > limit);
          expect(allOf(store)).toEqual(ordered(live, setup, retentionMs));
          for (const k of new Set(rows.map((row) => row.key))) {
            const ofKey = live.filter((row) => row.key === k);
            expect(rowsOf(store.fetch(k))).toEqual(ordered(ofKey, setup, retentionMs));
          }
          // By end a persistent store shows what it has: whole segments.
          const dead =
            setup.type === 'inMemory' ? limit : Math.floor(limit / segmentMs) * segmentMs - 1;
          expect(rowsOf(store.findSessionsByEnd(0, 400_000))).toEqual(
            orderedByEnd(
              rows.filter(({ end }) => end > dead),
              setup,
            ),
          );
        },
      ),
      { numRuns: runsOf(setup, 60) },
    );
  });

  it('drops a write that its type takes for too late, and writes it to the changelog all the same', async () => {
    const bench = open(60_000);
    const { store, task } = bench;
    const at = (end: number): Windowed<string> => new Windowed('a', end - 10, end);
    store.put(at(200_000), '1', 1);
    // Expired, but its segment (of a minute) still lives in a persistent store.
    store.put(at(125_000), '2', 2);
    store.put(at(110_000), '3', 3);
    store.put(at(100_000), null, 4);
    await flush(store);
    expect(task.dropped).toHaveLength(setup.type === 'persistent' ? 2 : 3);
    expect(task.dropped[0]).toBe('s: the session store no longer keeps its session');
    expect(bench.changelog).toHaveLength(4);
    // What is removed is never too late.
    store.remove(at(90_000), 5);
    await flush(store);
    if (setup.cacheBytes === 0)
      expect(task.dropped).toHaveLength(setup.type === 'persistent' ? 2 : 3);
    expect(bench.changelog).toHaveLength(5);
  });

  it('finds nothing in a range that ends before it begins, and warns', () => {
    const warn = vi.fn();
    const bench = open(LONG_MS);
    Object.assign(bench.task.context.logger, { warn });
    put(bench.store, { key: 'a', start: 0, end: 1, value: '1', header: null });
    expect([...bench.store.findSessionsRange('b', 'a', 0, 9)]).toEqual([]);
    expect([...bench.store.backwardFetchRange('b', 'a')]).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(2);
    expect(warn.mock.calls[0]?.[0]).toEqual({ store: 's' });
    expect([...bench.store.fetchRange('a', 'a')]).toHaveLength(1);
    expect(warn).toHaveBeenCalledTimes(2);
  });
});

describe('a cache before a session store', () => {
  it('shows what it has now, not what the store had when the walk began', async () => {
    for (const type of ['inMemory', 'persistent'] as const) {
      const { store } = new StoreBench(builder(LONG_MS), { type, cacheBytes: 10_000 });
      const last = new Windowed('a', 4, 5);
      store.put(new Windowed('a', 0, 1), '1', 1);
      store.put(new Windowed('a', 2, 3), '2', 1);
      store.put(last, 'old', 1);
      await flush(store);
      store.remove(last, 2);
      const walks = [() => store.fetch('a'), () => store.fetchRange(null, null)];
      for (const walk of walks) {
        const seen: string[] = [];
        for (const { value } of walk()) {
          seen.push(value);
          store.put(last, 'new', 3);
        }
        expect(seen).toEqual(['1', '2', 'new']);
        store.remove(last, 4);
      }
    }
  });

  it('finds an expired session as long as it keeps it, as in Kafka Streams', async () => {
    const { store } = new StoreBench(builder(100), { type: 'persistent', cacheBytes: 10_000 });
    store.put(new Windowed('a', 0, 0), '1', 1);
    await flush(store);
    store.put(new Windowed('b', 400, 500), '2', 501);
    await flush(store);
    expect(store.fetchSession('a', 0, 0)).toBe('1');
    expect(allOf(store).map(({ end }) => end)).toEqual([0, 500]);
    expect(rowsOf(store.fetch('a'))).toHaveLength(1);
  });
});

const uncached = diskSetups.filter(([, { cacheBytes }]) => cacheBytes === 0);

describe.each([...memorySetups.filter(([, { cacheBytes }]) => cacheBytes === 0), ...uncached])(
  'restored sessions: %s',
  (_name, setup) => {
    it('expire as others do (faust-streaming/faust#385)', async () => {
      const hourMs = 3_600_000;
      const first = new StoreBench(builder(hourMs), setup);
      for (let i = 0; i < 500; i++) {
        first.store.put(new Windowed('a', i * 600_000, i * 600_000), String(i), 1);
      }
      const bench = new StoreBench(builder(hourMs), setup);
      const store = first.restoredInto(bench);
      await bench.settle('commit');
      await bench.spilled();
      const left = ['494', '495', '496', '497', '498', '499'];
      expect(rowsOf(store.fetch('a')).map(({ value }) => value)).toEqual(left);
      const later = 499 * 600_000 + 2 * hourMs;
      store.put(new Windowed('b', later, later), null, 2);
      expect(rowsOf(store.fetch('a'))).toEqual([]);
      await bench.settle('commit');
      await bench.spilled();
      await bench.settle('reopen');
      expect(allOf(store)).toEqual([]);
    });
  },
);

describe.each(uncached)('a session store: %s', (_name, setup) => {
  const numbers = (bench: StoreBench<Store>, prefix: string): number[] =>
    bench.environment
      .tableNames(prefix)
      .map((name) => Number(name.slice(prefix.length)))
      .filter((number) => !Number.isNaN(number))
      .sort((a, b) => a - b);

  it('drops whole segments once they have expired, also those that it finds when it is opened', async () => {
    const bench = new StoreBench(builder(120_000, { headers: false, timeOrdered: true }), setup);
    const { store } = bench;
    for (let end = 0; end <= 600_000; end += 30_000) {
      store.put(new Windowed('a', end, end), String(end), end);
      await bench.settle('commit');
      await bench.spilled();
    }
    expect(numbers(bench, 's/')).toEqual([8, 9, 10]);
    expect(numbers(bench, 's/by-end/')).toEqual([8, 9, 10]);
    await bench.settle('reopen');
    expect(allOf(store).map((row) => row.start)).toEqual([510_000, 540_000, 570_000, 600_000]);
    // No record since: what was observed is known all the same.
    store.put(new Windowed('a', 0, 420_000), 'late', 1);
    expect(bench.task.dropped).toHaveLength(1);
    expect(store.fetchSession('a', 480_000, 480_000)).toBeNull();
    store.put(new Windowed('a', 0, 490_000), 'late', 1);
    expect(store.fetchSession('a', 0, 490_000)).toBe('late');
  });

  it('takes no room on disk for segments that come and go between two commits', async () => {
    const bench = new StoreBench(builder(60_000), setup);
    for (let segment = 0; segment < 500; segment++) {
      bench.store.put(new Windowed('a', 0, segment * 60_000), String(segment), 1);
    }
    await bench.settle('commit');
    await bench.spilled();
    expect(numbers(bench, 's/')).toEqual([498, 499]);
    expect(allOf(bench.store).map(({ value }) => value)).toEqual(['499']);
  });

  it('keeps no rows of sessions that grew', async () => {
    const bench = new StoreBench(builder(LONG_MS, { headers: false, timeOrdered: true }), setup);
    for (let end = 0; end < 50; end++) {
      if (end > 0) bench.store.remove(new Windowed('a', 0, end - 1), end);
      bench.store.put(new Windowed('a', 0, end), 'v', end);
      if (end % 10 === 0) await bench.settle('commit');
      if (end % 20 === 0) await bench.spilled();
    }
    await bench.settle('commit');
    await bench.spilled();
    for (const table of ['s/0', 's/by-end/0']) {
      expect(bench.environment.table(table).rowCount).toBe(1);
    }
    expect(allOf(bench.store)).toHaveLength(1);
  });

  it('goes on with an index by end that it did not have, or not all the time', async () => {
    const bench = new StoreBench(builder(LONG_MS), setup);
    const ends = (): number[] =>
      rowsOf(bench.store.findSessionsByEnd(10, 90_000)).map((row) => row.end);
    const write = async (end: number): Promise<void> => {
      bench.store.put(new Windowed('a', 0, end), 'v', 1);
      await bench.settle('commit');
      await bench.spilled();
    };
    await write(20);
    await write(80_000);
    for (const end of [30, 40]) {
      await bench.rebuilt(builder(LONG_MS, { headers: false, timeOrdered: true }));
      await write(end);
      await bench.settle('reopen');
      expect(numbers(bench, 's/by-end/')).toEqual([0, 1]);
      await bench.rebuilt(builder(LONG_MS));
      await write(end + 1);
      expect(numbers(bench, 's/by-end/')).toEqual([]);
    }
    await bench.rebuilt(builder(LONG_MS, { headers: false, timeOrdered: true }));
    expect(ends()).toEqual([20, 30, 31, 40, 41, 80_000]);
  });
});
