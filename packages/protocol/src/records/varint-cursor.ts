const TWO_28 = 2 ** 28;
const TWO_56 = 2 ** 56;

/**
 * Where reading goes on: the second result of the functions below, in an object that is reused.
 * NO_VARINT when the varint is cut off at `end` or too long; the caller knows whose it was.
 */
export interface VarintCursor {
  position: number;
}

export const NO_VARINT = -1;

/** A zigzag varint of 32 bits at `position`. */
export function varint32At(
  buffer: Buffer,
  position: number,
  end: number,
  after: VarintCursor,
): number {
  after.position = NO_VARINT;
  let bits = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    if (position >= end) return 0;
    const byte = buffer[position++] as number;
    bits |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (shift === 28 && byte > 0x0f) break;
      after.position = position;
      return (bits >>> 1) ^ -(bits & 1);
    }
  }
  return 0;
}

/**
 * A zigzag varint of 64 bits as a number: exact between -2^53 and 2^53, rounded to the nearest
 * double beyond. No BigInt, as timestamps come through here.
 */
export function varint64At(
  buffer: Buffer,
  position: number,
  end: number,
  after: VarintCursor,
): number {
  after.position = NO_VARINT;
  // The 64 bits in three parts that 32-bit operations can hold: 28, 28 and 8.
  let low = 0;
  let middle = 0;
  let high = 0;
  for (let index = 0; index < 10; index++) {
    if (position >= end) return 0;
    const byte = buffer[position++] as number;
    const seven = byte & 0x7f;
    if (index < 4) low |= seven << (7 * index);
    else if (index < 8) middle |= seven << (7 * (index - 4));
    else high |= seven << (7 * (index - 8));
    if (byte < 0x80) {
      if (index === 9 && byte > 0x01) break;
      after.position = position;
      const halfLow = (low >>> 1) | ((middle & 1) << 27);
      const halfMiddle = (middle >>> 1) | ((high & 1) << 27);
      const half = (high >>> 1) * TWO_56 + halfMiddle * TWO_28 + halfLow;
      return (low & 1) === 0 ? half : -half - 1;
    }
  }
  return 0;
}
