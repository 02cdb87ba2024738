import { describe, expect, it } from 'vitest';
import { RecordsInHand } from './records-in-hand.ts';

const task = (name: string, processedCount: number, hasRecordInHand = true) => ({
  name,
  processedCount,
  hasRecordInHand,
});

describe('RecordsInHand', () => {
  it('counts from when a record was seen first, and anew for the next one', () => {
    const records = new RecordsInHand(100);
    expect(records.overdue([task('a', 1), task('b', 1, false)], 0)).toEqual([]);
    expect(records.nextOverdueMs([task('a', 1)], 50)).toBe(101);
    expect(records.overdue([task('a', 1)], 100)).toEqual([]);
    expect(records.overdue([task('a', 1)], 101)).toEqual(['a']);
    expect(records.overdue([task('a', 2)], 102)).toEqual([]);
    expect(records.nextOverdueMs([task('a', 2)], 102)).toBe(203);
  });

  it('forgets a task that has none, or is gone', () => {
    const records = new RecordsInHand(100);
    records.overdue([task('a', 1), task('b', 1)], 0);
    expect(records.overdue([task('a', 1, false)], 200)).toEqual([]);
    expect(records.nextOverdueMs([], 200)).toBe(Infinity);
    expect(records.overdue([task('a', 1), task('b', 1)], 201)).toEqual([]);
  });
});
