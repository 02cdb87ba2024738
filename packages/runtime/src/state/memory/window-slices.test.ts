import { describe, expect, it } from 'vitest';
import { EXPIRY_BUCKETS_PER_RETENTION, SPARE_TABLE_MIN_BYTES } from '../limits.ts';
import { NO_ROW } from '../rows/row-table.ts';
import type { WindowTable } from '../rows/window-table.ts';
import { WindowSlices } from './window-slices.ts';

const RETENTION_MS = 80_000;
const SLICE_MS = RETENTION_MS / EXPIRY_BUCKETS_PER_RETENTION;

function fill(slices: WindowSlices, start: number, keys: number): WindowTable {
  const table = slices.atOrNew(start);
  for (let i = 0; i < keys; i++) {
    const key = Buffer.from(`key-${String(i)}`);
    const nearest = table.nearest(key, 0, key.length, start);
    const row = table.add(nearest, key, 0, key.length, start, key.length);
    table.set(row, key, 0, key.length, start);
  }
  return table;
}

const startsOf = (tables: Iterable<WindowTable>): number[] =>
  [...tables].map((table) => table.newestStart);

const hasRows = (table: WindowTable): boolean => [...table.newest()].some((row) => row !== NO_ROW);

describe('WindowSlices', () => {
  it('finds the slices of some times, newest first, in whichever order they came', () => {
    const slices = new WindowSlices(RETENTION_MS);
    for (const number of [3, 0, -2, 7, 1]) fill(slices, number * SLICE_MS, 1);
    expect(slices.at(3 * SLICE_MS + SLICE_MS - 1)?.newestStart).toBe(3 * SLICE_MS);
    expect(slices.at(2 * SLICE_MS)).toBeNull();
    expect(slices.at(-SLICE_MS - 1)?.newestStart).toBe(-2 * SLICE_MS);
    expect(startsOf(slices.between(-1, 3 * SLICE_MS))).toEqual([3, 1, 0].map((n) => n * SLICE_MS));
    expect(startsOf(slices.between(SLICE_MS, 0))).toEqual([]);
  });

  it('lets a slice go once its newest window has expired', () => {
    const slices = new WindowSlices(RETENTION_MS);
    fill(slices, 0, 1);
    fill(slices, 5, 1);
    fill(slices, SLICE_MS, 1);
    expect(slices.advanceTo(4)).toBe(false);
    expect(slices.at(0)).not.toBeNull();
    expect(slices.advanceTo(5)).toBe(true);
    expect(slices.at(0)).toBeNull();
    expect(startsOf(slices.between(0, RETENTION_MS))).toEqual([SLICE_MS]);
    slices.clear();
    expect(slices.at(SLICE_MS)).toBeNull();
  });

  it('gives the memory of one slice to the next', () => {
    const slices = new WindowSlices(RETENTION_MS);
    const first = fill(slices, 0, 20_000);
    fill(slices, SLICE_MS, 20_000);
    slices.advanceTo(0);
    const third = slices.atOrNew(2 * SLICE_MS);
    expect(third).toBe(first);
    expect(hasRows(third)).toBe(false);
    const { reservedBytes } = third;
    expect(reservedBytes).toBeGreaterThan(SPARE_TABLE_MIN_BYTES);
    fill(slices, 2 * SLICE_MS, 20_000);
    expect(third.reservedBytes).toBe(reservedBytes);
  });

  it('keeps no memory of a rush beyond the slice after it', () => {
    const slices = new WindowSlices(RETENTION_MS);
    const rush = fill(slices, 0, 50_000);
    slices.advanceTo(0);
    expect(fill(slices, SLICE_MS, 100)).toBe(rush);
    slices.advanceTo(SLICE_MS);
    const after = fill(slices, 2 * SLICE_MS, 100);
    expect(after).not.toBe(rush);
    expect(after.reservedBytes).toBeLessThan(SPARE_TABLE_MIN_BYTES);
    // One that takes little is used again, however few there were.
    slices.advanceTo(2 * SLICE_MS);
    expect(fill(slices, 3 * SLICE_MS, 1)).toBe(after);
    slices.advanceTo(3 * SLICE_MS);
    expect(slices.atOrNew(4 * SLICE_MS)).toBe(after);
  });

  it('has a slice per millisecond where retention is shorter than there are slices', () => {
    const slices = new WindowSlices(3);
    for (let start = 0; start < 100; start++) {
      slices.advanceTo(start - 3);
      fill(slices, start, 2);
      expect([...slices.between(0, 100)].length).toBeLessThanOrEqual(3);
    }
  });
});
