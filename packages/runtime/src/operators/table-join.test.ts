import { describe, expect, it } from 'vitest';
import { stringSerde } from '../serdes/string.ts';
import { InMemoryKeyValueStore } from '../state/memory/in-memory-key-value-store.ts';
import type { Awaitable } from './outcome.ts';
import { TableJoinMergeOperator } from './table-join-merge.ts';
import { TableJoinSideOperator } from './table-join-side.ts';
import { JoinedTable, type TableJoinKind } from './table-join.ts';
import { SourceTable } from './table-source.ts';
import { TaskDouble, type CaptureNode } from './testing-support/task-double.ts';

const later = async <T>(value: T): Promise<T> => {
  await Promise.resolve();
  return value;
};

const now = <T>(value: T): T => value;

type Joined = JoinedTable<string, string, string, string>;

interface Join {
  readonly task: TaskDouble;
  readonly leftTable: SourceTable<string, string>;
  readonly rightTable: SourceTable<string, string>;
  readonly table: Joined;
  readonly left: TableJoinSideOperator<string, string, string, string>;
  readonly right: TableJoinSideOperator<string, string, string, string>;
  readonly capture: CaptureNode;
  put(side: 'l' | 'r', value: string | null, timestamp: number): void;
}

function join(
  kind: TableJoinKind,
  joiner: (left: string | null, right: string | null, key: string) => Awaitable<string | null>,
  options: { readonly storeName?: string; readonly sendsOldValues?: boolean } = {},
): Join {
  const task = new TaskDouble();
  const stores = new Map<string, InMemoryKeyValueStore<string, string>>();
  for (const name of ['l', 'r', 's']) {
    stores.set(name, task.open(new InMemoryKeyValueStore(name, stringSerde, stringSerde)));
  }
  const leftTable = new SourceTable<string, string>('l', false);
  const rightTable = new SourceTable<string, string>('r', false);
  const table: Joined = new JoinedTable(
    kind,
    leftTable,
    rightTable,
    joiner,
    options.storeName ?? null,
  );
  if (options.sendsOldValues === true) table.enableSendingOldValues(false);
  const left = new TableJoinSideOperator('this', table, true);
  const right = new TableJoinSideOperator('other', table, false);
  const merge = new TableJoinMergeOperator<string, string>('merge', table as never);
  left.init(task.context);
  right.init(task.context);
  const capture = task.start(merge);
  left.children.add(merge);
  right.children.add(merge);
  return {
    task,
    leftTable,
    rightTable,
    table,
    left,
    right,
    capture,
    put(side, value, timestamp) {
      stores.get(side)?.put('k', value, timestamp);
      task.takeSent();
    },
  };
}

describe.each([
  ['synchronous', now],
  ['asynchronous', later],
] as [string, <T>(value: T) => Awaitable<T>][])('join of tables, %s', (_mode, answer) => {
  const joiner = (left: string | null, right: string | null, key: string): Awaitable<string> =>
    answer(`${key}:${String(left)}+${String(right)}`);

  it('inner: joins with the row on the other side, with the higher timestamp', async () => {
    const { left, right, capture, put } = join('inner', joiner);
    await left.process('k', 'a', null, 5, null);
    put('r', 'x', 7);
    await left.process('k', 'b', null, 5, null);
    put('l', 'b', 5);
    await right.process('k', 'y', null, 9, null);
    expect(capture.take()).toEqual(['k=k:b+x@7', 'k=k:b+y@9']);
  });

  it('inner: forwards a tombstone whenever the other side has a row', async () => {
    const { left, right, capture, put } = join('inner', joiner);
    await left.process('k', null, 'a', 1, null);
    put('r', 'x', 1);
    await left.process('k', null, null, 2, null);
    put('l', 'a', 1);
    await right.process('k', null, 'x', 3, null);
    expect(capture.take()).toEqual(['k=null@2', 'k=null@3']);
  });

  it('left: joins the left side with null, and the right side only with a row', async () => {
    const { left, right, capture, put } = join('left', joiner);
    await left.process('k', 'a', null, 1, null);
    await right.process('k', 'x', null, 2, null);
    put('l', 'a', 1);
    await right.process('k', 'x', null, 2, null);
    await right.process('k', null, 'x', 3, null);
    await left.process('k', null, 'a', 4, null);
    // Nothing was there before, so nothing has changed.
    await left.process('k', null, null, 5, null);
    expect(capture.take()).toEqual(['k=k:a+null@1', 'k=k:a+x@2', 'k=k:a+null@3', 'k=null@4']);
  });

  it('outer: joins both sides with null, and has no result of two nulls', async () => {
    const { left, right, capture, put } = join('outer', joiner);
    await left.process('k', 'a', null, 1, null);
    await right.process('k', 'x', null, 2, null);
    await right.process('k', null, 'x', 3, null);
    await right.process('k', null, null, 4, null);
    put('l', 'a', 9);
    await right.process('k', null, 'x', 5, null);
    put('r', 'x', 6);
    await left.process('k', null, 'a', 7, null);
    expect(capture.take()).toEqual([
      'k=k:a+null@1',
      'k=k:null+x@2',
      'k=null@3',
      'k=k:a+null@9',
      'k=k:null+x@7',
    ]);
  });

  it.each([
    ['inner', ['k=k:a+x->k:b+x@2', 'k=k:a+x->null@3'], ['k=k:l+x->k:l+y@2', 'k=k:l+x->null@3']],
    ['left', ['k=k:a+x->k:b+x@2', 'k=k:a+x->null@3'], ['k=k:l+x->k:l+y@2', 'k=k:l+x->k:l+null@3']],
    [
      'outer',
      ['k=k:a+x->k:b+x@2', 'k=k:a+x->k:null+x@3'],
      ['k=k:l+x->k:l+y@2', 'k=k:l+x->k:l+null@3'],
    ],
  ] as [TableJoinKind, string[], string[]][])(
    '%s: sends old results of the old value and the same row, once asked to',
    async (kind, fromLeft, fromRight) => {
      const { leftTable, left, right, capture, put } = join(kind, joiner, { sendsOldValues: true });
      expect(leftTable.sendsOldValues).toBe(true);
      put('r', 'x', 1);
      await left.process('k', 'b', 'a', 2, null);
      await left.process('k', null, 'a', 3, null);
      expect(capture.take()).toEqual(fromLeft);
      put('l', 'l', 1);
      await right.process('k', 'y', 'x', 2, null);
      await right.process('k', null, 'x', 3, null);
      expect(capture.take()).toEqual(fromRight);
    },
  );

  it('writes its store first', async () => {
    const { task, left, capture, put } = join('inner', joiner, { storeName: 's' });
    put('r', 'x', 1);
    await left.process('k', 'a', null, 2, null);
    await left.process('k', null, 'a', 3, null);
    expect(capture.take()).toEqual(['k=k:a+x@2', 'k=null@3']);
    expect(task.takeSent()).toEqual(['s-changelog 6b=6b3a612b78@2', 's-changelog 6b=null@3']);
  });

  it.each([
    ['inner', [null, null, null, 'k:a+x']],
    ['left', [null, 'k:a+null', null, 'k:a+x']],
    ['outer', [null, 'k:a+null', 'k:null+x', 'k:a+x']],
  ] as [TableJoinKind, (string | null)[]][])(
    '%s: is read by joining both rows if it is not stored',
    async (kind, expected) => {
      const { task, table, put } = join(kind, joiner);
      const view = table.view();
      expect(view.storeNames).toEqual(['l', 'r']);
      const getter = view.create();
      getter.init(task.context);
      const found: (string | null)[] = [];
      const times: number[] = [];
      for (const [left, right] of [
        [null, null],
        ['a', null],
        [null, 'x'],
        ['a', 'x'],
      ] as const) {
        put('l', left, 3);
        put('r', right, 8);
        found.push(await getter.get('k'));
        times.push(getter.foundTimestamp);
      }
      expect(found).toEqual(expected);
      const [both] = times.slice(-1);
      expect(both).toBe(8);
      expect(times[0]).toBe(-1);
      expect(getter.isVersioned).toBe(false);
    },
  );

  it('takes null and undefined from the joiner for a tombstone', async () => {
    const none = (): Awaitable<string | null> => answer(undefined as unknown as null);
    const { task, table, left, capture, put } = join('inner', none);
    put('r', 'x', 1);
    await left.process('k', 'a', null, 2, null);
    expect(capture.take()).toEqual(['k=null@2']);
    put('l', 'a', 1);
    const getter = table.view().create();
    getter.init(task.context);
    expect(await getter.get('k')).toBeNull();
    expect(getter.foundTimestamp).toBe(-1);
  });
});

describe('join of tables', () => {
  const joiner = (left: string | null, right: string | null): string =>
    `${String(left)}+${String(right)}`;

  it('drops and counts null keys', () => {
    const { task, left, right } = join('outer', joiner);
    expect(left.process(null, 'a', null, 1, null)).toBeUndefined();
    expect(right.process(null, 'a', null, 1, null)).toBeUndefined();
    expect(task.dropped).toEqual(['this: its key is null', 'other: its key is null']);
  });

  it('drops and counts late changes of a versioned table, and only those', async () => {
    const { task, table, left, right, capture } = join('outer', joiner);
    table.left.isVersioned = true;
    await left.process('k', 'a', null, 1, null, false);
    await left.process('k', 'b', null, 2, null, true);
    await right.process('k', 'x', null, 3, null, false);
    expect(capture.take()).toEqual(['k=b+null@2', 'k=null+x@3']);
    expect(task.dropped).toHaveLength(1);
  });

  it('asks the outer sides for old values, and makes both tables be stored', () => {
    for (const [kind, leftSends, rightSends] of [
      ['inner', false, false],
      ['left', true, false],
      ['outer', true, true],
    ] as const) {
      const { leftTable: left, rightTable: right } = join(kind, joiner);
      expect([left.isMaterialized, right.isMaterialized]).toEqual([true, true]);
      expect([left.sendsOldValues, right.sendsOldValues]).toEqual([leftSends, rightSends]);
    }
  });

  it('fails with what the joiner throws, whichever of the two values it is about', () => {
    const { left, put } = join(
      'inner',
      (value) => {
        if (value === 'bad') throw new Error('no join');
        return 'good';
      },
      { sendsOldValues: true },
    );
    put('r', 'x', 1);
    expect(() => left.process('k', 'bad', null, 1, null)).toThrow('no join');
    expect(() => left.process('k', 'fine', 'bad', 1, null)).toThrow('no join');
  });
});
