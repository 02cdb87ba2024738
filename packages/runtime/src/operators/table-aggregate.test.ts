import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { ProcessingError } from '../errors.ts';
import { Change } from '../serdes/change.ts';
import { json } from '../serdes/json.ts';
import { stringSerde } from '../serdes/string.ts';
import { Windowed } from '../serdes/windowed-key.ts';
import { InMemoryKeyValueStore } from '../state/memory/in-memory-key-value-store.ts';
import { AggregateTable, nothing, reducing } from './aggregate.ts';
import type { KeyValue } from './map.ts';
import type { Awaitable } from './outcome.ts';
import { TableAggregateOperator, type TableAggregation } from './table-aggregate.ts';
import { TableGroupOperator } from './table-group.ts';
import { CaptureNode, TaskDouble } from './testing-support/task-double.ts';

const later = async <T>(value: T): Promise<T> => {
  await Promise.resolve();
  return value;
};

const now = <T>(value: T): T => value;

const modes = [
  ['synchronous', now],
  ['asynchronous', later],
] as [string, <T>(value: T) => Awaitable<T>][];

/** Notes changes when they come: the node uses one object for all of them. */
class ChangeNotes extends CaptureNode {
  readonly notes: string[] = [];

  override process(
    ...args: Parameters<CaptureNode['process']>
  ): ReturnType<CaptureNode['process']> {
    const [key, value, , timestamp] = args;
    const { newValue, oldValue } = value as Change<unknown>;
    this.notes.push(
      `${JSON.stringify(key)}: ${String(oldValue)}->${String(newValue)}@${String(timestamp)}`,
    );
    return this.isAsynchronous ? later(undefined) : undefined;
  }
}

type Pair = KeyValue<unknown, string | null>;

function grouping(mapper: (key: string, value: string) => Awaitable<Pair>): {
  readonly node: TableGroupOperator<string, string, unknown, string>;
  readonly changes: ChangeNotes;
} {
  const node = new TableGroupOperator<string, string, unknown, string>('g', {
    mapper,
    isParentVersioned: false,
  });
  const changes = new ChangeNotes();
  node.children.add(changes);
  return { node, changes };
}

describe.each(modes)('groupBy of a table, %s', (_mode, answer) => {
  /** `group|value`; an empty part is null. */
  const split = (_key: string, value: string): Awaitable<Pair> => {
    const [group = '', rest = ''] = value.split('|');
    return answer([group === '' ? null : group, rest === '' ? null : rest] as const);
  };

  it('sends one change if the group stays, else the old value first', async () => {
    const { node, changes } = grouping(split);
    await node.process('k', 'a|1', null, 1, null);
    await node.process('k', 'a|2', 'a|1', 2, null);
    await node.process('k', 'b|3', 'a|2', 3, null);
    await node.process('k', null, 'b|3', 4, null);
    await node.process('k', null, null, 5, null);
    expect(changes.notes).toEqual([
      '"a": null->1@1',
      '"a": 1->2@2',
      '"a": 2->null@3',
      '"b": null->3@3',
      '"b": 3->null@4',
    ]);
  });

  it('leaves out the half whose new key or value is null', async () => {
    const { node, changes } = grouping(split);
    await node.process('k', '|1', 'a|2', 1, null);
    await node.process('k', 'a|', '|2', 2, null);
    await node.process('k', 'a|1', 'a|', 3, null);
    expect(changes.notes).toEqual(['"a": 2->null@1', '"a": null->1@3']);
  });

  it('waits for the old value to be through before it sends the new one', async () => {
    const { node, changes } = grouping(split);
    changes.isAsynchronous = true;
    const outcome = node.process('k', 'b|3', 'a|2', 3, null);
    await outcome;
    expect(changes.notes).toEqual(['"a": 2->null@3', '"b": null->3@3']);
  });

  it('compares keys that are objects by what they hold', async () => {
    const { node, changes } = grouping((_key, value) =>
      answer([{ group: value.slice(0, 1) }, value] as const),
    );
    await node.process('k', 'a2', 'a1', 1, null);
    await node.process('k', 'b2', 'a1', 2, null);
    expect(changes.notes).toEqual([
      '{"group":"a"}: a1->a2@1',
      '{"group":"a"}: a1->null@2',
      '{"group":"b"}: null->b2@2',
    ]);
    const windowed = grouping((_key, value) => answer([new Windowed('w', 0, 10), value] as const));
    await windowed.node.process('k', '2', '1', 1, null);
    expect(windowed.changes.notes).toHaveLength(1);
  });

  it('fails with what the mapper throws', async () => {
    const { node } = grouping((_key, value) => {
      if (value === 'bad') throw new Error('no group');
      return answer([value, value] as const);
    });
    await expect(async () => node.process('k', 'bad', null, 1, null)).rejects.toThrow('no group');
    await expect(async () => node.process('k', 'fine', 'bad', 1, null)).rejects.toThrow('no group');
  });
});

describe('groupBy of a table', () => {
  it('leaves out late changes of a versioned table, and only there', async () => {
    for (const isParentVersioned of [false, true]) {
      const node = new TableGroupOperator<string, string, string, string>('g', {
        mapper: (_key, value) => [value, value],
        isParentVersioned,
      });
      const changes = new ChangeNotes();
      node.children.add(changes);
      await node.process('k', 'a', null, 1, null, false);
      await node.process('k', 'b', null, 2, null, true);
      expect(changes.notes).toHaveLength(isParentVersioned ? 1 : 2);
    }
  });

  it('refuses a change without a key', () => {
    const { node } = grouping((_key, value) => [value, value]);
    expect(() => node.process(null, 'a', null, 1, null)).toThrow(ProcessingError);
  });
});

function aggregating<A>(
  aggregation: TableAggregation<string, string, A>,
  serde = stringSerde as never,
): {
  readonly task: TaskDouble;
  readonly table: AggregateTable<string, A>;
  start(): { node: TableAggregateOperator<string, string, A>; capture: CaptureNode };
} {
  const task = new TaskDouble();
  task.open(new InMemoryKeyValueStore('s', stringSerde, serde));
  const table = new AggregateTable<string, A>('s');
  return {
    task,
    table,
    start() {
      const node = new TableAggregateOperator('agg', table, aggregation);
      return { node, capture: task.start(node) };
    },
  };
}

const added = (value: string): Change<string> => new Change<string>(value, null);
const removed = (value: string): Change<string> => new Change<string>(null, value);

describe.each(modes)('aggregate of a grouped table, %s', (_mode, answer) => {
  const aggregation: TableAggregation<string, string, string> = {
    initializer: () => answer('_'),
    adder: (_key, value, aggregate) => answer(value === 'x' ? null : `${aggregate}+${value}`),
    subtractor: (_key, value, aggregate) => answer(value === 'y' ? null : `${aggregate}-${value}`),
  };

  it('subtracts the old value before it adds the new one, with the highest timestamp', async () => {
    const { task, start } = aggregating(aggregation);
    const { node, capture } = start();
    await node.process('a', added('1'), null, 5, null);
    await node.process('a', new Change('2', '1'), null, 3, null);
    await node.process('a', removed('2'), null, 7, null);
    expect(capture.take()).toEqual(['a=_+1@5', 'a=_+1-1+2@5', 'a=_+1-1+2-2@7']);
    expect(task.takeSent().at(-1)).toBe('s-changelog 61=5f2b312d312b322d32@7');
  });

  it('subtracts nothing from nothing, and still forwards that there is nothing', async () => {
    const { task, start } = aggregating(aggregation);
    const { node, capture } = start();
    await node.process('a', removed('1'), null, 5, null);
    await node.process('a', new Change('2', '1'), null, 6, null);
    expect(capture.take()).toEqual(['a=null@5', 'a=_+2@6']);
    expect(task.takeSent()).toEqual(['s-changelog 61=null@5', 's-changelog 61=5f2b32@6']);
  });

  it('deletes the row when a function returns null; after the subtractor, the adder begins anew', async () => {
    const { task, start } = aggregating(aggregation);
    const { node, capture } = start();
    await node.process('a', added('1'), null, 9, null);
    await node.process('a', new Change('2', 'y'), null, 3, null);
    await node.process('a', added('x'), null, 4, null);
    await node.process('a', added('3'), null, 2, null);
    expect(capture.take()).toEqual(['a=_+1@9', 'a=_+2@9', 'a=null@9', 'a=_+3@2']);
    // A tombstone has the time of the record that made it.
    expect(task.takeSent()[2]).toBe('s-changelog 61=null@4');
  });

  it("sends old aggregates once asked to, and the record's headers", async () => {
    const { table, start } = aggregating(aggregation);
    table.enableSendingOldValues(true);
    const { node, capture } = start();
    const headers = new RecordHeaders().add('h', '1');
    await node.process('a', added('1'), null, 1, headers);
    await node.process('a', added('2'), null, 2, headers);
    expect(capture.forwarded.map((record) => record.headers)).toEqual([headers, headers]);
    expect(capture.take()).toEqual(['a=_+1@1', 'a=_+1->_+1+2@2']);
  });

  it('sends as old aggregate what the store held, also if the functions change the object', async () => {
    interface Sum {
      total: number;
    }
    const { table, start } = aggregating<Sum>(
      {
        initializer: () => answer({ total: 0 }),
        adder: (_key, value, sum) => {
          sum.total += Number(value);
          return answer(sum);
        },
        subtractor: (_key, value, sum) => {
          sum.total -= Number(value);
          return answer(sum);
        },
      },
      json<Sum>() as never,
    );
    table.enableSendingOldValues(true);
    const { node, capture } = start();
    await node.process('a', added('5'), null, 1, null);
    await node.process('a', new Change('7', '5'), null, 2, null);
    expect(capture.forwarded.map(({ value, old }) => [value, old])).toEqual([
      [{ total: 5 }, null],
      [{ total: 7 }, { total: 5 }],
    ]);
  });

  it('reduces: the first value as it is', async () => {
    const { start } = aggregating<string | null>({
      initializer: nothing,
      adder: reducing((aggregate: string, value: string) => answer(`${aggregate}+${value}`)),
      subtractor: reducing((aggregate: string, value: string) => answer(`${aggregate}-${value}`)),
    });
    const { node, capture } = start();
    await node.process('a', removed('0'), null, 1, null);
    await node.process('a', added('1'), null, 2, null);
    await node.process('a', new Change('2', '1'), null, 3, null);
    expect(capture.take()).toEqual(['a=null@1', 'a=1@2', 'a=1-1+2@3']);
  });

  it('leaves the store as it was if a function throws', async () => {
    const { task, start } = aggregating<string>({
      ...aggregation,
      adder: () => {
        throw new Error('no sum');
      },
    });
    const { node } = start();
    await expect(async () => node.process('a', added('1'), null, 1, null)).rejects.toThrow(
      'no sum',
    );
    expect(task.takeSent()).toEqual([]);
  });
});

describe('aggregate of a grouped table', () => {
  const concat: TableAggregation<string, string, string> = {
    initializer: () => '',
    adder: (_key, value, aggregate) => aggregate + value,
    subtractor: (_key, value, aggregate) => aggregate.replace(value, ''),
  };

  it('refuses a null key, and drops what is no change', () => {
    const { task, start } = aggregating(concat);
    const { node, capture } = start();
    expect(() => node.process(null, added('1'), null, 1, null)).toThrow(/the store s/);
    expect(node.process('a', null, null, 1, null)).toBeUndefined();
    expect(task.dropped).toHaveLength(1);
    expect(capture.take()).toEqual([]);
  });
});
