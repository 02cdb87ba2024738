import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { compressSync, uncompressSync } from 'lz4-napi';
import { describe, expect, it } from 'vitest';
import { LZ4_BLOCK_SOURCE_HASH } from './lz4-block-code.ts';
import { decodeLz4Block, encodeLz4Block } from './lz4-block.ts';

const MAX_BYTES = 65_536;
/** The library's blocks begin with their decoded size. */
const SIZE_PREFIX_BYTES = 4;

/** The format as its description has it, byte by byte; null: damaged. */
function decodeSlowly(block: Uint8Array, maxBytes: number): Buffer | null {
  const output: number[] = [];
  let at = 0;
  const lengthFrom = (four: number): number => {
    let length = four;
    for (let more = four === 15 ? 255 : 0; more === 255; length += more) {
      const next = block[at++];
      if (next === undefined) return Infinity;
      more = next;
    }
    return length;
  };
  while (at < block.length) {
    const token = block[at++] as number;
    const literals = lengthFrom(token >> 4);
    if (literals > block.length - at || literals > maxBytes - output.length) return null;
    for (let i = 0; i < literals; i++) output.push(block[at++] as number);
    if (at === block.length) return Buffer.from(output);
    if (block.length - at < 2) return null;
    const offset = (block[at] as number) + (block[at + 1] as number) * 256;
    at += 2;
    const length = lengthFrom(token & 15) + 4;
    if (offset === 0 || offset > output.length || length > maxBytes - output.length) return null;
    for (let i = 0; i < length; i++) output.push(output[output.length - offset] as number);
  }
  return null;
}

function decode(block: Uint8Array, maxBytes = MAX_BYTES): Buffer | null {
  const target = Buffer.alloc(maxBytes + 9, 0xee);
  const end = decodeLz4Block(Buffer.from(block), target, 4, maxBytes);
  expectUntouched(target, 4, end < 0 ? 4 : end);
  return end < 0 ? null : target.subarray(4, end);
}

function encode(input: Buffer): Buffer | null {
  const target = Buffer.alloc(input.length + 9, 0xee);
  const end = encodeLz4Block(input, target, 4);
  if (end < 0) return null;
  expect(end - 4).toBeLessThan(input.length);
  expectUntouched(target, 4, end);
  return target.subarray(4, end);
}

const UNTOUCHED = Buffer.alloc(MAX_BYTES + 9, 0xee);

function expectUntouched(target: Buffer, start: number, end: number): void {
  expect(target.compare(UNTOUCHED, 0, start, 0, start)).toBe(0);
  expect(target.compare(UNTOUCHED, 0, target.length - end, end)).toBe(0);
}

function expectSame(ours: Buffer | null, expected: Buffer | null): void {
  expect(ours?.toString('base64')).toBe(expected?.toString('base64'));
}

/** Few letters and repeats near and far, so that all kinds of sequences come up. */
const texts = fc
  .array(
    fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 40 }),
      fc.array(fc.integer({ min: 97, max: 99 }), { minLength: 1, maxLength: 300 }),
      fc
        .tuple(fc.nat(255), fc.integer({ min: 1, max: 600 }))
        .map(([byte, count]) => new Uint8Array(count).fill(byte)),
    ),
    { maxLength: 30 },
  )
  .chain((parts) =>
    fc
      .array(fc.nat(Math.max(0, parts.length - 1)), { maxLength: 60 })
      .map((order) =>
        Buffer.concat(
          [...parts, ...order.map((index) => parts[index] ?? [])].map((one) => Buffer.from(one)),
        ).subarray(0, MAX_BYTES),
      ),
  );

/** Sequences of any lengths and offsets, right and wrong ones. */
const blocks = fc
  .array(
    fc.record({
      literals: fc.uint8Array({ maxLength: 40 }),
      offset: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.nat(65_535)),
      length: fc.oneof(fc.integer({ min: 0, max: 18 }), fc.nat(700)),
    }),
    { maxLength: 40 },
  )
  .chain((sequences) =>
    fc.uint8Array({ maxLength: 60 }).map((last) => {
      const bytes: number[] = [];
      const long = (length: number): number[] => {
        if (length < 15) return [];
        const rest = length - 15;
        return [...new Array<number>(Math.floor(rest / 255)).fill(255), rest % 255];
      };
      const put = (literals: Uint8Array, length: number): void => {
        bytes.push((Math.min(literals.length, 15) << 4) | Math.min(length, 15));
        bytes.push(...long(literals.length), ...literals);
      };
      for (const { literals, offset, length } of sequences) {
        put(literals, length);
        bytes.push(offset & 255, offset >> 8, ...long(length));
      }
      put(last, 0);
      return Buffer.from(bytes);
    }),
  );

describe('an lz4 block', () => {
  it('is compiled from the source that is there (node scripts/assembly.mjs)', () => {
    const source = readFileSync(new URL('../../assembly/lz4-block.ts', import.meta.url));
    expect(createHash('sha256').update(source).digest('hex')).toBe(LZ4_BLOCK_SOURCE_HASH);
  });

  it('comes back, from ours and from the library', () => {
    fc.assert(
      fc.property(texts, (input) => {
        const ours = encode(input);
        if (ours !== null) {
          expect(decode(ours)?.equals(input)).toBe(true);
          const size = Buffer.alloc(SIZE_PREFIX_BYTES);
          size.writeUInt32LE(input.length);
          expect(uncompressSync(Buffer.concat([size, ours])).equals(input)).toBe(true);
        }
        const theirs = compressSync(input).subarray(SIZE_PREFIX_BYTES);
        expect(decode(theirs)?.equals(input)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('of sequences of every kind is what the format says, or damaged', () => {
    fc.assert(
      fc.property(blocks, fc.nat(3000), (block, maxBytes) => {
        expectSame(decode(block), decodeSlowly(block, MAX_BYTES));
        expectSame(decode(block, maxBytes), decodeSlowly(block, maxBytes));
      }),
      { numRuns: 1000 },
    );
  });

  it('that is damaged or cut is what the format says of it', () => {
    fc.assert(
      fc.property(
        texts,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
        fc.nat(),
        (input, flips, cut) => {
          const block = Buffer.from(compressSync(input).subarray(SIZE_PREFIX_BYTES));
          for (const [at, byte] of flips) block[at % block.length] = byte;
          const damaged = block.subarray(0, cut % 3 === 0 ? cut % block.length : block.length);
          expectSame(decode(damaged), decodeSlowly(damaged, MAX_BYTES));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is as small as those of other encoders', () => {
    const words = Array.from({ length: 9000 }, (_, i) => `value-${i % 97}:${(i * 7919) % 101};`);
    const input = Buffer.from(words.join('')).subarray(0, MAX_BYTES);
    const theirs = compressSync(input).length - SIZE_PREFIX_BYTES;
    expect(encode(input)?.length).toBeLessThan(theirs * 1.02);
    expect(encode(Buffer.alloc(MAX_BYTES, 'x'))?.length).toBeLessThan(300);
  });
});
