import { SPILL_SAMPLES_PER_SLICE, SPILL_TURN_ROWS } from '../limits.ts';
import { yieldToEventLoop } from '../../platform/event-loop.ts';

interface Keyed {
  readonly sortKey: string;
}

/**
 * Slices of rows in the order of their keys, each of about `sliceRows`. Hundreds of thousands of rows sorted
 * at once would hold up the event loop for a second; so they are first dealt out to ranges of keys, some
 * per turn of the event loop, and a range is sorted when it is its turn to be written.
 */
export async function* inKeyOrder<R extends Keyed>(
  rows: readonly R[],
  sliceRows: number,
): AsyncGenerator<R[]> {
  const bounds = boundsOf(rows, Math.ceil(rows.length / sliceRows));
  const ranges: R[][] = Array.from({ length: bounds.length + 1 }, () => []);
  for (let start = 0; start < rows.length; start += SPILL_TURN_ROWS) {
    const end = Math.min(rows.length, start + SPILL_TURN_ROWS);
    for (let i = start; i < end; i++) {
      const row = rows[i] as R;
      (ranges[rangeOf(row.sortKey, bounds)] as R[]).push(row);
    }
    if (end < rows.length) await yieldToEventLoop();
  }
  for (const range of ranges) {
    if (range.length > 0) yield range.sort(byKey);
  }
}

/** Keys that part the rows into ranges of about the same size, taken from a sample. */
function boundsOf(rows: readonly Keyed[], rangeCount: number): string[] {
  const sampleCount = Math.min(rows.length, rangeCount * SPILL_SAMPLES_PER_SLICE);
  const sample: string[] = [];
  for (let i = 0; i < sampleCount; i++) {
    const row = rows[Math.floor((i * rows.length) / sampleCount)] as Keyed;
    sample.push(row.sortKey);
  }
  sample.sort();
  const bounds: string[] = [];
  for (let i = 1; i < rangeCount; i++) {
    bounds.push(sample[Math.floor((i * sampleCount) / rangeCount)] as string);
  }
  return bounds;
}

/** How many bounds are at or below the key. */
function rangeOf(key: string, bounds: readonly string[]): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((bounds[middle] as string) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function byKey(a: Keyed, b: Keyed): number {
  return a.sortKey < b.sortKey ? -1 : a.sortKey > b.sortKey ? 1 : 0;
}
