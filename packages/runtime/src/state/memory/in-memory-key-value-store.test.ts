import { BatchBuilder, RecordBatch, RecordCursor } from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TaskDouble } from '../../operators/testing-support/task-double.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { serdes } from '../../serdes/serdes.ts';
import type { KeyValueEntry } from '../key-value-store.ts';
import { BigMap } from './big-map.ts';
import { InMemoryKeyValueStore } from './in-memory-key-value-store.ts';

function open<K, V>(key: RecordSerde<K>, value: RecordSerde<V>) {
  const task = new TaskDouble();
  return { task, store: task.open(new InMemoryKeyValueStore<K, V>('s', key, value)) };
}

const keysOf = <K>(entries: Iterable<KeyValueEntry<K, unknown>>): K[] =>
  [...entries].map(({ key }) => key);

describe('in-memory key-value store', () => {
  it('gets, replaces and deletes, with timestamps', () => {
    const { store } = open(serdes.string(), serdes.long());
    expect(store.get('a')).toBeNull();
    expect(store.foundTimestamp).toBe(-1);
    store.put('a', 1, 10);
    store.put('a', 2, 5);
    expect(store.get('a')).toBe(2);
    expect(store.foundTimestamp).toBe(5);
    expect(store.getEntry('a')).toEqual({ key: 'a', value: 2, timestamp: 5 });
    store.put('a', null, 6);
    expect(store.get('a')).toBeNull();
    store.put('a', 3, 7);
    expect(store.get('a')).toBe(3);
    expect(store.approximateEntryCount()).toBe(1);
  });

  it('writes plain values and tombstones to its changelog', () => {
    const { task, store } = open(serdes.string(), serdes.json<object>());
    store.put('é', { a: 1 }, 10);
    store.put('é', null, 11);
    const value = Buffer.from('{"a":1}').toString('hex');
    expect(task.takeSent()).toEqual([`s-changelog c3a9=${value}@10`, 's-changelog c3a9=null@11']);
  });

  it('keeps what it was given, whatever the caller does to the object later', () => {
    const { store } = open(serdes.json<{ id: number }>(), serdes.json<{ n: number }>());
    const key = { id: 1 };
    const value = { n: 1 };
    store.put(key, value, 1);
    value.n = 2;
    key.id = 2;
    expect(store.get({ id: 1 })).toEqual({ n: 1 });
    (store.get({ id: 1 }) as { n: number }).n = 3;
    expect([...store.all()]).toEqual([{ key: { id: 1 }, value: { n: 1 }, timestamp: 1 }]);
  });

  it('is as it was when the value cannot be serialized', () => {
    const { task, store } = open(serdes.string(), serdes.long());
    store.put('a', 1, 1);
    expect(() => {
      store.put('a', 1.5, 2);
    }).toThrow('long');
    expect(store.get('a')).toBe(1);
    expect(task.sent).toHaveLength(1);
  });

  it('iterates in the order of the bytes, not of the texts', () => {
    const { store } = open(serdes.string(), serdes.long());
    for (const key of ['\u{1f600}', '\uffee', 'b', 'a', '']) store.put(key, 1, 1);
    expect(keysOf(store.all())).toEqual(['', 'a', 'b', '\uffee', '\u{1f600}']);
    const numbers = open(serdes.integer(), serdes.long()).store;
    for (const key of [-1, 1, 0]) numbers.put(key, 1, 1);
    expect(keysOf(numbers.all())).toEqual([0, 1, -1]);
  });

  it('serves ranges with both ends, open ends, backwards, and by prefix', () => {
    const { store } = open(serdes.string(), serdes.long());
    for (const key of ['a', 'b', 'ba', 'c', 'd']) store.put(key, 1, 1);
    expect(keysOf(store.range('b', 'c'))).toEqual(['b', 'ba', 'c']);
    expect(keysOf(store.range('aa', 'bz'))).toEqual(['b', 'ba']);
    expect(keysOf(store.range(null, 'b'))).toEqual(['a', 'b']);
    expect(keysOf(store.range('c', 'a'))).toEqual([]);
    expect(keysOf(store.reverseRange('b', null))).toEqual(['d', 'c', 'ba', 'b']);
    expect(keysOf(store.reverseAll())).toEqual(['d', 'c', 'ba', 'b', 'a']);
    expect(keysOf(store.prefixScan(Buffer.from('b')))).toEqual(['b', 'ba']);
  });

  it('leaves out what is deleted while a walk is under way', () => {
    const { store } = open(serdes.string(), serdes.long());
    for (const key of ['a', 'b', 'c']) store.put(key, 1, 1);
    const walk = store.all();
    expect(walk.next().value?.key).toBe('a');
    store.put('b', null, 2);
    store.put('bb', 1, 2);
    expect(keysOf(walk)).toEqual(['c']);
    expect(keysOf(store.all())).toEqual(['a', 'bb', 'c']);
  });

  it('equals a sorted map under any sequence of writes and reads', () => {
    const operation = fc.record({
      key: fc.string({ unit: 'binary', maxLength: 2 }),
      value: fc.option(fc.nat(9)),
      asksForAll: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 60 }), (operations) => {
        const { store } = open(serdes.bytes(), serdes.long());
        const model = new Map<string, number>();
        for (const { key, value, asksForAll } of operations) {
          const bytes = Buffer.from(key);
          const hex = bytes.toString('hex');
          expect(store.get(bytes)).toBe(model.get(hex) ?? null);
          store.put(bytes, value, 1);
          if (value === null) model.delete(hex);
          else model.set(hex, value);
          if (!asksForAll) continue;
          const all = [...store.all()].map((e) => [Buffer.from(e.key).toString('hex'), e.value]);
          expect(all).toEqual([...model].sort(([a], [b]) => (a < b ? -1 : 1)));
        }
      }),
    );
  });

  it('restores from its changelog without writing to it, and copies what it keeps', () => {
    const { task, store } = open(serdes.bytes(), serdes.bytes());
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 16 });
    builder.appendBytes(5, Buffer.from('a'), Buffer.from('1'), null);
    builder.appendBytes(6, Buffer.from('b'), Buffer.from('2'), null);
    builder.appendBytes(7, Buffer.from('a'), null, null);
    const buffer = Buffer.from(builder.build());
    const cursor = new RecordCursor();
    cursor.open(new RecordBatch(buffer));
    while (cursor.next()) store.restore(cursor);
    buffer.fill(0);
    expect([...store.all()]).toEqual([
      { key: Buffer.from('b'), value: Buffer.from('2'), timestamp: 6 },
    ]);
    expect(task.sent).toEqual([]);
    expect(store.committedOffset()).toBeNull();
  });

  it('serializes keys longer than its buffer', () => {
    const { task, store } = open(serdes.string(), serdes.long());
    const key = 'k'.repeat(10_000);
    store.put(key, 1, 1);
    expect(store.get(key)).toBe(1);
    expect(task.sent[0]?.key?.length).toBe(10_000);
  });
});

describe('a map beyond the bound of one Map', () => {
  it('behaves as one', () => {
    const map = new BigMap<string, number>(3);
    for (let i = 0; i < 10; i++) map.add(`k${String(i)}`, i);
    expect(map.size).toBe(10);
    expect(map.get('k9')).toBe(9);
    expect(map.delete('k1')).toBe(true);
    expect(map.delete('k1')).toBe(false);
    expect(map.get('k1')).toBeUndefined();
    map.add('new', 11);
    expect([...map.values()].sort((a, b) => a - b)).toEqual([0, 2, 3, 4, 5, 6, 7, 8, 9, 11]);
    map.clear();
    expect(map.size).toBe(0);
    expect(map.get('k9')).toBeUndefined();
  });
});
