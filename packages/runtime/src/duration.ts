const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A time span: milliseconds, or a string such as `'100ms'`, `'30s'`, `'5m'`, `'1h'`, `'7d'`, `'1h 30m'`. */
export type Duration = number | string;

/** Milliseconds, or null if the text is no duration. */
export function parseDurationMs(duration: Duration): number | null {
  if (typeof duration === 'number') return Number.isFinite(duration) ? duration : null;
  const text = duration.trim();
  if (/^-?\d+$/.test(text)) return Number(text);
  if (!/^(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$/.test(text)) return null;
  let sum = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/g)) {
    sum += Number(amount) * (UNITS_MS[unit as string] as number);
  }
  return sum;
}
