import type { OffsetReset } from '../topology/built-topology.ts';
import { byDurationMs } from '../topology/offset-reset.ts';
import { durationMs, type Duration } from './duration.ts';

/**
 * An offset reset for a source: without a committed offset it begins with the first record that is not
 * older than this when the application starts, at the end of the partition if there is none (KIP-1106).
 */
export function byDuration(duration: Duration): OffsetReset {
  return byDurationMs(durationMs(duration, 'byDuration()'));
}
