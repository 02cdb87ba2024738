import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_ROW } from './row-table.ts';
import { WindowTable } from './window-table.ts';

const step = fc.record({
  do: fc.constantFrom('put', 'put', 'put', 'remove', 'look' as const),
  key: fc.constantFrom('', 'a', 'a\u0000', 'b', 'long'.repeat(300)),
  start: fc.oneof(fc.nat(12), fc.integer({ min: -3, max: 2 ** 45 })),
  length: fc.oneof(fc.nat(20), fc.constant(5_000)),
  /** Begins at some other window of the key. */
  isKnown: fc.boolean(),
});

class Windows {
  readonly table = new WindowTable();
  /** Rows by start, of each key that has some. */
  readonly model = new Map<string, Map<number, { row: number; value: string }>>();
  #count = 0;

  nearest(key: string, start: number, from?: number): number {
    const bytes = Buffer.from(key, 'latin1');
    return this.table.nearest(bytes, 0, bytes.length, start, from);
  }

  put(key: string, start: number, length: number, nearest: number): void {
    const { table } = this;
    const bytes = Buffer.from(key, 'latin1');
    const isThere = nearest !== NO_ROW && table.startOf(nearest) === start;
    const row = isThere
      ? nearest
      : table.add(nearest, bytes, 0, bytes.length, start, Math.min(length, 10));
    const value = String.fromCharCode(97 + (++this.#count % 26)).repeat(length);
    table.set(row, Buffer.from(value), 0, length, start + 0.5);
    const known = this.model.get(key) ?? new Map<number, { row: number; value: string }>();
    this.model.set(key, known.set(start, { row, value }));
  }

  remove(key: string, start: number, nearest: number): void {
    const known = this.model.get(key);
    if (known?.has(start) !== true) return;
    this.table.remove(nearest);
    known.delete(start);
    if (known.size === 0) this.model.delete(key);
  }

  expectEqual(): void {
    const { table } = this;
    const newest = [...table.newest()];
    const all = new Map<string, [number, { row: number; value: string }][]>();
    for (const first of newest) {
      const { buffer, start, end } = table.key(first);
      const key = buffer.toString('latin1', start, end);
      const found: [number, { row: number; value: string }][] = [];
      for (let row = first; row !== NO_ROW; row = table.olderOf(row)) {
        const value = table.value(row);
        const text = value.buffer.toString('latin1', value.start, value.end);
        // Each was put half a millisecond behind its start.
        const windowStart = table.timestamp(row) - 0.5;
        found.push([
          windowStart === table.startOf(row) ? windowStart : Number.NaN,
          { row, value: text },
        ]);
      }
      all.set(key, found);
    }
    const newestFirst = [...this.model].map(
      ([key, known]) => [key, [...known].sort(([a], [b]) => b - a)] as const,
    );
    expect(all).toEqual(new Map(newestFirst));
  }
}

describe('WindowTable', () => {
  it('is what a map of maps is, from whichever window of a key one begins', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const windows = new Windows();
        const { table, model } = windows;
        for (const { do: action, key, start, length, isKnown } of steps) {
          const known = model.get(key);
          const from = isKnown ? [...(known?.values() ?? [])][0]?.row : undefined;
          const nearest = windows.nearest(key, start, from);
          const starts = [...(known?.keys() ?? [])].sort((a, b) => a - b);
          if (nearest === NO_ROW) {
            expect(starts).toEqual([]);
          } else {
            const below = starts.filter((s) => s <= start).at(-1);
            const above = starts.find((s) => s >= start);
            expect([below, above]).toContain(table.startOf(nearest));
            if (known?.has(start) === true) expect(table.startOf(nearest)).toBe(start);
          }
          if (action === 'put') windows.put(key, start, length, nearest);
          if (action === 'remove') windows.remove(key, start, nearest);
        }
        windows.expectEqual();
        for (const [key, rows] of [...model]) {
          for (const start of [...rows.keys()]) {
            windows.remove(key, start, windows.nearest(key, start));
          }
        }
        windows.expectEqual();
        expect(table.takenBytes).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('takes the memory of rows that are gone as a whole for those that come', () => {
    const windows = new Windows();
    const { table, model } = windows;
    let reserved = 0;
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 6_000; i++) {
        const key = `key-${String(i % 4_000)}`;
        windows.put(key, i, 700, windows.nearest(key, i));
      }
      windows.put('large', 1, 3_000_000, windows.nearest('large', 1));
      expect(table.newestStart).toBe(5_999);
      windows.expectEqual();
      if (round > 0) expect(table.reservedBytes).toBe(reserved);
      reserved = table.reservedBytes;
      table.reset();
      expect(table.takenBytes).toBe(0);
      // A block of its own is not likely to be asked for again.
      expect(table.reservedBytes).toBeLessThan(reserved - 2_900_000);
      model.clear();
      windows.expectEqual();
      expect(windows.nearest('key-1', 1)).toBe(NO_ROW);
    }
  });
});
