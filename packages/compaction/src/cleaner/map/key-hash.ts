import type { Random } from '../../platform/random.ts';

/** The number that the authors recommend; half of it is broken in theory only. */
const ROUNDS = 12;
const BLOCK_BYTES = 16;
const KEY_BYTES = 16;

/** Multiplication by x in GF(2^128), as the subkeys of Chaskey are made. */
function timesTwo(key: Int32Array): Int32Array {
  const [k0, k1, k2, k3] = key as unknown as readonly [number, number, number, number];
  return Int32Array.of(
    (k0 << 1) ^ (k3 < 0 ? 0x87 : 0),
    (k1 << 1) | (k0 >>> 31),
    (k2 << 1) | (k1 >>> 31),
    (k3 << 1) | (k2 >>> 31),
  );
}

/**
 * Chaskey (Mouha et al., ISO/IEC 29192-6): a keyed hash of 128 bits made of 32-bit additions, so
 * that it costs no BigInt and no call into native code. The key is drawn per process: whoever
 * chooses record keys cannot make two of them collide. The hash never reaches the disk.
 */
export class KeyHash {
  /** The 128 bits of the last `hash`. */
  h0 = 0;
  h1 = 0;
  h2 = 0;
  h3 = 0;

  readonly #key: Int32Array;
  readonly #wholeKey: Int32Array;
  readonly #paddedKey: Int32Array;
  readonly #rounds: number;

  constructor(key: Int32Array, rounds = ROUNDS) {
    this.#key = key;
    this.#wholeKey = timesTwo(key);
    this.#paddedKey = timesTwo(this.#wholeKey);
    this.#rounds = rounds;
  }

  static random(random: Random): KeyHash {
    const bytes = random.bytes(KEY_BYTES);
    return new KeyHash(Int32Array.from([0, 4, 8, 12], (at) => bytes.readInt32LE(at)));
  }

  hash(source: Uint8Array, start: number, end: number): void {
    const key = this.#key;
    let v0 = key[0] as number;
    let v1 = key[1] as number;
    let v2 = key[2] as number;
    let v3 = key[3] as number;
    let position = start;
    let last = key;
    for (let isLast = false; !isLast;) {
      isLast = end - position <= BLOCK_BYTES;
      if (end - position >= BLOCK_BYTES) {
        v0 ^= wordAt(source, position);
        v1 ^= wordAt(source, position + 4);
        v2 ^= wordAt(source, position + 8);
        v3 ^= wordAt(source, position + 12);
        position += BLOCK_BYTES;
        if (isLast) last = this.#wholeKey;
      } else {
        last = this.#paddedKey;
        const left = end - position;
        v0 ^= paddedWordAt(source, position, left);
        v1 ^= paddedWordAt(source, position + 4, left - 4);
        v2 ^= paddedWordAt(source, position + 8, left - 8);
        v3 ^= paddedWordAt(source, position + 12, left - 12);
      }
      if (isLast) {
        v0 ^= last[0] as number;
        v1 ^= last[1] as number;
        v2 ^= last[2] as number;
        v3 ^= last[3] as number;
      }
      for (let round = this.#rounds; round > 0; round--) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 13) | (v3 >>> 19)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 7) | (v1 >>> 25)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
    }
    this.h0 = v0 ^ (last[0] as number);
    this.h1 = v1 ^ (last[1] as number);
    this.h2 = v2 ^ (last[2] as number);
    this.h3 = v3 ^ (last[3] as number);
  }
}

function wordAt(source: Uint8Array, at: number): number {
  return (
    (source[at] as number) |
    ((source[at + 1] as number) << 8) |
    ((source[at + 2] as number) << 16) |
    ((source[at + 3] as number) << 24)
  );
}

/** A word of the last block: a 1 follows the `left` bytes that are there, zeros follow that. */
function paddedWordAt(source: Uint8Array, at: number, left: number): number {
  if (left >= 4) return wordAt(source, at);
  switch (left) {
    case 3:
      return (
        (source[at] as number) |
        ((source[at + 1] as number) << 8) |
        ((source[at + 2] as number) << 16) |
        0x1000000
      );
    case 2:
      return (source[at] as number) | ((source[at + 1] as number) << 8) | 0x10000;
    case 1:
      return (source[at] as number) | 0x100;
    case 0:
      return 1;
    default:
      return 0;
  }
}
