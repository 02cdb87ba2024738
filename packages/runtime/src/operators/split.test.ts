import { describe, expect, it } from 'vitest';
import { BranchOperator, SplitOperator } from './split.ts';
import { CaptureNode } from './testing-support/task-double.ts';

type Test = (key: unknown, value: unknown) => boolean | Promise<boolean>;

function split(predicates: Test[], names: string[]) {
  const node = new SplitOperator('split', { predicates, names });
  const connected = names.map((name) => {
    const branch = new BranchOperator(name);
    const capture = new CaptureNode();
    branch.children.add(capture);
    return { branch, capture };
  });
  // Whatever the order in which branches are connected.
  for (const { branch } of connected.toReversed()) node.children.add(branch);
  const captures = connected.map(({ capture }) => capture);
  node.init();
  return { node, taken: () => captures.map((capture) => capture.take()) };
}

const startsWith =
  (text: string): Test =>
  (_key, value) =>
    String(value).startsWith(text);

describe('split', () => {
  it('sends a record to the first branch that wants it, and asks no further', () => {
    let asked = 0;
    const second: Test = () => {
      asked++;
      return true;
    };
    const { node, taken } = split([startsWith('x'), second], ['a', 'b', 'rest']);
    void node.process('k', 'x', null, 1, null);
    expect(asked).toBe(0);
    void node.process('k', 'y', null, 2, null);
    void node.process(null, null, null, 3, null);
    expect(taken()).toEqual([['k=x@1'], ['k=y@2', 'null=null@3'], []]);
  });

  it('leaves out what no branch wants, or gives it to the default branch', () => {
    const without = split([startsWith('x')], ['a']);
    expect(without.node.process('k', 'y', null, 1, null)).toBeUndefined();
    expect(without.taken()).toEqual([[]]);
    const withDefault = split([startsWith('x')], ['a', 'rest']);
    void withDefault.node.process('k', 'y', null, 1, null);
    expect(withDefault.taken()).toEqual([[], ['k=y@1']]);
  });

  it('waits for predicates that promise', async () => {
    const later =
      (test: Test): Test =>
      async (key, value) => {
        await Promise.resolve();
        return test(key, value);
      };
    const { node, taken } = split([later(startsWith('x')), later(startsWith('y'))], ['a', 'b']);
    for (const value of ['x', 'y', 'z']) await node.process('k', value, null, 1, null);
    expect(taken()).toEqual([['k=x@1'], ['k=y@1']]);
  });
});
