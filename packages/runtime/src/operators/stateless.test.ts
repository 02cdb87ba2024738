import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { FilterOperator } from './filter.ts';
import { FlatMapOperator } from './flat-map.ts';
import { FlatMapValuesOperator } from './flat-map-values.ts';
import { MapOperator } from './map.ts';
import { MapValuesOperator } from './map-values.ts';
import { MergeOperator } from './merge.ts';
import type { Awaitable } from './outcome.ts';
import { PeekOperator } from './peek.ts';
import type { ProcessorNode } from './processor-node.ts';
import { SelectKeyOperator } from './select-key.ts';
import { CaptureNode, TaskDouble } from './testing-support/task-double.ts';
import { ToStreamOperator } from './to-stream.ts';

const headers = new RecordHeaders().add('h', 'x');

/** The same operator with a function that answers at once, and one that answers later. */
type Wrap = <A extends unknown[], R>(fn: (...args: A) => R) => (...args: A) => Awaitable<R>;
const modes: [string, Wrap][] = [
  ['synchronous', (fn) => fn],
  [
    'asynchronous',
    (fn) =>
      async (...args) => {
        await Promise.resolve();
        return fn(...args);
      },
  ],
];

describe.each(modes)('stateless operators, %s', (mode, wrap) => {
  async function run(node: ProcessorNode, ...records: [unknown, unknown][]): Promise<string[]> {
    const capture = new TaskDouble().start(node);
    for (const [i, [key, value]] of records.entries()) {
      const outcome = node.process(key, value, null, i, headers);
      if (mode === 'synchronous') expect(outcome).toBeUndefined();
      await outcome;
    }
    expect(capture.forwarded.every((record) => record.headers === headers)).toBe(true);
    return capture.take();
  }

  it('filter forwards what the predicate says true to, nulls included', async () => {
    const predicate = wrap((_key: string | null, value: number | null) => value !== 2);
    const node = new FilterOperator('f', predicate, false);
    expect(await run(node, ['a', 1], ['b', 2], [null, null])).toEqual(['a=1@0', 'null=null@2']);
  });

  it('filterNot forwards what the predicate does not say true to', async () => {
    const predicate = wrap((_key: string, value: number) => (value === 2 ? true : value > 9));
    const node = new FilterOperator('f', predicate, true);
    expect(await run(node, ['a', 1], ['b', 2])).toEqual(['a=1@0']);
  });

  it('map forwards the new key and value', async () => {
    const mapper = wrap((key: string, value: number) => [`${key}!`, value * 2] as const);
    expect(await run(new MapOperator('m', mapper), ['a', 1], ['b', 2])).toEqual([
      'a!=2@0',
      'b!=4@1',
    ]);
  });

  it('map takes undefined for null', async () => {
    const mapper = wrap((): readonly [undefined, undefined] => [undefined, undefined]);
    const node = new MapOperator('m', mapper);
    const capture = new TaskDouble().start(node);
    await node.process('a', 1, null, 0, null);
    expect(capture.forwarded[0]).toMatchObject({ key: null, value: null });
  });

  it('mapValues forwards the new value, and may be given and return null', async () => {
    const mapper = wrap((value: number | null, key: string) => (value === null ? key : null));
    const node = new MapValuesOperator('m', mapper);
    expect(await run(node, ['a', null], ['b', 2])).toEqual(['a=a@0', 'b=null@1']);
  });

  it('selectKey forwards the value under the new key', async () => {
    const mapper = wrap((_key: string, value: number) => (value > 1 ? value : null));
    const node = new SelectKeyOperator('s', mapper);
    expect(await run(node, ['a', 1], ['b', 2])).toEqual(['null=1@0', '2=2@1']);
  });

  it('flatMap forwards each pair in order', async () => {
    const mapper = wrap((key: string, count: number) =>
      Array.from({ length: count }, (_, i) => [`${key}${String(i)}`, i] as const),
    );
    const node = new FlatMapOperator('f', mapper);
    expect(await run(node, ['a', 2], ['b', 0], ['c', 1])).toEqual(['a0=0@0', 'a1=1@0', 'c0=0@2']);
  });

  it('flatMapValues forwards each value in order, from any iterable', async () => {
    const mapper = wrap((text: string) => new Set(text.split(' ')));
    const node = new FlatMapValuesOperator('f', mapper);
    expect(await run(node, ['a', 'x y x'], ['b', 'z'])).toEqual(['a=x@0', 'a=y@0', 'b=z@1']);
  });

  it.each([true, false])(
    'flatMap keeps the order when what follows is asynchronous (%s)',
    async (isAsynchronous) => {
      const pairs = wrap((key: string) => [
        [key, 1] as const,
        [key, 2] as const,
        [key, 3] as const,
      ]);
      const node = new FlatMapOperator('f', pairs);
      const capture = new TaskDouble().start(node);
      capture.isAsynchronous = isAsynchronous;
      await node.process('a', 0, null, 5, headers);
      expect(capture.take()).toEqual(['a=1@5', 'a=2@5', 'a=3@5']);
    },
  );

  it('peek calls the function, then forwards', async () => {
    const seen: string[] = [];
    const action = wrap((key: string, value: number) => {
      seen.push(`${key}${String(value)}`);
    });
    expect(await run(new PeekOperator('p', action), ['a', 1], ['b', 2])).toEqual([
      'a=1@0',
      'b=2@1',
    ]);
    expect(seen).toEqual(['a1', 'b2']);
  });

  it('lets the error of a user function through, and forwards nothing', async () => {
    const node = new MapValuesOperator(
      'm',
      wrap((): number => {
        throw new Error('boom');
      }),
    );
    const capture = new TaskDouble().start(node);
    await expect((async () => node.process('a', 1, null, 0, null))()).rejects.toThrow('boom');
    expect(capture.forwarded).toEqual([]);
  });
});

describe('forwarding', () => {
  it('merge forwards as it is', () => {
    const node = new MergeOperator('m');
    const capture = new TaskDouble().start(node);
    expect(node.process('a', 1, null, 3, headers)).toBeUndefined();
    expect(capture.take()).toEqual(['a=1@3']);
  });

  it('toStream leaves the old value behind', () => {
    const node = new ToStreamOperator('t');
    const capture = new TaskDouble().start(node);
    void node.process('a', 1, 'old', 3, headers);
    expect(capture.take()).toEqual(['a=1@3']);
  });

  it('serves several children in order, waiting for an asynchronous one', async () => {
    const node = new MergeOperator('m');
    const order: string[] = [];
    const children = ['x', 'y', 'z'].map((name) => {
      const child = new CaptureNode(name);
      child.isAsynchronous = name === 'x';
      const { process } = child;
      child.process = (...args) => {
        order.push(name);
        return process.apply(child, args);
      };
      return child;
    });
    for (const child of children) node.children.add(child);
    const outcome = node.process('a', 1, null, 0, null);
    expect(order).toEqual(['x']);
    await outcome;
    expect(order).toEqual(['x', 'y', 'z']);
    expect(children.map((child) => child.take())).toEqual([['a=1@0'], ['a=1@0'], ['a=1@0']]);
  });

  it('waits for whatever has a then', async () => {
    const thenable = {
      then: (done: (value: number) => void) => {
        done(7);
      },
    };
    const node = new MapValuesOperator('m', () => thenable as PromiseLike<number>);
    const capture = new TaskDouble().start(node);
    await node.process('a', 1, null, 0, null);
    expect(capture.take()).toEqual(['a=7@0']);
  });
});
