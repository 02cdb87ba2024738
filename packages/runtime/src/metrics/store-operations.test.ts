import { describe, expect, it } from 'vitest';
import { timeStore } from './store-operations.ts';

/** Each call takes as many ms as its name has letters. */
class SlowStore {
  readonly clock = { nowMs: 0, monotonicMs: () => this.clock.nowMs };
  readonly #rows = new Map<string, number>();

  put(key: string, value: number): void {
    this.clock.nowMs += 3;
    this.#rows.set(key, value);
  }

  putAll(rows: Iterable<[string, number]>): void {
    for (const [key, value] of rows) this.put(key, value);
  }

  get(key: string): number | null {
    this.clock.nowMs += 3;
    const value = this.#rows.get(key);
    if (value === undefined) throw new Error('no such key');
    return value;
  }

  *all(): IterableIterator<number> {
    for (const value of this.#rows.values()) {
      this.clock.nowMs += 1;
      yield value;
    }
  }
}

describe('timeStore', () => {
  it('counts and times calls, those that fail as well, under Kafka Streams’ names', () => {
    const store = new SlowStore();
    const { operations } = timeStore(store, store.clock);
    expect([...operations.keys()].sort()).toEqual(['all', 'get', 'put', 'put-all']);
    store.put('a', 1);
    expect(store.get('a')).toBe(1);
    expect(() => store.get('b')).toThrow('no such key');
    expect(operations.get('get')).toMatchObject({ count: 2 });
    expect(operations.get('get')?.latency.max).toBe(3_000_000);
    expect(operations.get('put')).toMatchObject({ count: 1 });
  });

  it('counts what a store calls of itself with the call that it belongs to', () => {
    const store = new SlowStore();
    const { operations } = timeStore(store, store.clock);
    store.putAll([
      ['a', 1],
      ['b', 2],
    ]);
    expect(operations.get('put-all')).toMatchObject({ count: 1 });
    expect(operations.get('put-all')?.latency.average).toBe(6_000_000);
    expect(operations.get('put')).toMatchObject({ count: 0 });
  });

  it('times iterators from the call to their end, which may come early', () => {
    const store = new SlowStore();
    const { operations, iterators } = timeStore(store, store.clock);
    store.putAll([
      ['a', 1],
      ['b', 2],
    ]);
    expect([...store.all()]).toEqual([1, 2]);
    for (const value of store.all()) if (value === 1) break;
    expect(operations.get('all')).toMatchObject({ count: 2 });
    expect(iterators?.max).toBe(2_000_000);
    expect(iterators?.min).toBe(1_000_000);
    expect(operations.get('all')?.latency.average).toBe(1_500_000);
  });

  it('leaves the store as it was', () => {
    const store = new SlowStore();
    const { operations, stop } = timeStore(store, store.clock);
    stop();
    store.put('a', 1);
    expect(operations.get('put')).toMatchObject({ count: 0 });
    expect(Object.keys(store)).toEqual(['clock']);
  });
});
