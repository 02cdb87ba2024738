import { SESSION_SUFFIX_BYTES } from '../session-key.ts';
import { timeText } from '../window-order.ts';
import { highestWith, timeAt } from './window-row-key.ts';

const TIME_BYTES = 8;
const FIRST_TIME = timeText(0);
const LAST_TIME = timeText(Number.MAX_SAFE_INTEGER);

/** Sessions of the keys `first` to `last` that end at `earliestEnd` or later and start by `latestStart`; a null key means open. */
export interface SessionRange {
  readonly first: string | null;
  readonly last: string | null;
  readonly earliestEnd: number;
  readonly latestStart: number;
}

export function sessionKeyOf(rowKey: string): string {
  return rowKey.slice(0, rowKey.length - SESSION_SUFFIX_BYTES);
}

export function sessionEndOf(rowKey: string): number {
  return timeAt(rowKey, rowKey.length - SESSION_SUFFIX_BYTES);
}

export function sessionStartOf(rowKey: string): number {
  return timeAt(rowKey, rowKey.length - TIME_BYTES);
}

/** Of all row keys in the range; others may be at least as high, too. Null: open. */
export function lowestSessionRow({ first, last, earliestEnd }: SessionRange): string | null {
  if (first === null || first !== last) return first;
  return first + timeText(earliestEnd) + FIRST_TIME;
}

/** Of all row keys in the range; others may be lower. Null: open. */
export function highestSessionRow({ first, last }: SessionRange): string | null {
  if (last === null) return null;
  const suffix = LAST_TIME + LAST_TIME;
  return first === last ? last + suffix : highestWith(last, suffix);
}

export function isInSessionRange(rowKey: string, range: SessionRange): boolean {
  const { first, last, earliestEnd, latestStart } = range;
  if (sessionEndOf(rowKey) < earliestEnd || sessionStartOf(rowKey) > latestStart) return false;
  if (first === null && last === null) return true;
  const key = sessionKeyOf(rowKey);
  return (first === null || key >= first) && (last === null || key <= last);
}

/** The same row in a table that is sorted by end, then by start. */
export function byEndRow(rowKey: string): string {
  return rowKey.slice(rowKey.length - SESSION_SUFFIX_BYTES) + sessionKeyOf(rowKey);
}

export function rowOfByEnd(byEnd: string): string {
  return byEnd.slice(SESSION_SUFFIX_BYTES) + byEnd.slice(0, SESSION_SUFFIX_BYTES);
}

/** Bounds of all rows by end that end from `earliest` to `latest`; neither bound can be a row, which has a start, too. */
export function byEndBounds(earliest: number, latest: number): readonly [string, string] {
  return [timeText(earliest), timeText(latest + 1)];
}
