import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { ChangeBuffer } from '../state/buffer/change-buffer.ts';
import { serdes } from '../serdes/serdes.ts';
import { Windowed } from '../serdes/windowed-key.ts';
import { SuppressedTable, SuppressOperator, type SuppressRule } from './suppress.ts';
import type { TableSource } from './table.ts';
import { TaskDouble } from './testing-support/task-double.ts';

const limit: SuppressRule<string> = {
  timeOf: (_key, timestamp) => timestamp,
  waitMs: 10,
  maxRecords: Infinity,
  maxBytes: Infinity,
  whenFull: 'emitEarly',
  dropsTombstones: false,
};

function start<K>(rule: SuppressRule<K>, key = serdes.string() as never) {
  const task = new TaskDouble();
  const options = { name: 's', topic: 'test-s-changelog', key, value: serdes.string() };
  const buffer = task.open(new ChangeBuffer<never, string>(options, false));
  const node = new SuppressOperator<K, string>('sup', rule, 's');
  const capture = task.start(node);
  const send = (k: K, value: string | null, timestamp: number, old: string | null = null) =>
    Promise.resolve(node.process(k, value, old, timestamp, null));
  return { task, buffer, node, capture, send };
}

describe.each([
  ['synchronous', false],
  ['asynchronous', true],
])('suppress, nodes below %s', (_mode, isAsynchronous) => {
  it('passes on the last change of a key when the limit is over since the first', async () => {
    const { capture, send } = start(limit);
    capture.isAsynchronous = isAsynchronous;
    await send('a', '1', 1);
    await send('a', '2', 9, '1');
    await send('b', '1', 5);
    await send('a', '3', 3, '2');
    expect(capture.take()).toEqual([]);
    await send('c', '1', 11);
    expect(capture.take()).toEqual(['a=2->3@3']);
    await send('c', '2', 21, '1');
    expect(capture.take()).toEqual(['b=1@5', 'c=1->2@21']);
  });

  it('passes on deleted rows', async () => {
    const { capture, send } = start(limit);
    capture.isAsynchronous = isAsynchronous;
    await send('a', '1', 1);
    await send('a', null, 2, '1');
    await send('b', '1', 20);
    expect(capture.take()).toEqual(['a=1->null@2']);
  });

  it('lets the earliest go when there are too many', async () => {
    const { buffer, capture, send } = start({ ...limit, waitMs: 1000, maxRecords: 2 });
    capture.isAsynchronous = isAsynchronous;
    await send('c', '1', 3);
    await send('b', '1', 1);
    await send('a', '1', 2);
    expect(capture.take()).toEqual(['b=1@1']);
    await send('d', '1', 0);
    expect(capture.take()).toEqual(['d=1@0']);
    expect(buffer.recordCount).toBe(2);
  });

  it('never keeps more than it may, whatever comes', async () => {
    const { buffer, capture, send } = start({
      ...limit,
      waitMs: 1e9,
      maxRecords: 50,
      maxBytes: 900,
    });
    capture.isAsynchronous = isAsynchronous;
    for (let i = 0; i < 2_000; i++) {
      await send(`k${String((i * 7919) % 300)}`, 'v'.repeat(i % 20), i);
      expect(buffer.recordCount).toBeLessThanOrEqual(50);
      expect(buffer.estimatedBytes).toBeLessThanOrEqual(900);
    }
    capture.take();
  });

  it('gives each record its own origin and headers', async () => {
    const { task, node, capture } = start(limit);
    const seen: string[] = [];
    capture.process = (key) => {
      const note = (): void => {
        const { topic, partition } = task.context.origin ?? { topic: 'none', partition: -1 };
        seen.push(`${String(key)} ${String(topic)}-${String(partition)}`);
      };
      note();
      return isAsynchronous ? Promise.resolve().then(note) : undefined;
    };
    await node.process('a', '1', null, 1, new RecordHeaders().add('h', '1'));
    await node.process('b', '1', null, 50, null);
    expect(seen).toEqual(Array.from({ length: isAsynchronous ? 2 : 1 }, () => 'a in-0'));
    expect(task.context.origin).toBeNull();
  });

  it('keeps what could not be passed on, and gives the origin back', async () => {
    const { task, buffer, capture, send } = start(limit);
    capture.process = () => {
      if (isAsynchronous) return Promise.reject(new Error('below'));
      throw new Error('below');
    };
    await send('a', '1', 1);
    await expect(async () => send('b', '1', 50)).rejects.toThrow('below');
    expect(buffer.recordCount).toBe(2);
    expect(task.context.origin).toBeNull();
  });
});

describe('suppress', () => {
  const windowed = serdes.timeWindowed(serdes.string(), 10);
  const closes: SuppressRule<Windowed<string>> = {
    ...limit,
    timeOf: (key) => key.end,
    waitMs: 5,
    whenFull: 'shutDown',
    dropsTombstones: true,
  };

  it('passes on one result per window, when stream time reaches its end plus grace', async () => {
    const { capture, send } = start(closes, windowed as never);
    const first = new Windowed('a', 0, 10);
    await send(first, '1', 1);
    await send(first, '2', 3);
    await send(new Windowed('b', 0, 10), '1', 9);
    await send(new Windowed('a', 10, 20), '1', 14);
    expect(capture.take()).toEqual([]);
    await send(new Windowed('b', 10, 20), '1', 15);
    expect(capture.take()).toEqual(['[a@0/10]=2@3', '[b@0/10]=1@9']);
  });

  it('says nothing of a window whose row was deleted', async () => {
    const { buffer, capture, send } = start(closes, windowed as never);
    await send(new Windowed('a', 0, 10), '1', 1);
    await send(new Windowed('a', 0, 10), null, 2);
    await send(new Windowed('b', 30, 40), '1', 30);
    expect(capture.take()).toEqual([]);
    expect(buffer.recordCount).toBe(1);
  });

  it('ends processing when it is full and may not emit early', async () => {
    const { send } = start({ ...limit, maxRecords: 1, whenFull: 'shutDown' });
    await send('a', '1', 1);
    await expect(async () => send('b', '1', 2)).rejects.toThrow(
      'sup buffer exceeded its max capacity. Currently [2/1] records and [64/unbounded] bytes.',
    );
  });

  it('shows other operators what was there before the changes that it keeps', async () => {
    const { task, send } = start(limit);
    const asked: boolean[] = [];
    const parent: TableSource<string, string> = {
      view: () => ({
        storeNames: ['p'],
        create: () => ({
          isVersioned: false,
          foundTimestamp: 7,
          init: () => undefined,
          get: (key) => `${key} now`,
          getAsOf: () => null,
        }),
      }),
      enableSendingOldValues: (mustMaterialize) => {
        asked.push(mustMaterialize);
        return true;
      },
    };
    const table = new SuppressedTable(parent, 's');
    expect(table.enableSendingOldValues(true)).toBe(true);
    expect(asked).toEqual([true]);
    const view = table.view();
    expect(view.storeNames).toEqual(['s', 'p']);
    const getter = view.create();
    getter.init(task.context);
    expect([getter.get('a'), getter.foundTimestamp]).toEqual(['a now', 7]);
    await send('a', '2', 1, '1');
    await send('a', '3', 2, '2');
    expect([getter.get('a'), getter.foundTimestamp]).toEqual(['1', -1]);
  });

  it('asks for a commit when very many keys have changed', async () => {
    const { task, buffer, node } = start(limit);
    let requests = 0;
    Object.assign(task.context, { requestCommit: () => requests++ });
    await node.process('a', '1', null, 1, null);
    expect(requests).toBe(0);
    Object.defineProperty(buffer, 'needsCommit', { value: true });
    await node.process('a', '2', null, 2, null);
    expect(requests).toBe(1);
  });
});
