import type { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { json } from '../serdes/json.ts';
import { stringSerde } from '../serdes/string.ts';
import { InMemoryKeyValueStore } from '../state/memory/in-memory-key-value-store.ts';
import { InMemoryVersionedStore } from '../state/memory/in-memory-versioned-store.ts';
import type { Awaitable, Outcome } from './outcome.ts';
import { keyValueView } from './store-view.ts';
import type { TableSource } from './table.ts';
import { FilteredTable, TableFilterOperator } from './table-filter.ts';
import { MappedTable, TableMapValuesOperator } from './table-map-values.ts';
import { SourceTable } from './table-source.ts';
import {
  TableTransformValuesOperator,
  TransformedTable,
  type TransformerContext,
  type ValueTransformer,
} from './table-transform-values.ts';
import type { ProcessorNode } from './processor-node.ts';
import { CaptureNode, TaskDouble } from './testing-support/task-double.ts';

const later = async <T>(value: T): Promise<T> => {
  await Promise.resolve();
  return value;
};

const now = <T>(value: T): T => value;

function open(task: TaskDouble, name: string): InMemoryKeyValueStore<string, string> {
  return task.open(new InMemoryKeyValueStore(name, stringSerde, stringSerde));
}

function stored(): SourceTable<string, string> {
  return new SourceTable<string, string>('parent', true);
}

function plain(): SourceTable<string, string> {
  return new SourceTable<string, string>('parent', false);
}

/** Also keeps whether changes came as the latest. */
class LatenessNode extends CaptureNode {
  readonly lateness: boolean[] = [];

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest = true,
  ): Outcome {
    this.lateness.push(isLatest);
    return super.process(key, value, old, timestamp, headers);
  }
}

function latenessBelow(node: ProcessorNode): LatenessNode {
  const capture = new LatenessNode();
  node.children.add(capture);
  return capture;
}

describe.each([
  ['synchronous', now],
  ['asynchronous', later],
] as [string, <T>(value: T) => Awaitable<T>][])('table filter, %s', (_mode, answer) => {
  const long = (_key: string, value: string): Awaitable<boolean> => answer(value.length > 1);

  it('forwards tombstones for what is not kept, also where nothing was, without old values', async () => {
    const table = new FilteredTable(plain(), long, false, null);
    const node = new TableFilterOperator('f', table);
    const capture = new TaskDouble().start(node);
    await node.process('a', 'x', null, 1, null);
    await node.process('a', 'xy', null, 2, null);
    await node.process('a', null, null, 3, null);
    expect(capture.take()).toEqual(['a=null@1', 'a=xy@2', 'a=null@3']);
  });

  it('leaves out changes from nothing to nothing where old values are at hand', async () => {
    const parent = stored();
    const node = new TableFilterOperator('f', new FilteredTable(parent, long, false, null));
    const capture = new TaskDouble().start(node);
    expect(parent.sendsOldValues).toBe(true);
    await node.process('a', 'x', null, 1, null);
    await node.process('a', 'xy', 'x', 2, null);
    await node.process('a', 'z', 'xy', 3, null);
    await node.process('a', null, 'z', 4, null);
    expect(capture.take()).toEqual(['a=xy@2', 'a=xy->null@3']);
  });

  it('keeps the others as filterNot', async () => {
    const node = new TableFilterOperator('f', new FilteredTable(plain(), long, true, null));
    const capture = new TaskDouble().start(node);
    await node.process('a', 'x', null, 1, null);
    await node.process('a', 'xy', null, 2, null);
    expect(capture.take()).toEqual(['a=x@1', 'a=null@2']);
  });

  it('writes its store, and takes old values from it', async () => {
    const table = new FilteredTable(plain(), long, false, 's');
    expect(table.enableSendingOldValues(false)).toBe(true);
    const task = new TaskDouble();
    open(task, 's');
    const node = new TableFilterOperator('f', table);
    const capture = task.start(node);
    await node.process('a', 'xy', null, 5, null);
    await node.process('a', 'xyz', 'not used', 4, null);
    await node.process('a', 'x', null, 6, null);
    await node.process('a', 'y', null, 7, null);
    expect(capture.take()).toEqual(['a=xy@5', 'a=xy->xyz@4', 'a=xyz->null@6']);
    expect(task.takeSent()).toEqual([
      's-changelog 61=7879@5',
      's-changelog 61=78797a@4',
      's-changelog 61=null@6',
    ]);
  });

  it('is read through the predicate if it is not stored', async () => {
    const task = new TaskDouble();
    open(task, 'parent').put('a', 'xy', 7);
    const view = new FilteredTable(stored(), long, false, null).view();
    expect(view.storeNames).toEqual(['parent']);
    const getter = view.create();
    getter.init(task.context);
    expect(await getter.get('a')).toBe('xy');
    expect(getter.foundTimestamp).toBe(7);
    open(task, 'parent').put('a', 'x', 8);
    getter.init(task.context);
    expect(await getter.get('a')).toBeNull();
    expect(getter.foundTimestamp).toBe(-1);
    expect(await getter.get('b')).toBeNull();
  });

  it('rejects with what the predicate throws', async () => {
    const fails = (): Awaitable<boolean> => {
      throw new Error('no verdict');
    };
    const node = new TableFilterOperator('f', new FilteredTable(plain(), fails, false, null));
    new TaskDouble().start(node);
    await expect(async () => node.process('a', 'x', null, 1, null)).rejects.toThrow('no verdict');
    expect(node.process('a', null, null, 1, null)).toBeUndefined();
  });
});

describe('table filter', () => {
  it('does not make its parent be stored, until somebody below needs old values', () => {
    const parent = plain();
    const table = new FilteredTable(parent, () => true, false, null);
    expect(parent.isMaterialized).toBe(false);
    expect(table.enableSendingOldValues(false)).toBe(false);
    expect(parent.isMaterialized).toBe(false);
    expect(table.enableSendingOldValues(true)).toBe(true);
    expect(parent.isMaterialized).toBe(true);
    expect(parent.sendsOldValues).toBe(true);
  });

  it('passes on that a change is late, and leaves none out below a versioned table', async () => {
    const table = new FilteredTable<string, string>(stored(), () => false, false, null);
    table.isParentVersioned = true;
    const node = new TableFilterOperator('f', table);
    const capture = latenessBelow(node);
    node.init(new TaskDouble().context);
    await node.entry.receive('a', 'x', 'y', 1, null, false);
    await node.entry.receive('a', 'x', 'y', 2, null, true);
    expect(capture.take()).toEqual(['a=null@1', 'a=null@2']);
    expect(capture.lateness).toEqual([false, true]);
  });

  it('tells late writes of its own versioned store apart, and forwards none that came too late', async () => {
    const task = new TaskDouble();
    task.open(new InMemoryVersionedStore('s', stringSerde, stringSerde, 10));
    const node = new TableFilterOperator('f', new FilteredTable(plain(), () => true, false, 's'));
    const capture = latenessBelow(node);
    node.init(task.context);
    for (const timestamp of [20, 15, 5, 25]) {
      await node.process('a', String(timestamp), null, timestamp, null);
    }
    expect(capture.take()).toEqual(['a=20@20', 'a=15@15', 'a=25@25']);
    expect(capture.lateness).toEqual([true, false, true]);
    const getter = keyValueView<string, string>('s').create();
    getter.init(task.context);
    expect(getter.isVersioned).toBe(true);
    expect(await getter.getAsOf('a', 17)).toBe('15');
    expect(getter.foundTimestamp).toBe(15);
  });
});

describe.each([
  ['synchronous', now],
  ['asynchronous', later],
] as [string, <T>(value: T) => Awaitable<T>][])('table mapValues, %s', (_mode, answer) => {
  const mapper = (value: string, key: string): Awaitable<string | null> =>
    answer(value === 'none' ? null : `${key}${value}`);

  it('maps new values, and old ones once asked to, but no tombstones', async () => {
    const table = new MappedTable(stored(), mapper, null);
    const node = new TableMapValuesOperator('m', table);
    const capture = new TaskDouble().start(node);
    await node.process('a', '1', '0', 1, null);
    table.enableSendingOldValues(true);
    await node.process('a', '2', '1', 2, null);
    await node.process('a', 'none', '2', 3, null);
    await node.process('a', null, 'none', 4, null);
    expect(capture.take()).toEqual(['a=a1@1', 'a=a1->a2@2', 'a=a2->null@3', 'a=null@4']);
  });

  it('stores its values, tombstones with their own time', async () => {
    const task = new TaskDouble();
    open(task, 's');
    const node = new TableMapValuesOperator('m', new MappedTable(plain(), mapper, 's'));
    const capture = task.start(node);
    await node.process('a', '1', null, 9, null);
    await node.process('a', 'none', null, 3, null);
    expect(capture.take()).toEqual(['a=a1@9', 'a=null@3']);
    expect(task.takeSent()).toEqual(['s-changelog 61=6131@9', 's-changelog 61=null@3']);
  });
});

describe('table mapValues', () => {
  it('takes undefined for null', async () => {
    const mapper = (): string => undefined as unknown as string;
    const node = new TableMapValuesOperator('m', new MappedTable(plain(), mapper, null));
    const capture = new TaskDouble().start(node);
    await node.process('a', '1', null, 1, null);
    expect(capture.take()).toEqual(['a=null@1']);
  });

  it('sends as old value what the store held, whatever the mapper did to its objects', async () => {
    const shared = { count: 0 };
    const table = new MappedTable<string, string, { count: number }>(
      plain(),
      () => {
        shared.count++;
        return shared;
      },
      's',
    );
    table.enableSendingOldValues(true);
    const task = new TaskDouble();
    task.open(new InMemoryKeyValueStore('s', stringSerde, json<{ count: number }>()));
    const node = new TableMapValuesOperator('m', table);
    const capture = task.start(node);
    await node.process('a', '1', null, 1, null);
    await node.process('a', '2', null, 2, null);
    expect(capture.forwarded[1]?.old).toEqual({ count: 1 });
  });
});

class Numbering implements ValueTransformer<string, string, string> {
  readonly log: string[];
  #context: TransformerContext | null = null;

  constructor(log: string[]) {
    this.log = log;
  }

  init(context: TransformerContext): void {
    this.#context = context;
    this.log.push('init');
  }

  transform(value: string | null, key: string): string | null {
    const context = this.#context as TransformerContext;
    this.log.push(`${key}=${String(value)}@${String(context.timestamp)}`);
    return value === null ? 'deleted' : value === 'none' ? null : `<${value}>`;
  }

  close(): void {
    this.log.push('close');
  }
}

function transforming(
  parent: TableSource<string, string>,
  transformer: ValueTransformer<string, string, string>,
  storeName: string | null = null,
  usesStores = false,
): {
  table: TransformedTable<string, string, string>;
  node: TableTransformValuesOperator<string, string, string>;
} {
  const table = new TransformedTable('t', parent, () => transformer, storeName, usesStores);
  return { table, node: new TableTransformValuesOperator('t', table, transformer) };
}

describe('table transformValues', () => {
  it('calls one transformer for every change, tombstones included', async () => {
    const log: string[] = [];
    const { table, node } = transforming(stored(), new Numbering(log));
    const capture = new TaskDouble().start(node);
    await node.start();
    await node.process('a', '1', null, 1, null);
    await node.process('a', null, '1', 2, null);
    table.enableSendingOldValues(true);
    await node.process('a', 'none', '1', 3, null);
    await node.close();
    expect(capture.take()).toEqual(['a=<1>@1', 'a=deleted@2', 'a=<1>->null@3']);
    expect(log).toEqual(['init', 'a=1@1', 'a=null@2', 'a=none@3', 'a=1@3', 'close']);
  });

  it('waits for asynchronous transformers, their beginning and end included', async () => {
    const log: string[] = [];
    const { node } = transforming(plain(), {
      init: async () => {
        await Promise.resolve();
        log.push('init');
      },
      transform: (value, key) => later(`${key}${String(value)}`),
      close: async () => {
        await Promise.resolve();
        log.push('close');
      },
    });
    const capture = new TaskDouble().start(node);
    await node.start();
    await node.process('a', '1', null, 1, null);
    await node.close();
    expect(log).toEqual(['init', 'close']);
    expect(capture.take()).toEqual(['a=a1@1']);
  });

  it('takes the old value from its store, and calls the transformer once', async () => {
    const log: string[] = [];
    const { table, node } = transforming(plain(), new Numbering(log), 's');
    table.enableSendingOldValues(true);
    const task = new TaskDouble();
    open(task, 's');
    const capture = task.start(node);
    await node.start();
    await node.process('a', '1', null, 1, null);
    await node.process('a', '2', '1', 2, null);
    expect(capture.take()).toEqual(['a=<1>@1', 'a=<1>-><2>@2']);
    expect(log).toEqual(['init', 'a=1@1', 'a=2@2']);
  });

  it('has a transformer of its own for each reader, told the time of the row', async () => {
    const log: string[] = [];
    const { table } = transforming(stored(), new Numbering(log));
    const task = new TaskDouble();
    open(task, 'parent').put('a', '1', 7);
    const getter = table.view().create();
    getter.init(task.context);
    await getter.start?.();
    expect(await getter.get('a')).toBe('<1>');
    expect(getter.foundTimestamp).toBe(7);
    // A row that is not there is put to the transformer as well.
    expect(await getter.get('b')).toBe('deleted');
    expect(getter.foundTimestamp).toBe(-1);
    await getter.close?.();
    expect(log).toEqual(['init', 'a=1@7', 'b=null@-1', 'close']);
  });

  it('refuses to be read if it has state stores but is not stored', () => {
    const { table } = transforming(stored(), new Numbering([]), null, true);
    expect(() => table.view()).toThrow(/give transformValues\(\)|giving transformValues\(\)/);
    const kept = transforming(stored(), new Numbering([]), 's', true);
    expect(kept.table.view().storeNames).toEqual(['s']);
  });

  it('reaches only the stores that it is connected to', async () => {
    const task = new TaskDouble();
    open(task, 'mine');
    open(task, 'other');
    const transformer: ValueTransformer<string, string, string> = {
      init: (context) => {
        context.getStateStore('mine');
        context.getStateStore('other');
      },
      transform: (value) => value,
    };
    const { node } = transforming(plain(), transformer);
    node.connect(new Set(['mine']));
    task.start(node);
    expect(() => node.start()).toThrow(/no access to the store other/);
  });
});
