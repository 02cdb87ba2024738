import { TopologyError } from '../errors.ts';
import type { ByDuration, OffsetReset } from './built-topology.ts';

/**
 * Without a committed offset, begin with the first record that is not older than this at that time
 * (KIP-1106); at the end of the partition if there is none.
 */
export function byDurationMs(ms: number): ByDuration {
  if (!Number.isSafeInteger(ms) || ms < 0) {
    throw new TopologyError(
      `An offset reset by a duration of ${String(ms)} ms is impossible: give a whole number of ms, 0 or more.`,
    );
  }
  return { byDurationMs: ms };
}

export function isSameReset(a: OffsetReset | null, b: OffsetReset | null): boolean {
  if (a === null || b === null || typeof a === 'string' || typeof b === 'string') return a === b;
  return a.byDurationMs === b.byDurationMs;
}
