const TWO_32 = 2 ** 32;

/**
 * An int64 as a number, without a BigInt in between. Exact between -2^53 and 2^53, which every
 * timestamp is; rounded to the nearest double beyond.
 */
export function readInt64AsNumber(buffer: Buffer, position: number): number {
  return buffer.readInt32BE(position) * TWO_32 + buffer.readUInt32BE(position + 4);
}

/** Writes a safe integer as an int64. */
export function writeInt64FromNumber(target: Buffer, position: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  target.writeInt32BE(high, position);
  target.writeUInt32BE(value - high * TWO_32, position + 4);
}
