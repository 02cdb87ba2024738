import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { stringSerde } from '../serdes/string.ts';
import { RecordBuffer } from '../state/buffer/record-buffer.ts';
import type { Awaitable } from './outcome.ts';
import { StreamTableGraceJoinOperator } from './stream-table-grace-join.ts';
import type { TableView } from './table.ts';
import { TaskDouble } from './testing-support/task-double.ts';

/** One key's history: each value with the time from which it is current. */
type History = Record<string, [from: number, value: string][]>;

function versioned(history: History): TableView<string, string> {
  return {
    storeNames: ['t'],
    create: () => ({
      isVersioned: true,
      foundTimestamp: -1,
      init: () => undefined,
      get: () => {
        throw new Error('the latest row is not asked for');
      },
      getAsOf: (key, timestamp) =>
        (history[key] ?? []).findLast(([from]) => from <= timestamp)?.[1] ?? null,
    }),
  };
}

const later = async <T>(value: T): Promise<T> => {
  await Promise.resolve();
  return value;
};

describe.each([
  ['synchronous', <T>(value: T): Awaitable<T> => value],
  ['asynchronous', later],
] as [string, <T>(value: T) => Awaitable<T>][])(
  'stream-table join with grace, %s',
  (_mode, answer) => {
    function start(isLeft: boolean, history: History, graceMs = 10) {
      const task = new TaskDouble();
      const options = {
        name: 'b',
        topic: 'test-b-changelog',
        key: stringSerde,
        value: stringSerde,
      };
      const buffer = task.open(new RecordBuffer<string, string>(options, graceMs));
      const node = new StreamTableGraceJoinOperator<string, string, string, string>(
        'j',
        versioned(history),
        (left, right, key) => {
          origins.push(`${left}@${String(task.context.origin?.offset ?? 'none')}`);
          return answer(`${String(key as string | null)}:${left}+${String(right)}`);
        },
        isLeft,
        'b',
      );
      const origins: string[] = [];
      const capture = task.start(node);
      let offset = 0n;
      Object.assign(task.context, { offset: () => offset });
      const send = async (key: string | null, value: string | null, timestamp: number) => {
        await node.process(key, value, null, timestamp, null);
        offset++;
      };
      return { task, buffer, node, capture, send, origins };
    }

    it('finds the rows that came late, in the order of the records’ times', async () => {
      const history: History = { a: [[5, 'R1']] };
      const { task, capture, send, origins } = start(true, history);
      await send('a', 'L1', 10);
      await send('a', 'L2', 15);
      await send('a', 'L3', 12);
      expect(capture.take()).toEqual([]);
      history['a']?.push([11, 'R2']);
      await send('b', 'L4', 25);
      expect(capture.take()).toEqual(['a=a:L1+R1@10', 'a=a:L3+R2@12', 'a=a:L2+R2@15']);
      expect(origins).toEqual(['L1@0', 'L3@2', 'L2@1']);
      expect(task.context.origin).toBeNull();
      // Too late to wait: joined at once, as of its own time.
      await send('a', 'L5', 1);
      expect(capture.take()).toEqual(['a=a:L5+null@1']);
      expect(origins.at(-1)).toBe('L5@none');
    });

    it('inner: no output without a row; null keys and values are dropped and let nothing go', async () => {
      const { task, buffer, capture, send } = start(false, { a: [[0, 'R']] });
      await send('a', 'L1', 1);
      await send('b', 'L2', 2);
      await send(null, 'L3', 100);
      await send('a', null, 100);
      expect(task.dropped).toHaveLength(2);
      expect(buffer.recordCount).toBe(2);
      expect(capture.take()).toEqual([]);
      await send('a', 'L4', 50);
      expect(capture.take()).toEqual(['a=a:L1+R@1']);
    });

    it('left: joins a null key with null at once', async () => {
      const { task, capture, send } = start(true, {});
      await send('a', 'L1', 1);
      await send(null, 'L2', 100);
      expect(capture.take()).toEqual(['null=null:L2+null@100']);
      await send('a', null, 100);
      expect(task.dropped).toHaveLength(1);
      expect(capture.take()).toEqual([]);
    });

    it('gives a record its own headers back', async () => {
      const { node, capture, send } = start(true, {}, 0);
      await node.process('a', 'L1', null, 5, new RecordHeaders().add('h', '1'));
      await send('a', 'L2', 7);
      expect(capture.forwarded.map(({ headers }) => headers?.size ?? 0)).toEqual([1, 0]);
    });

    it('keeps a record whose join failed', async () => {
      const { task, buffer, capture, send } = start(true, {}, 0);
      capture.process = () => {
        throw new Error('below');
      };
      await expect(async () => send('a', 'L1', 1)).rejects.toThrow('below');
      expect(buffer.recordCount).toBe(1);
      expect(task.context.origin).toBeNull();
    });
  },
);
