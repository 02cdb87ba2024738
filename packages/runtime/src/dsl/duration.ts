import { parseDurationMs, type Duration } from '../duration.ts';
import { TopologyError } from '../errors.ts';

export type { Duration } from '../duration.ts';

/** A duration of the DSL in ms, 0 or more; `what` names the option in the error. */
export function durationMs(duration: Duration, what: string): number {
  const ms = parseDurationMs(duration);
  if (ms !== null && Number.isSafeInteger(ms) && ms >= 0) return ms;
  throw new TopologyError(
    `${what} is ${JSON.stringify(duration)}, but must be a whole number of milliseconds, 0 or more, or a text ` +
      'of numbers with the units ms, s, m, h or d, such as "5m" or "1h30m".',
  );
}
