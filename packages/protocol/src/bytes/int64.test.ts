import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readInt32, writeInt32 } from './int32.ts';
import { readInt64AsNumber, writeInt64FromNumber } from './int64.ts';

describe('numbers as big-endian integers', () => {
  it('writes and reads every safe integer as Buffer does with a bigint', () => {
    const property = fc.property(fc.maxSafeInteger(), fc.nat(3), (value, position) => {
      const bytes = Buffer.alloc(12);
      expect(writeInt64FromNumber(bytes, position, value)).toBe(position + 8);
      expect(bytes.readBigInt64BE(position)).toBe(BigInt(value));
      expect(readInt64AsNumber(bytes, position)).toBe(value);
    });
    fc.assert(property, {
      numRuns: 2_000,
      examples: [0, -1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, -(2 ** 32), 2 ** 53 - 1, 1 - 2 ** 53].map(
        (value): [number, number] => [value, 0],
      ),
    });
  });

  it('reads what no number holds exactly as the nearest one', () => {
    const property = fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (value) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE(value);
      expect(readInt64AsNumber(bytes, 0)).toBe(Number(value));
    });
    fc.assert(property, { numRuns: 1_000 });
  });

  it('writes and reads int32', () => {
    const property = fc.property(fc.integer(), (value) => {
      const bytes = Buffer.alloc(4);
      expect(writeInt32(bytes, 0, value)).toBe(4);
      expect(bytes.readInt32BE(0)).toBe(value);
      expect(readInt32(bytes, 0)).toBe(value);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});
