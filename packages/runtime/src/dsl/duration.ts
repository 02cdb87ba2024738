import { TopologyError } from '../errors.ts';

/** Milliseconds, or a text such as `250ms`, `30s`, `5m`, `1h`, `7d`, also put together: `1h30m`. */
export type Duration = number | string;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const PART = /(\d+)(ms|s|m|h|d)/g;
const WHOLE = /^(?:\d+(?:ms|s|m|h|d))+$/;

/** In ms. `what` names the option in errors. */
export function durationMs(duration: Duration, what: string): number {
  const ms = typeof duration === 'number' ? duration : parse(duration, what);
  if (!Number.isSafeInteger(ms) || ms < 0) {
    throw new TopologyError(
      `${what} is ${String(duration)}, but must be a whole number of milliseconds, 0 or more.`,
    );
  }
  return ms;
}

function parse(text: string, what: string): number {
  if (!WHOLE.test(text)) {
    throw new TopologyError(
      `${what} is ${JSON.stringify(text)}, which is no duration: give milliseconds as a number, or a ` +
        'text of numbers with the units ms, s, m, h or d, such as "5m" or "1h30m".',
    );
  }
  let ms = 0;
  for (const [, count, unit] of text.matchAll(PART)) {
    ms += Number(count) * (UNITS[unit as string] as number);
  }
  return ms;
}
