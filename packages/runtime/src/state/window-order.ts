const TIME_CHARS = 8;
const BYTE = 256;

/**
 * The order in which a window store goes over several keys: from segment to segment, and inside one by
 * the bytes of key and start. Segments of 1 ms give the order of an in-memory store.
 */
export function compareWindows(
  segmentMs: number,
  leftKey: string,
  leftStart: number,
  rightKey: string,
  rightStart: number,
): number {
  const bySegment = Math.floor(leftStart / segmentMs) - Math.floor(rightStart / segmentMs);
  if (bySegment !== 0) return bySegment;
  if (leftKey === rightKey) return leftStart - rightStart;
  if (leftKey.startsWith(rightKey) || rightKey.startsWith(leftKey)) {
    return compareText(leftKey + timeText(leftStart), rightKey + timeText(rightStart));
  }
  return compareText(leftKey, rightKey);
}

export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A time's 8 bytes as a latin1 string. */
export function timeText(time: number): string {
  let text = '';
  let rest = time;
  for (let i = 0; i < TIME_CHARS; i++) {
    text = String.fromCharCode(rest % BYTE) + text;
    rest = Math.floor(rest / BYTE);
  }
  return text;
}
