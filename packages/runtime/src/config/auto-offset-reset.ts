/** `auto.offset.reset` as it is used: a policy's name, or how far back in time to begin. */
export type AutoOffsetReset = 'earliest' | 'latest' | 'none' | { readonly byDurationMs: number };

const BY_DURATION = 'by_duration:';
const DAYS_AND_TIME = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?$/;
const MS_PER_DAY = 86_400_000;
const MS_PER_HOUR = 3_600_000;
const MS_PER_MINUTE = 60_000;
const MS_PER_SECOND = 1_000;

/** null for what Kafka does not take either; durations are ISO 8601, such as `by_duration:P3DT12H`. */
export function parseAutoOffsetReset(text: string): AutoOffsetReset | null {
  if (text === 'earliest' || text === 'latest' || text === 'none') return text;
  if (!text.startsWith(BY_DURATION)) return null;
  const duration = text.slice(BY_DURATION.length);
  const match = DAYS_AND_TIME.exec(duration);
  if (match === null || duration === 'P' || duration.endsWith('T')) return null;
  const part = (index: number): string => match[index] ?? '0';
  const fraction = Math.trunc(Number(`0.${part(5)}`) * MS_PER_SECOND);
  const byDurationMs =
    Number(part(1)) * MS_PER_DAY +
    Number(part(2)) * MS_PER_HOUR +
    Number(part(3)) * MS_PER_MINUTE +
    Number(part(4)) * MS_PER_SECOND +
    fraction;
  return Number.isSafeInteger(byDurationMs) ? { byDurationMs } : null;
}
