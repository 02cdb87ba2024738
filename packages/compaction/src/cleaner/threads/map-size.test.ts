import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OFFSET_MAP_SLOT_BYTES } from '../../limits.ts';
import type { CleaningTask } from '../cleaning-task.ts';
import { mapBytesFor } from './map-size.ts';

const MB = 1 << 20;

function taskOver(offsetCount: number): CleaningTask {
  return { firstDirtyOffset: 7n, firstUncleanableOffset: 7n + BigInt(offsetCount) } as CleaningTask;
}

describe('the memory of an offset map', () => {
  it('is little for little, and all that is allowed for much', () => {
    expect(mapBytesFor(taskOver(100), 128 * MB, 0.9)).toBe(64 * 1024);
    expect(mapBytesFor(taskOver(100_000), 128 * MB, 0.9)).toBe(4 * MB);
    expect(mapBytesFor(taskOver(1_000_000), 128 * MB, 0.9)).toBe(128 * MB);
    expect(mapBytesFor(taskOver(2 ** 40), 128 * MB, 0.9)).toBe(128 * MB);
  });

  it('holds every key of the pass, or is all that is allowed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10_000_000 }),
        fc.integer({ min: 1, max: 512 * MB }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (offsets, maxBytes, loadFactor) => {
          const bytes = mapBytesFor(taskOver(offsets), maxBytes, loadFactor);
          expect(bytes).toBeLessThanOrEqual(maxBytes);
          const keys = Math.floor(Math.floor(bytes / OFFSET_MAP_SLOT_BYTES) * loadFactor);
          expect(bytes === maxBytes || keys >= offsets).toBe(true);
        },
      ),
    );
  });
});
