import { randomBytes } from 'node:crypto';

/** Another one in each process: nobody can choose keys that fall on one place. */
const SEED = randomBytes(4).readInt32LE(0);
const WORD_FACTOR = 0x5bd1e995;
const FIRST_FACTOR = 0x85ebca6b;
const SECOND_FACTOR = 0xc2b2ae35;

/** 32 bits of which each depends on all bytes; for tables in memory, not for anything that is kept. */
export function hashBytes(source: Buffer, start: number, end: number): number {
  let hash = SEED ^ (end - start);
  let position = start;
  for (const lastWord = end - 4; position <= lastWord; position += 4) {
    hash ^=
      (source[position] as number) |
      ((source[position + 1] as number) << 8) |
      ((source[position + 2] as number) << 16) |
      ((source[position + 3] as number) << 24);
    hash = Math.imul(hash, WORD_FACTOR);
    hash ^= hash >>> 15;
  }
  if (position < end) {
    let word = 0;
    for (; position < end; position++) word = (word << 8) | (source[position] as number);
    hash = Math.imul(hash ^ word, WORD_FACTOR);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 16), FIRST_FACTOR);
  hash = Math.imul(hash ^ (hash >>> 13), SECOND_FACTOR);
  return hash ^ (hash >>> 16);
}
