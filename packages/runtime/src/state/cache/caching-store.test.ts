import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { TaskDouble } from '../../operators/testing-support/task-double.ts';
import { serdes } from '../../serdes/serdes.ts';
import type { Windowed } from '../../serdes/windowed-key.ts';
import { isCachedStore, type CachedStore } from '../cached-store.ts';
import type { KeyValueStore } from '../key-value-store.ts';
import { stores } from '../stores.ts';
import { settingsOf, StoreBench } from '../testing-support/store-bench.ts';
import type { WindowStore } from '../window-store.ts';

const UNBOUNDED = 1_000_000;
const text = { key: serdes.string(), value: serdes.string(), caching: true } as const;
type Store = KeyValueStore<string, string>;

/** A cached store whose changes are told, as `key=value@timestamp`, with the old value where there is one. */
function open(cacheBytes: number, { sendsOldValues = false, isAsynchronous = false } = {}) {
  const builder = stores.keyValue({ ...text, name: 's' });
  const bench = new StoreBench(builder, { type: 'inMemory', cacheBytes });
  const cached = cachedOf<string>(bench.store);
  const told: string[] = [];
  const forward = (
    key: string,
    value: string | null,
    old: string | null,
    timestamp: number,
  ): void => {
    const { origin } = bench.caching;
    const change = old === null ? String(value) : `${old}->${String(value)}`;
    told.push(`${key}=${change}@${String(timestamp)} from ${String(origin?.offset)}`);
  };
  cached.setFlushListener((key, value, old, timestamp) => {
    if (!isAsynchronous) {
      forward(key, value, old, timestamp);
      return undefined;
    }
    return Promise.resolve().then(() => {
      forward(key, value, old, timestamp);
    });
  }, sendsOldValues);
  return { bench, store: bench.store, cached, told };
}

function cachedOf<K>(store: object): CachedStore<K, string> {
  if (!isCachedStore(store as Store)) throw new Error('not cached');
  return store as CachedStore<K, string>;
}

/** One row of key and value of one character each, with an empty topic name and no headers. */
const ROW_BYTES = 1 + 24 + (8 + 1) + 21;

describe('record cache', () => {
  it('counts bytes as Kafka Streams does', () => {
    const { bench, store } = open(UNBOUNDED);
    bench.caching.topic = '';
    store.put('a', '1', 1);
    expect(bench.caching.cache.bytes).toBe(ROW_BYTES);
    store.put('a', '22', 1);
    expect(bench.caching.cache.bytes).toBe(ROW_BYTES + 1);
    store.put('a', null, 1);
    expect(bench.caching.cache.bytes).toBe(ROW_BYTES - 9);
    bench.caching.topic = 'topic';
    store.put('a', '1', 1, new RecordHeaders().add('h', '12').add('n', null));
    expect(bench.caching.cache.bytes).toBe(ROW_BYTES + 'topic'.length + 'h12n'.length);
  });

  it('tells the last change of each key, the one written longest ago first', async () => {
    const { store, cached, told, bench } = open(UNBOUNDED);
    for (const [offset, [key, value]] of [
      ['a', '1'],
      ['b', '2'],
      ['a', '3'],
    ].entries()) {
      bench.caching.offset = BigInt(offset);
      store.put(key as string, value as string, 10 + offset);
    }
    expect(told).toEqual([]);
    expect(bench.changelog).toEqual([]);
    await cached.flush();
    expect(told).toEqual(['b=2@11 from 1', 'a=3@12 from 2']);
    expect(bench.task.takeSent()).toEqual([
      'test-s-changelog 62=32@11',
      'test-s-changelog 61=33@12',
    ]);
    expect(bench.caching.origin).toBeNull();
    await cached.flush();
    expect(told).toHaveLength(2);
  });

  it('sends the old value only if it is asked to', async () => {
    for (const [sendsOldValues, expected] of [
      [true, ['a=1@1 from 0', 'a=1->2@2 from 0']],
      [false, ['a=1@1 from 0', 'a=2@2 from 0']],
    ] as const) {
      const { store, cached, told } = open(UNBOUNDED, { sendsOldValues });
      store.put('a', '1', 1);
      await cached.flush();
      store.put('a', '1.5', 2);
      store.put('a', '2', 2);
      await cached.flush();
      expect(told).toEqual(expected);
    }
  });

  it('says nothing of a key that was not there before and is not there now', async () => {
    const { store, cached, told, bench } = open(UNBOUNDED);
    store.put('a', null, 1);
    store.put('b', '1', 1);
    store.put('b', null, 2);
    await cached.flush();
    expect(told).toEqual([]);
    expect(bench.changelog).toEqual([]);
    expect(bench.caching.cache.bytes).toBe(0);
    store.put('c', '1', 3);
    await cached.flush();
    store.put('c', null, 4);
    store.put('c', null, 5);
    await cached.flush();
    expect(told).toEqual(['c=1@3 from 0', 'c=null@5 from 0']);
  });

  it('lets go all that is dirty when the least recently used is, and it first', async () => {
    const { store, cached, told, bench } = open(3 * ROW_BYTES);
    bench.caching.topic = '';
    for (const key of ['a', 'b', 'c']) store.put(key, '1', 1);
    store.get('a');
    expect(cached.evict()).toBeUndefined();
    expect(told).toEqual([]);
    store.put('d', '1', 1);
    await cached.evict();
    expect(told.map((change) => change[0])).toEqual(['b', 'a', 'c', 'd']);
    // The rest stays as a copy, and makes room without a word.
    expect(bench.caching.cache.bytes).toBe(3 * ROW_BYTES);
    store.put('e', '1', 1);
    await cached.evict();
    expect(told).toHaveLength(4);
    expect(bench.caching.cache.bytes).toBe(3 * ROW_BYTES);
    for (const key of ['a', 'b', 'c', 'd', 'e']) expect(store.get(key)).toBe('1');
  });

  it('keeps what was read, but no more than fits', () => {
    const { store, cached, bench } = open(2 * ROW_BYTES);
    bench.caching.topic = '';
    for (const key of ['a', 'b', 'c', 'd']) {
      store.put(key, '1', 1);
      void cached.evict();
    }
    void cached.flush();
    for (const key of ['a', 'b', 'c', 'd', 'a']) expect(store.get(key)).toBe('1');
    expect(bench.caching.cache.bytes).toBe(2 * ROW_BYTES);
  });

  it('lets go at each write when it may hold nothing', async () => {
    const { store, cached, told, bench } = open(1);
    store.put('a', '1', 1);
    await cached.evict();
    store.put('a', '2', 2);
    await cached.evict();
    expect(told).toEqual(['a=1@1 from 0', 'a=2@2 from 0']);
    expect(bench.caching.cache.bytes).toBe(0);
  });

  it('waits for what is asynchronous below, and keeps the order', async () => {
    const { store, cached, told, bench } = open(2 * ROW_BYTES, { isAsynchronous: true });
    bench.caching.topic = '';
    for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) {
      bench.caching.offset = BigInt(at);
      store.put(key, '1', at);
    }
    const evicted = cached.evict();
    expect(told).toEqual([]);
    await evicted;
    expect(told).toEqual(['a=1@0 from 0', 'b=1@1 from 1', 'c=1@2 from 2', 'd=1@3 from 3']);
    expect(bench.caching.cache.bytes).toBe(2 * ROW_BYTES);
    store.put('e', '1', 4);
    await cached.flush();
    expect(told.at(-1)).toBe('e=1@4 from 3');
    expect(bench.caching.origin).toBeNull();
  });

  it('allows no commit after a failure: what was dirty is no longer known to be', async () => {
    for (const isAsynchronous of [false, true]) {
      const { store, cached, bench } = open(UNBOUNDED);
      const boom = new Error('boom');
      cached.setFlushListener((key) => {
        if (key !== 'a') return undefined;
        if (isAsynchronous) return Promise.reject(boom);
        throw boom;
      }, false);
      store.put('a', '1', 1);
      store.put('b', '1', 1);
      const flush = async (): Promise<void> => {
        await cached.flush();
      };
      await expect(flush()).rejects.toBe(boom);
      expect(bench.caching.origin).toBeNull();
      await expect(flush()).rejects.toBe(boom);
    }
  });

  it('takes what nodes below write to the same store while it lets go', async () => {
    const { store, cached } = open(UNBOUNDED);
    const told: string[] = [];
    cached.setFlushListener((key, value) => {
      told.push(`${key}=${String(value)}`);
      if (key === 'a') store.put('b', 'later', 9);
      return undefined;
    }, false);
    store.put('a', '1', 1);
    store.put('b', 'first', 1);
    await cached.flush();
    expect(told).toEqual(['a=1', 'b=first']);
    await cached.flush();
    expect(told).toEqual(['a=1', 'b=first', 'b=later']);
    expect(store.get('b')).toBe('later');
  });

  it('lets a store that writes make room of its own, not of others', async () => {
    const bench = open(3 * ROW_BYTES);
    bench.bench.caching.topic = '';
    const other = stores.keyValue({ ...text, name: 'other' }).bind(settingsOf('inMemory', 1))();
    other.open({ ...new TaskDouble().context, caching: bench.bench.caching }, null);
    const changed: string[] = [];
    cachedOf<string>(other).setFlushListener((key) => {
      changed.push(key);
      return undefined;
    }, false);
    bench.store.put('a', '1', 1);
    bench.store.put('b', '1', 1);
    other.put('x', '1', 1);
    other.put('y', '1', 1);
    await cachedOf<string>(other).evict();
    expect(changed).toEqual(['x', 'y']);
    expect(bench.told).toEqual([]);
    bench.store.close();
    other.close();
    expect(bench.bench.caching.cache.bytes).toBe(0);
  });

  it('serves windows alike', async () => {
    const builder = stores.window({ ...text, name: 'w', retention: 1000, windowSize: 10 });
    const bench = new StoreBench(builder, { type: 'persistent', cacheBytes: UNBOUNDED });
    const store: WindowStore<string, string> = bench.store;
    bench.caching.topic = '';
    const cached = cachedOf<Windowed<string>>(store);
    const told: string[] = [];
    cached.setFlushListener((key, value, old, timestamp) => {
      told.push(`${key.toString()}=${String(old)}->${String(value)}@${String(timestamp)}`);
      return undefined;
    }, true);
    store.put('a', '1', 10, 11);
    // Segment, window start and sequence number beside the key.
    expect(bench.caching.cache.bytes).toBe(ROW_BYTES + 20);
    store.put('a', '2', 20, 21);
    store.put('a', '3', 10, 12);
    await cached.flush();
    store.put('a', null, 20, 22);
    store.put('b', null, 20, 22);
    await cached.flush();
    expect(told).toEqual(['[a@20/30]=null->2@21', '[a@10/20]=null->3@12', '[a@20/30]=2->null@22']);
  });
});
