import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../testing/seeded-random.ts';
import { KeyHash } from './key-hash.ts';

/** The key of the reference implementation's test vectors. */
const KEY = Int32Array.of(0x833d3433, 0x009f389f, 0x2398e64f, 0x417acf39);

/** What it gives for the first messages 00, 00 01, 00 01 02 ..., with 8 rounds; by length. */
const VECTORS: Readonly<Record<number, readonly number[]>> = {
  0: [0x792e8fe5, 0x75ce87aa, 0x2d1450b5, 0x1191970b],
  1: [0x13a9307b, 0x50e62c89, 0x4577bd88, 0xc0bbdc18],
};

const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, i) => i));

function hashOf(hash: KeyHash, source: Buffer, start = 0, end = source.length): number[] {
  hash.hash(source, start, end);
  return [hash.h0, hash.h1, hash.h2, hash.h3].map((word) => word >>> 0);
}

describe('KeyHash', () => {
  for (const [length, expected] of Object.entries(VECTORS)) {
    it(`gives Chaskey's own value for ${length} bytes`, () => {
      expect(hashOf(new KeyHash(KEY, 8), bytes(Number(length)))).toEqual(expected);
    });
  }

  it('differs for every length, every changed byte, and by its key', () => {
    const hash = KeyHash.random(seededRandom(1));
    const seen = new Set<string>();
    let count = 0;
    const add = (value: number[]): void => {
      seen.add(value.join());
      count++;
    };
    for (let length = 0; length <= 70; length++) {
      add(hashOf(hash, bytes(length)));
      add(hashOf(KeyHash.random(seededRandom(2)), bytes(length)));
      for (let at = 0; at < length; at++) {
        const changed = bytes(length);
        changed[at] = 255;
        add(hashOf(hash, changed));
      }
    }
    expect(seen.size).toBe(count);
  });

  it('depends on the bytes between start and end alone', () => {
    const hash = KeyHash.random(seededRandom(1));
    const inside = Buffer.concat([Buffer.from('xx'), bytes(21), Buffer.from('yy')]);
    expect(hashOf(hash, inside, 2, 23)).toEqual(hashOf(hash, bytes(21)));
  });
});
