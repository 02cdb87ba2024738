import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_TRACKED_OFFSETS } from '../../limits.ts';
import { LatestOffsets } from './latest-offsets.ts';

const high = (offset: bigint): number => Number(offset >> 32n);
const low = (offset: bigint): number => Number(BigInt.asIntN(32, offset));

describe('the latest offsets of a section', () => {
  it('are those that were added and not removed, wherever the section lies', () => {
    const first = fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 62n }),
      fc.constantFrom(0n, 2n ** 31n - 50n, 2n ** 32n - 50n, 2n ** 53n - 50n),
    );
    const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: -5, max: 205 })));
    const latest = new LatestOffsets();
    fc.assert(
      fc.property(first, steps, fc.nat(200), fc.nat(200), (base, changes, start, length) => {
        latest.reset(base, base + 200n);
        const model = new Set<number>();
        for (const [isAdded, index] of changes) {
          const offset = base + BigInt(index);
          if (offset < 0n) continue;
          const isInside = index >= 0 && index < 200;
          if (isAdded) latest.add(high(offset), low(offset));
          else latest.remove(high(offset), low(offset));
          if (isAdded && isInside) model.add(index);
          else model.delete(index);
        }
        for (let index = 0; index < 200; index++) {
          expect(latest.isLatest(index)).toBe(model.has(index));
        }
        const end = Math.min(200, start + length);
        const isAny = [...model].some((index) => index >= start && index < end);
        expect(latest.hasLatest(start, end)).toBe(isAny);
      }),
    );
  });

  it('speak for covered batches alone, and for none that reaches out of the section', () => {
    const latest = new LatestOffsets();
    latest.reset(1_000n, 1_100n);
    latest.cover(1_000n, 1_010n);
    latest.cover(1_040n, 1_100n);
    latest.cover(1_030n, 1_101n);
    latest.cover(990n, 1_000n);
    expect([990n, 1_000n, 1_001n, 1_030n, 1_040n, 1_100n].map((at) => latest.indexOf(at))).toEqual([
      -1, 0, -1, -1, 40, -1,
    ]);
    latest.reset(0n, 2n ** 40n);
    latest.cover(BigInt(MAX_TRACKED_OFFSETS) - 10n, BigInt(MAX_TRACKED_OFFSETS));
    latest.cover(BigInt(MAX_TRACKED_OFFSETS) - 20n, BigInt(MAX_TRACKED_OFFSETS) + 1n);
    expect(latest.indexOf(BigInt(MAX_TRACKED_OFFSETS) - 10n)).toBe(MAX_TRACKED_OFFSETS - 10);
    expect(latest.indexOf(BigInt(MAX_TRACKED_OFFSETS) - 20n)).toBe(-1);
  });
});
