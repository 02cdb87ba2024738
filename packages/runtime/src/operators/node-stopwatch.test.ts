import { describe, expect, it } from 'vitest';
import type { Outcome } from './outcome.ts';
import { NodeStopwatch } from './node-stopwatch.ts';
import { ProcessorNode } from './processor-node.ts';

let nowMs = 0;

/** Takes a while before and after the nodes below. */
class Slow extends ProcessorNode {
  readonly #ms: number;
  readonly #fails: boolean;

  constructor(name: string, ms: number, fails = false) {
    super(name);
    this.#ms = ms;
    this.#fails = fails;
  }

  override process(key: unknown, value: unknown): Outcome {
    nowMs += this.#ms / 2;
    const outcome = this.children.forward(key, value, null, 0, null);
    nowMs += this.#ms / 2;
    if (this.#fails) throw new Error('after all');
    return outcome;
  }
}

function chain(...nodes: ProcessorNode[]): ProcessorNode {
  for (const [i, node] of nodes.entries()) {
    const next = nodes[i + 1];
    if (next !== undefined) node.children.add(next);
  }
  return nodes[0] as ProcessorNode;
}

function receive(node: ProcessorNode): void {
  expect(node.entry.receive('k', 'v', null, 0, null, true)).toBeUndefined();
}

describe('NodeStopwatch', () => {
  it('tells the node that takes longest for itself, without those below', () => {
    const nodes = [new Slow('a', 30), new Slow('b', 50), new Slow('c', 40)];
    const first = chain(...nodes);
    const stopwatch = new NodeStopwatch(() => nowMs);
    receive(first);
    expect(stopwatch.slowest).toBeNull();
    stopwatch.attach(nodes);
    receive(first);
    expect(stopwatch.slowest).toEqual({ node: 'b', ms: 50 });
    receive(first);
    expect(stopwatch.slowest).toEqual({ node: 'b', ms: 100 });
    stopwatch.reset();
    expect(stopwatch.slowest).toBeNull();
    receive(nodes[2] as ProcessorNode);
    expect(stopwatch.slowest).toEqual({ node: 'c', ms: 40 });
  });

  it('goes on where a node throws', () => {
    const nodes = [new Slow('a', 10), new Slow('b', 20, true)];
    const first = chain(...nodes);
    const stopwatch = new NodeStopwatch(() => nowMs);
    stopwatch.attach(nodes);
    expect(() => receive(first)).toThrow('after all');
    expect(stopwatch.slowest).toEqual({ node: 'b', ms: 20 });
    expect(() => receive(first)).toThrow('after all');
    expect(stopwatch.slowest).toEqual({ node: 'b', ms: 40 });
  });
});
