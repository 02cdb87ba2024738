import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { javaHashCopyOrder, javaHashOrder } from './java-order.ts';
import { JavaTreeSet } from './java-tree-set.ts';

function fixture<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8')) as T;
}

describe("the order of Java's hash sets", () => {
  const cases =
    fixture<{ in: string[]; grown: string[]; copy: string[] }[]>('java-hash-order.json');

  it.each(cases.map((sample) => [sample.in.length, sample] as const))(
    'of %i strings',
    (_size, sample) => {
      expect(javaHashOrder(sample.in)).toEqual(sample.grown);
      expect(javaHashCopyOrder(sample.in)).toEqual(sample.copy);
    },
  );
});

describe("Java's tree set under a comparator that changes its mind", () => {
  it("iterates as Java's", () => {
    const cases = fixture<{ ops: [number, number][]; order: number[] }[]>('java-tree-set.json');
    for (const { ops, order } of cases) {
      const sizes = new Array<number>(26).fill(1);
      const size = (value: number): number => sizes[value] as number;
      const set = new JavaTreeSet<number>((a, b) =>
        a === b ? 0 : size(a) === size(b) ? a - b : size(b) - size(a),
      );
      for (const [value, growth] of ops) {
        if (growth === 0) set.add(value);
        else sizes[value] = size(value) + growth;
      }
      expect(set.values()).toEqual(order);
    }
  });
});
