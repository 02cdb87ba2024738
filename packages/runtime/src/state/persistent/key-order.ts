import { SPILL_SAMPLES_PER_SLICE, SPILL_TURN_ROWS } from '../limits.ts';
import { yieldToEventLoop } from '../../platform/event-loop.ts';

/** A list, of whatever kind. */
interface Rows<R> {
  readonly length: number;
  at(index: number): R | undefined;
}

/**
 * Slices of rows in the order of their keys, each of about `sliceRows`. Hundreds of thousands of rows sorted
 * at once would hold up the event loop for a second; so they are first dealt out to ranges of keys, some
 * per turn of the event loop, and a range is sorted when it is its turn to be written.
 *
 * @param compare orders two rows by their keys
 */
export async function* inKeyOrder<R>(
  rows: Rows<R>,
  compare: (a: R, b: R) => number,
  sliceRows: number,
): AsyncGenerator<R[]> {
  const bounds = boundsOf(rows, compare, Math.ceil(rows.length / sliceRows));
  const ranges: R[][] = Array.from({ length: bounds.length + 1 }, () => []);
  for (let start = 0; start < rows.length; start += SPILL_TURN_ROWS) {
    const end = Math.min(rows.length, start + SPILL_TURN_ROWS);
    for (let i = start; i < end; i++) {
      const row = rows.at(i) as R;
      (ranges[rangeOf(row, bounds, compare)] as R[]).push(row);
    }
    if (end < rows.length) await yieldToEventLoop();
  }
  for (const range of ranges) {
    if (range.length > 0) yield range.sort(compare);
  }
}

/** Rows that part all of them into ranges of about the same size, taken from a sample. */
function boundsOf<R>(rows: Rows<R>, compare: (a: R, b: R) => number, rangeCount: number): R[] {
  const sampleCount = Math.min(rows.length, rangeCount * SPILL_SAMPLES_PER_SLICE);
  const sample: R[] = [];
  for (let i = 0; i < sampleCount; i++) {
    sample.push(rows.at(Math.floor((i * rows.length) / sampleCount)) as R);
  }
  sample.sort(compare);
  const bounds: R[] = [];
  for (let i = 1; i < rangeCount; i++) {
    bounds.push(sample[Math.floor((i * sampleCount) / rangeCount)] as R);
  }
  return bounds;
}

/** How many bounds are at or below the row. */
function rangeOf<R>(row: R, bounds: readonly R[], compare: (a: R, b: R) => number): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(bounds[middle] as R, row) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
