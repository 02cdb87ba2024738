import { BatchBuilder, RecordBatch, RecordCursor } from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { TaskDouble } from '../../operators/testing-support/task-double.ts';
import { serdes } from '../../serdes/serdes.ts';
import { bytesSerde } from '../../serdes/simple.ts';
import { longSerde } from '../../serdes/numbers.ts';
import { WindowTable } from '../rows/window-table.ts';
import type { WindowEntry } from '../window-store.ts';
import { InMemoryWindowStore } from './in-memory-window-store.ts';

function open(retentionMs: number, sizeMs = 10) {
  const task = new TaskDouble();
  const store = new InMemoryWindowStore<string, number>('w', serdes.string(), serdes.long(), {
    retentionMs,
    windowSizeMs: sizeMs,
  });
  return { task, store: task.open(store) };
}

function restoreInto(store: InMemoryWindowStore<string, number>, { sent }: TaskDouble): void {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 16 });
  for (const { key, value, timestamp, headers } of sent) {
    builder.appendBytes(timestamp, key, value, headers);
  }
  const cursor = new RecordCursor();
  cursor.open(new RecordBatch(Buffer.from(builder.build())));
  while (cursor.next()) store.restore(cursor);
}

const texts = (entries: Iterable<WindowEntry<string, number>>): string[] =>
  [...entries].map(({ key, value }) => `${key.key}@${String(key.start)}=${String(value)}`);

describe('in-memory window store', () => {
  it('gets, replaces and deletes by key and window start, with timestamps', () => {
    const { store } = open(100);
    store.put('a', 1, 0, 3);
    store.put('a', 2, 10, 12);
    store.put('a', 3, 0, 9);
    expect(store.get('a', 0)).toBe(3);
    expect(store.foundTimestamp).toBe(9);
    expect(store.get('a', 5)).toBeNull();
    expect(store.foundTimestamp).toBe(-1);
    store.put('a', null, 0, 13);
    expect(store.get('a', 0)).toBeNull();
    expect(store.get('a', 10)).toBe(2);
    expect([...store.all()][0]?.key).toMatchObject({ key: 'a', start: 10, end: 20 });
  });

  it("fetches a key's windows by time, forwards and backwards", () => {
    const { store } = open(1000);
    for (const start of [30, 10, 20, 40]) store.put('a', start, start, start);
    store.put('b', 1, 20, 20);
    expect(texts(store.fetch('a', 15, 30))).toEqual(['a@20=20', 'a@30=30']);
    expect(texts(store.backwardFetch('a', 15, 30))).toEqual(['a@30=30', 'a@20=20']);
    expect(texts(store.fetch('x', 0, 99))).toEqual([]);
  });

  it('fetches all by start, then by key bytes', () => {
    const { store } = open(1000);
    for (const key of ['b', 'é', 'a']) for (const start of [20, 10]) store.put(key, 1, start, 1);
    expect(texts(store.fetchAll(10, 15))).toEqual(['a@10=1', 'b@10=1', 'é@10=1']);
    expect(texts(store.all())).toHaveLength(6);
  });

  it('expires a window once its start is at or below observed stream time - retention', () => {
    const { task, store } = open(100);
    store.put('a', 1, 0, 0);
    store.put('a', 2, 99, 99);
    expect(store.get('a', 0)).toBe(1);
    store.put('b', 3, 100, 100);
    expect(store.get('a', 0)).toBeNull();
    expect(texts(store.all())).toEqual(['a@99=2', 'b@100=3']);
    expect(texts(store.fetch('a', 0, 1000))).toEqual(['a@99=2']);
    task.takeSent();
    store.put('c', 4, 0, 101);
    expect(task.dropped).toEqual(['w: the window store no longer keeps its window']);
    expect(store.get('c', 0)).toBeNull();
    // The changelog has it all the same, as Kafka's has.
    expect(task.takeSent()).toEqual([
      'w-changelog 63000000000000000000000000=0000000000000004@101',
    ]);
  });

  it('forgets expired windows, and keys without windows', () => {
    const { store } = open(80);
    for (let start = 0; start < 10_000; start++) store.put(`k${String(start % 97)}`, 1, start, 1);
    expect([...store.all()]).toHaveLength(80);
    store.put('last', 1, 1_000_000, 1);
    expect(texts(store.all())).toEqual(['last@1000000=1']);
  });

  it('restores from its changelog, observed stream time included', () => {
    const source = open(100);
    source.store.put('a', 1, 0, 3);
    source.store.put('a', 2, 50, 53);
    source.store.put('b', 3, 120, 125);
    source.store.put('a', null, 50, 126);
    const { task, store } = open(100);
    restoreInto(store, source.task);
    expect([...store.all()]).toEqual([...source.store.all()]);
    expect(store.get('b', 120)).toBe(3);
    expect(store.foundTimestamp).toBe(125);
    expect(task.sent).toEqual([]);
    store.put('c', 1, 20, 130);
    expect(task.dropped).toHaveLength(1);
  });

  it('equals a list of windows under any sequence of reads, writes and restored records', () => {
    const operation = fc.record({
      do: fc.constantFrom('put', 'put', 'add', 'get', 'fetch', 'all', 'restore' as const),
      key: fc.constantFrom('a', 'ab', 'c'),
      start: fc.nat(120),
      value: fc.option(fc.nat(9)),
    });
    fc.assert(
      fc.property(
        fc.array(operation, { maxLength: 80 }),
        fc.integer({ min: 1, max: 60 }),
        (operations, retention) => {
          const { store } = open(retention);
          const model = new Map<string, { key: string; start: number; value: number }>();
          let observed = -1;
          const idOf = (key: string, start: number): string => `${key}@${String(start)}`;
          const expected = (keep: (key: string) => boolean): string[] =>
            [...model.values()]
              .filter(({ key }) => keep(key))
              .sort((a, b) => a.start - b.start || (a.key < b.key ? -1 : 1))
              .map(({ key, start, value }) => `${idOf(key, start)}=${String(value)}`);
          const get = (key: string, start: number): number | null => {
            const found = store.get(key, start);
            expect(found).toBe(model.get(idOf(key, start))?.value ?? null);
            return found;
          };
          for (const { do: what, key, start, value: given } of operations) {
            if (what === 'get') get(key, start);
            if (what === 'fetch') {
              const found = texts(store.fetch(key, 0, 120));
              expect(found).toEqual(expected((other) => other === key));
              expect(texts(store.backwardFetch(key, 0, 120))).toEqual(found.reverse());
            }
            if (what === 'all') expect(texts(store.all())).toEqual(expected(() => true));
            if (what !== 'put' && what !== 'add' && what !== 'restore') continue;
            const value = what === 'add' ? (get(key, start) ?? 0) + 1 : given;
            if (what === 'restore') {
              const source = open(retention);
              source.store.put(key, value, start, 1);
              restoreInto(store, source.task);
            } else {
              store.put(key, value, start, 1);
            }
            observed = Math.max(observed, start);
            if (start > observed - retention) {
              if (value === null) model.delete(idOf(key, start));
              else model.set(idOf(key, start), { key, start, value });
            }
            for (const [other, window] of model) {
              if (window.start <= observed - retention) model.delete(other);
            }
          }
          expect(texts(store.all())).toEqual(expected(() => true));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('looks up a changed key anew, though it is the same object', () => {
    const task = new TaskDouble();
    const store = task.open(
      new InMemoryWindowStore<Uint8Array, number>('w', bytesSerde as never, longSerde as never, {
        retentionMs: 100,
        windowSizeMs: 10,
      }),
    );
    const key = Buffer.from('a');
    expect(store.get(key, 0)).toBeNull();
    key[0] = 98;
    store.put(key, 1, 0, 1);
    expect(store.get(Buffer.from('b'), 0)).toBe(1);
    expect(store.get(Buffer.from('a'), 0)).toBeNull();
    expect([...store.fetch(key, 0, 10)].map((entry) => entry.key.key)).toEqual([Buffer.from('b')]);
  });

  it('goes through a retention of windows without a row being touched for its expiry', () => {
    const { store } = open(20);
    const remove = vi.spyOn(WindowTable.prototype, 'remove');
    const tables = new Set<unknown>();
    const add = vi.spyOn(WindowTable.prototype, 'add');
    for (let start = 0; start < 1_000; start += 10) {
      for (let i = 0; i < 50; i++) store.put(`k${String(i)}`, i, start, start);
    }
    for (const table of add.mock.contexts) tables.add(table);
    expect(add).toHaveBeenCalledTimes(5_000);
    expect(remove).not.toHaveBeenCalled();
    expect(tables.size).toBeLessThanOrEqual(3);
    expect([...store.all()]).toHaveLength(100);
    vi.restoreAllMocks();
  });
});
