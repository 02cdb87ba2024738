import { InvalidArgumentError } from 'commander';
import { parseDurationMs } from '@millrace/runtime/cluster';

const ISO_DURATION = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;
const ISO_UNITS_MS = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];
const ISO_TIME =
  /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;
const ZONE = /(?:Z|[+-]\d{2}:?\d{2})$/i;

/** Milliseconds of `30s`, `1h 30m`, `500ms`, a number of milliseconds, or ISO 8601 as in `PT12H`. */
export function parseDuration(text: string): number {
  const ms = parseDurationMs(text) ?? parseIsoDurationMs(text);
  if (ms !== null && ms >= 0) return ms;
  throw new InvalidArgumentError(`'${text}' is no duration such as 30s, 5m, 1h 30m or PT12H.`);
}

/** For waits that must have an end: more than nothing. */
export function parseTimeout(text: string): number {
  const ms = parseDuration(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError(`'${text}' leaves no time; give it a duration such as 30s.`);
}

function parseIsoDurationMs(text: string): number | null {
  const match = ISO_DURATION.exec(text.trim());
  if (match === null || !/\d/.test(text)) return null;
  return ISO_UNITS_MS.reduce((sum, unitMs, i) => sum + Number(match[i + 1] ?? 0) * unitMs, 0);
}

/** Epoch ms of `2026-11-30T08:15`, of a date, or of `@` and epoch ms; UTC where no zone is named. */
export function parseTimeMs(text: string): number | null {
  const epoch = /^@(\d+)$/.exec(text);
  if (epoch !== null) return Number(epoch[1]);
  if (!ISO_TIME.test(text)) return null;
  const isZoneless = /[T ]\d/i.test(text) && !ZONE.test(text);
  const ms = Date.parse(`${text.replace(' ', 'T')}${isZoneless ? 'Z' : ''}`);
  return Number.isNaN(ms) ? null : ms;
}

/** `2026-11-30T08:15:00.000Z`; null of a record without a timestamp, or of one that no calendar has. */
export function formatTime(ms: number): string | null {
  const date = new Date(ms);
  return ms < 0 || Number.isNaN(date.getTime()) ? null : date.toISOString();
}
