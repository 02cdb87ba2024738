/** Below it a loop is faster than a call out of V8. */
const LOOP_MAX_BYTES = 64;

export function copyBytes(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  position: number,
): void {
  if (end - start > LOOP_MAX_BYTES) {
    source.copy(target, position, start, end);
    return;
  }
  for (let from = start, to = position; from < end; from++, to++) {
    target[to] = source[from] as number;
  }
}
