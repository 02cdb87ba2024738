import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SPILL_TURN_ROWS } from '../limits.ts';
import { inKeyOrder } from './key-order.ts';

interface Keyed {
  readonly sortKey: string;
}

function byKey(a: Keyed, b: Keyed): number {
  return a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0;
}

async function slicesOf(keys: readonly string[], sliceRows: number): Promise<string[][]> {
  const rows: Keyed[] = keys.map((sortKey) => ({ sortKey }));
  const slices: string[][] = [];
  for await (const slice of inKeyOrder(rows, byKey, sliceRows)) {
    slices.push(slice.map(({ sortKey }) => sortKey));
  }
  return slices;
}

describe('inKeyOrder', () => {
  it('gives every row once, in the order of the keys, whatever they are', async () => {
    const keys = fc.uniqueArray(fc.string({ maxLength: 6 }), { maxLength: 200 });
    const property = fc.asyncProperty(keys, fc.integer({ min: 1, max: 50 }), async (all, size) => {
      const slices = await slicesOf(all, size);
      expect(slices.flat()).toEqual(all.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(slices.every((slice) => slice.length > 0)).toBe(true);
    });
    await fc.assert(property, { numRuns: 300 });
  });

  it('makes slices of about the size that was asked for', async () => {
    const keys = Array.from({ length: 50_000 }, (_, i) => `key-${String((i * 7_919) % 50_000)}`);
    const slices = await slicesOf(keys, 1_000);
    expect(slices.length).toBeGreaterThan(25);
    expect(Math.max(...slices.map(({ length }) => length))).toBeLessThan(4_000);
  });

  it('lets the event loop go on while it deals out many rows', async () => {
    const keys = Array.from({ length: 5 * SPILL_TURN_ROWS }, (_, i) => `key-${String(i)}`);
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      if (isDone) return;
      turns++;
      setImmediate(count);
    };
    setImmediate(count);
    await slicesOf(keys, keys.length);
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(4);
  });
});
