import { describe, it } from 'vitest';
import { ProtocolError } from '../bytes/protocol-error.ts';
import { readMessageFixtures } from './testing-support/fixtures.ts';
import type { MessageFixture } from './testing-support/fixtures.ts';
import { decodeMessage } from './message.ts';

const fixtures = readMessageFixtures();

/** Values that one byte of a frame may become: an element of one byte is a struct of defaults. */
const MAX_VALUES_PER_BYTE = 16;

/** Mulberry32, so that a failure can be run again. */
function randomSource(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Everything that a decoded value holds: fields, elements, characters, and bytes of its own. */
function countValues(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length;
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 1;
  let count = 1;
  for (const part of Object.values(value)) count += countValues(part);
  return count;
}

function decodeHostile({ schema, version }: MessageFixture, bytes: Buffer, what: string): void {
  let decoded: unknown;
  try {
    decoded = decodeMessage(schema, version, bytes);
  } catch (error) {
    if (error instanceof ProtocolError) return;
    throw new Error(`${what}: ${bytes.toString('hex')}`, { cause: error });
  }
  const bound = MAX_VALUES_PER_BYTE * (bytes.length + 16);
  const values = countValues(decoded);
  if (values > bound) {
    throw new Error(
      `${what}: ${values} values from ${bytes.length} bytes: ${bytes.toString('hex')}`,
    );
  }
}

describe('decoding hostile bytes', () => {
  it('gives a ProtocolError or a value when a frame is cut anywhere', () => {
    for (const fixture of fixtures) {
      for (let length = 0; length < fixture.bytes.length; length++) {
        const cut = Buffer.from(fixture.bytes.subarray(0, length));
        decodeHostile(fixture, cut, `${fixture.name} version ${fixture.version} cut at ${length}`);
      }
    }
  });

  it.each([1, 2, 3])('gives a ProtocolError or a value when bits are flipped (seed %i)', (seed) => {
    const random = randomSource(seed);
    for (const fixture of fixtures) {
      if (fixture.bytes.length === 0) continue;
      for (let round = 0; round < 20; round++) {
        const bytes = Buffer.from(fixture.bytes);
        for (let flips = 1 + random(3); flips > 0; flips--) {
          const at = random(bytes.length);
          bytes[at] = (bytes[at] as number) ^ (1 << random(8));
        }
        decodeHostile(fixture, bytes, `${fixture.name} version ${fixture.version} seed ${seed}`);
      }
    }
  });

  it.each([0x00, 0x01, 0x7f, 0x80, 0xff])('survives runs of byte %i', (fill) => {
    const random = randomSource(fill + 1);
    for (const fixture of fixtures) {
      for (let round = 0; round < 4; round++) {
        const bytes = Buffer.from(fixture.bytes);
        const start = random(bytes.length + 1);
        bytes.fill(fill, start, Math.min(bytes.length, start + 1 + random(8)));
        decodeHostile(fixture, bytes, `${fixture.name} version ${fixture.version} fill ${fill}`);
      }
    }
  });

  it('survives frames of nothing but random bytes', () => {
    const random = randomSource(99);
    for (const fixture of fixtures) {
      const bytes = Buffer.from(Array.from({ length: random(200) }, () => random(256)));
      decodeHostile(fixture, bytes, `${fixture.name} version ${fixture.version} random`);
    }
  });
});
