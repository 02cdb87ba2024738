/**
 * Varints on a plain (buffer, position), for the record path: no object, no bounds check. The
 * caller has made sure of the room; `sizeOf…` says how much is needed.
 *
 * Signed ones are zigzag, as in record batches; unsigned ones are those of the flexible protocol
 * versions (KIP-482).
 */

export function sizeOfUnsignedVarint(value: number): number {
  const bits = value >>> 0;
  if (bits < 0x80) return 1;
  if (bits < 0x4000) return 2;
  if (bits < 0x200000) return 3;
  if (bits < 0x10000000) return 4;
  return 5;
}

export function sizeOfVarint(value: number): number {
  return sizeOfUnsignedVarint((value << 1) ^ (value >> 31));
}

/** A number must be a safe integer. */
export function sizeOfVarlong(value: number | bigint): number {
  if (typeof value === 'bigint') return sizeOfBigVarlong(value);
  if ((value | 0) === value) return sizeOfVarint(value);
  const magnitude = value < 0 ? -value - 1 : value;
  if (magnitude < 2 ** 34) return 5;
  if (magnitude < 2 ** 41) return 6;
  if (magnitude < 2 ** 48) return 7;
  return 8;
}

function sizeOfBigVarlong(value: bigint): number {
  let rest = zigzag64(value);
  let size = 1;
  while (rest >= 0x80n) {
    rest >>= 7n;
    size++;
  }
  return size;
}

function zigzag64(value: bigint): bigint {
  return BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
}

export function writeUnsignedVarint(target: Uint8Array, position: number, value: number): number {
  let bits = value >>> 0;
  while (bits >= 0x80) {
    target[position++] = (bits & 0x7f) | 0x80;
    bits >>>= 7;
  }
  target[position++] = bits;
  return position;
}

/** Returns the end. */
export function writeVarint(target: Uint8Array, position: number, value: number): number {
  return writeUnsignedVarint(target, position, (value << 1) ^ (value >> 31));
}

/** Returns the end. A number must be a safe integer. */
export function writeVarlong(target: Uint8Array, position: number, value: number | bigint): number {
  if (typeof value === 'bigint') return writeBigVarlong(target, position, value);
  if ((value | 0) === value) return writeVarint(target, position, value);
  // Beyond 32 bits: the lowest six bits and the sign make the first byte, the rest is unsigned.
  const magnitude = value < 0 ? -value - 1 : value;
  target[position++] = ((magnitude % 64) << 1) | (value < 0 ? 1 : 0) | 0x80;
  let rest = Math.floor(magnitude / 64);
  while (rest > 0x7fffffff) {
    target[position++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  return writeUnsignedVarint(target, position, rest);
}

function writeBigVarlong(target: Uint8Array, position: number, value: bigint): number {
  let rest = zigzag64(value);
  while (rest >= 0x80n) {
    target[position++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  target[position++] = Number(rest);
  return position;
}
