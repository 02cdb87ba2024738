import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NATIVE_CRC_MIN_BYTES } from '../limits.ts';
import { crc32c } from './crc32c.ts';
import { murmur2, toPositive } from './murmur2.ts';
import { sizeOfVarlong, writeVarlong } from './varint.ts';

interface Hashes {
  readonly vectors: readonly {
    readonly input: string;
    readonly murmur2: number;
    readonly partitionOf10: number;
    readonly crc32c: number;
  }[];
  readonly varlongs: readonly { readonly value: string; readonly bytes: string }[];
}

const fixture = JSON.parse(
  readFileSync(new URL('./fixtures/kafka-hashes.json', import.meta.url), 'utf8'),
) as Hashes;

describe('against what Kafka computed', () => {
  it.each(fixture.vectors)('hashes $input', (vector) => {
    // Somewhere inside a larger buffer, as on the record path.
    const input = Buffer.from(vector.input, 'hex');
    const buffer = Buffer.concat([Buffer.from('xyz'), input, Buffer.from('zyx')]);
    const end = 3 + input.length;
    expect(murmur2(buffer, 3, end)).toBe(vector.murmur2);
    expect(toPositive(murmur2(buffer, 3, end)) % 10).toBe(vector.partitionOf10);
    expect(crc32c(buffer, 3, end)).toBe(vector.crc32c);
  });

  it.each(fixture.varlongs)('writes the varlong $value', ({ value, bytes }) => {
    const big = BigInt(value);
    for (const form of Number.isSafeInteger(Number(big)) ? [big, Number(big)] : [big]) {
      const target = Buffer.alloc(12, 0xee);
      const end = writeVarlong(target, 1, form);
      expect(target.toString('hex', 1, end)).toBe(bytes);
      expect(sizeOfVarlong(form)).toBe(end - 1);
      expect(target[end]).toBe(0xee);
    }
  });
});

describe('crc32c', () => {
  it('goes on from a seed, whichever of the two ways each piece takes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: NATIVE_CRC_MIN_BYTES * 3 }),
        fc.integer({ min: 0, max: NATIVE_CRC_MIN_BYTES * 3 }),
        (bytes, at) => {
          const buffer = Buffer.from(bytes);
          const cut = Math.min(at, buffer.length);
          const whole = crc32c(buffer, 0, buffer.length);
          const first = crc32c(buffer, 0, cut);
          expect(crc32c(buffer, cut, buffer.length, first)).toBe(whole);
        },
      ),
    );
  });
});
