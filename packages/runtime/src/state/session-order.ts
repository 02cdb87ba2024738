import { compareText, timeText } from './window-order.ts';

/** What the order of sessions depends on; the key is its bytes as a latin1 string. */
export interface OrderedSession {
  readonly sortKey: string;
  readonly start: number;
  readonly end: number;
}

/** Segments of 1 ms are those of an in-memory store, which has an order of its own. */
export const IN_MEMORY_SEGMENT_MS = 1;

/** The latest end of what a store forgets when all up to `limit` has expired: a persistent store, whole segments. */
export function forgottenEnd(segmentMs: number, limit: number): number {
  if (segmentMs === IN_MEMORY_SEGMENT_MS) return limit;
  return Math.floor(limit / segmentMs) * segmentMs - 1;
}

/** Of two sessions with the same key and end, an in-memory store gives the later start first. */
export function startOrder(segmentMs: number): 1 | -1 {
  return segmentMs === IN_MEMORY_SEGMENT_MS ? -1 : 1;
}

/**
 * The order in which a session store goes over several keys: from segment to segment, and inside one by
 * the bytes of key, end and start; an in-memory one by end, key bytes and start, the latest start first.
 */
export function compareSessions(
  segmentMs: number,
  left: OrderedSession,
  right: OrderedSession,
): number {
  if (segmentMs === IN_MEMORY_SEGMENT_MS) return compareInMemory(left, right);
  const bySegment = Math.floor(left.end / segmentMs) - Math.floor(right.end / segmentMs);
  if (bySegment !== 0) return bySegment;
  const { sortKey: leftKey } = left;
  const { sortKey: rightKey } = right;
  if (leftKey === rightKey) return left.end - right.end || left.start - right.start;
  if (leftKey.startsWith(rightKey) || rightKey.startsWith(leftKey)) {
    return compareText(rowText(left), rowText(right));
  }
  return compareText(leftKey, rightKey);
}

/** The order in which a session store goes over all keys by end. */
export function compareSessionsByEnd(
  segmentMs: number,
  left: OrderedSession,
  right: OrderedSession,
): number {
  if (segmentMs === IN_MEMORY_SEGMENT_MS) return compareInMemory(left, right);
  return (
    left.end - right.end || left.start - right.start || compareText(left.sortKey, right.sortKey)
  );
}

function compareInMemory(left: OrderedSession, right: OrderedSession): number {
  return (
    left.end - right.end || compareText(left.sortKey, right.sortKey) || right.start - left.start
  );
}

function rowText({ sortKey, start, end }: OrderedSession): string {
  return sortKey + timeText(end) + timeText(start);
}
