import { describe, expect, it } from 'vitest';
import { json } from '../serdes/json.ts';
import { longSerde } from '../serdes/numbers.ts';
import { stringSerde } from '../serdes/string.ts';
import { InMemoryKeyValueStore } from '../state/memory/in-memory-key-value-store.ts';
import { InMemoryWindowStore } from '../state/memory/in-memory-window-store.ts';
import {
  AggregateOperator,
  AggregateTable,
  nothing,
  plusOne,
  reducing,
  zero,
  type Aggregator,
  type Initializer,
} from './aggregate.ts';
import type { Awaitable } from './outcome.ts';
import { StreamTableJoinOperator } from './stream-table-join.ts';
import { keyValueView } from './store-view.ts';
import { SourceTable, TableSourceOperator } from './table-source.ts';
import { TaskDouble, type CaptureNode } from './testing-support/task-double.ts';
import { WindowAggregateOperator, WindowAggregateTable } from './window-aggregate.ts';

/** The key, which may be null whatever its type says. */
const text = (key: string | null): string => String(key);

const later = async <T>(value: T): Promise<T> => {
  await Promise.resolve();
  return value;
};

function kvStore(task: TaskDouble): InMemoryKeyValueStore<string, string> {
  return task.open(new InMemoryKeyValueStore('s', stringSerde, stringSerde));
}

const concat: Aggregator<string, string, string> = (_key, value, aggregate) => aggregate + value;
const concatLater: Aggregator<string, string, string> = (_key, value, aggregate) =>
  later(aggregate + value);

describe.each([
  ['synchronous', () => '', concat],
  ['asynchronous', () => later(''), concatLater],
] as [string, Initializer<string>, Aggregator<string, string, string>][])(
  'aggregate, %s',
  (_mode, initializer, aggregator) => {
    function start(table = new AggregateTable<string, string>('s')): {
      task: TaskDouble;
      node: AggregateOperator<string, string, string>;
      capture: CaptureNode;
    } {
      const task = new TaskDouble();
      kvStore(task);
      const node = new AggregateOperator('agg', table, initializer, aggregator);
      return { task, node, capture: task.start(node) };
    }

    it('stores and forwards each aggregate with the highest timestamp', async () => {
      const { task, node, capture } = start();
      await node.process('a', '1', null, 5, null);
      await node.process('a', '2', null, 3, null);
      await node.process('b', '3', null, 4, null);
      expect(capture.take()).toEqual(['a=1@5', 'a=12@5', 'b=3@4']);
      expect(task.takeSent()).toEqual([
        's-changelog 61=31@5',
        's-changelog 61=3132@5',
        's-changelog 62=33@4',
      ]);
    });

    it('drops and counts null keys and null values', async () => {
      const { task, node, capture } = start();
      await node.process(null, '1', null, 5, null);
      await node.process('a', null, null, 5, null);
      expect(capture.take()).toEqual([]);
      expect(task.dropped).toHaveLength(2);
      expect(task.takeSent()).toEqual([]);
    });

    it('sends old values once asked to, the initial one where there was none', async () => {
      const table = new AggregateTable<string, string>('s');
      table.enableSendingOldValues(true);
      const { node, capture } = start(table);
      await node.process('a', '1', null, 1, null);
      await node.process('a', '2', null, 2, null);
      expect(capture.take()).toEqual(['a=->1@1', 'a=1->12@2']);
    });
  },
);

describe('aggregate', () => {
  it('deletes the row when the aggregator returns null, and begins anew', async () => {
    const task = new TaskDouble();
    kvStore(task);
    const aggregator: Aggregator<string, string, string> = (_key, value, aggregate) =>
      value === 'x' ? null : aggregate + value;
    const table = new AggregateTable<string, string>('s');
    const node = new AggregateOperator('agg', table, () => '', aggregator);
    const capture = task.start(node);
    await node.process('a', '1', null, 9, null);
    await node.process('a', 'x', null, 3, null);
    await node.process('a', '2', null, 4, null);
    expect(capture.take()).toEqual(['a=1@9', 'a=null@9', 'a=2@4']);
    // The tombstone has the time of the record that made it.
    expect(task.takeSent()).toEqual([
      's-changelog 61=31@9',
      's-changelog 61=null@3',
      's-changelog 61=32@4',
    ]);
  });

  it('counts', async () => {
    const task = new TaskDouble();
    task.open(new InMemoryKeyValueStore('s', stringSerde, longSerde));
    const node = new AggregateOperator('c', new AggregateTable<string, number>('s'), zero, plusOne);
    const capture = task.start(node);
    for (const key of ['a', 'b', 'a']) await node.process(key, 'v', null, 1, null);
    expect(capture.take()).toEqual(['a=1@1', 'b=1@1', 'a=2@1']);
  });

  it('reduces: the first value as it is', async () => {
    const task = new TaskDouble();
    kvStore(task);
    const reducer = reducing<string, string>((aggregate, value) => aggregate + value);
    const node = new AggregateOperator<string, string, string | null>(
      'r',
      new AggregateTable('s'),
      nothing,
      reducer,
    );
    const capture = task.start(node);
    for (const value of ['1', '2']) await node.process('a', value, null, 1, null);
    expect(capture.take()).toEqual(['a=1@1', 'a=12@1']);
  });

  it('sends the true old value though the aggregator changes its aggregate in place', async () => {
    const task = new TaskDouble();
    task.open(new InMemoryKeyValueStore('s', stringSerde, json<{ n: number }>()));
    const table = new AggregateTable<string, { n: number }>('s');
    table.enableSendingOldValues(true);
    const node = new AggregateOperator<string, string, { n: number }>(
      'agg',
      table,
      () => ({ n: 0 }),
      (_key, _value, aggregate) => {
        aggregate.n++;
        return aggregate;
      },
    );
    const capture = task.start(node);
    for (let i = 0; i < 3; i++) await node.process('a', 'v', null, 1, null);
    expect(capture.forwarded.map(({ old, value }) => [old, value])).toEqual([
      [null, { n: 1 }],
      [{ n: 1 }, { n: 2 }],
      [{ n: 2 }, { n: 3 }],
    ]);
  });
});

describe.each([
  ['synchronous', concat],
  ['asynchronous', concatLater],
])('aggregate in windows, %s', (_mode, aggregator) => {
  function start(sizeMs: number, advanceMs: number, graceMs: number) {
    const task = new TaskDouble();
    const store = new InMemoryWindowStore('w', stringSerde, stringSerde, {
      retentionMs: sizeMs + graceMs,
      windowSizeMs: sizeMs,
    });
    task.open(store);
    const node = new WindowAggregateOperator(
      'agg',
      { sizeMs, advanceMs, graceMs },
      new WindowAggregateTable<string, string>('w'),
      () => '',
      aggregator,
    );
    const capture = task.start(node);
    const process = async (...times: number[]): Promise<string[]> => {
      for (const time of times) await node.process('a', String(time % 10), null, time, null);
      return capture.take();
    };
    return { task, node, capture, process };
  }

  it('puts a record into the tumbling window [start, end)', async () => {
    const { process } = start(10, 10, 0);
    expect(await process(0, 9, 10)).toEqual(['[a@0/10]=0@0', '[a@0/10]=09@9', '[a@10/20]=0@10']);
  });

  it('puts a record into every hopping window, earliest first, none before 0', async () => {
    const { process } = start(10, 5, 100);
    expect(await process(12)).toEqual(['[a@5/15]=2@12', '[a@10/20]=2@12']);
    expect(await process(3)).toEqual(['[a@0/10]=3@3']);
  });

  it('closes a window when its end is at or before stream time - grace', async () => {
    const { task, process } = start(10, 10, 5);
    expect(await process(14, 9)).toEqual(['[a@10/20]=4@14', '[a@0/10]=9@9']);
    expect(await process(15, 9)).toEqual(['[a@10/20]=45@15']);
    expect(task.dropped).toEqual(['agg: its window has closed']);
  });

  it('keeps the highest timestamp, and gives null values to the aggregator', async () => {
    const { node, capture } = start(10, 10, 0);
    await node.process('a', 'x', null, 7, null);
    await node.process('a', null, null, 5, null);
    expect(capture.take()).toEqual(['[a@0/10]=x@7', '[a@0/10]=xnull@7']);
  });

  it('drops and counts a null key, which moves no stream time', async () => {
    const { task, node, process } = start(10, 10, 0);
    await node.process(null, 'x', null, 100, null);
    expect(task.dropped).toHaveLength(1);
    expect(await process(1)).toEqual(['[a@0/10]=1@1']);
  });

  it('writes the changelog under key, window start and sequence number', async () => {
    const { task, process } = start(10, 10, 0);
    await process(12);
    expect(task.takeSent()).toEqual(['w-changelog 61000000000000000a00000000=32@12']);
  });
});

describe('table source', () => {
  it('stores, forwards the change, and drops null keys', async () => {
    const task = new TaskDouble();
    kvStore(task);
    const table = new SourceTable<string, string>('s', true);
    const node = new TableSourceOperator('t', table);
    const capture = task.start(node);
    await node.process('a', '1', null, 5, null);
    await node.process('a', '2', null, 3, null);
    await node.process('a', null, null, 6, null);
    await node.process(null, 'x', null, 7, null);
    expect(capture.take()).toEqual(['a=1@5', 'a=2@3', 'a=null@6']);
    expect(task.takeSent()).toEqual([
      's-changelog 61=31@5',
      's-changelog 61=32@3',
      's-changelog 61=null@6',
    ]);
    expect(task.dropped).toHaveLength(1);
  });

  it('sends old values once asked to', async () => {
    const task = new TaskDouble();
    kvStore(task);
    const table = new SourceTable<string, string>('s', false);
    table.enableSendingOldValues(true);
    const node = new TableSourceOperator('t', table);
    const capture = task.start(node);
    await node.process('a', '1', null, 1, null);
    await node.process('a', '2', null, 2, null);
    expect(capture.take()).toEqual(['a=1@1', 'a=1->2@2']);
  });

  it('only forwards when nobody reads it', async () => {
    const task = new TaskDouble();
    const node = new TableSourceOperator('t', new SourceTable('s', false));
    const capture = task.start(node);
    await node.process('a', '1', null, 1, null);
    expect(capture.take()).toEqual(['a=1@1']);
  });
});

describe.each([
  ['synchronous', <T>(value: T): Awaitable<T> => value],
  ['asynchronous', later],
] as [string, <T>(value: T) => Awaitable<T>][])('stream-table join, %s', (_mode, answer) => {
  async function join(isLeft: boolean): Promise<{ task: TaskDouble; out: string[] }> {
    const task = new TaskDouble();
    kvStore(task).put('a', 'A', 1);
    const node = new StreamTableJoinOperator<string, string, string, string>(
      'j',
      keyValueView('s'),
      (left, right, key) => answer(`${left}+${String(right)}/${text(key)}`),
      isLeft,
    );
    const capture = task.start(node);
    await node.process('a', '1', null, 7, null);
    await node.process('b', '2', null, 6, null);
    await node.process(null, '3', null, 8, null);
    await node.process('a', null, null, 9, null);
    return { task, out: capture.take() };
  }

  it('inner: needs key, value and row', async () => {
    const { task, out } = await join(false);
    expect(out).toEqual(['a=1+A/a@7']);
    expect(task.dropped).toHaveLength(2);
  });

  it('left: joins to null without row or key', async () => {
    const { task, out } = await join(true);
    expect(out).toEqual(['a=1+A/a@7', 'b=2+null/b@6', 'null=3+null/null@8']);
    expect(task.dropped).toHaveLength(1);
  });
});
