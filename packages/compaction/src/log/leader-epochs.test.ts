import { describe, expect, it } from 'vitest';
import { LeaderEpochs } from './leader-epochs.ts';
import type { LeaderEpochEntry } from './leader-epochs.ts';

function epochs(...entries: [number, bigint][]): {
  cache: LeaderEpochs;
  written: (readonly LeaderEpochEntry[])[];
} {
  const written: (readonly LeaderEpochEntry[])[] = [];
  const cache = new LeaderEpochs(
    entries.map(([epoch, startOffset]) => ({ epoch, startOffset })),
    (all) => written.push(all),
  );
  return { cache, written };
}

const pairs = (cache: LeaderEpochs): [number, bigint][] =>
  cache.entries.map((one) => [one.epoch, one.startOffset]);

describe('leader epochs', () => {
  it('are written only when they change', () => {
    const { cache, written } = epochs();
    cache.assign(-1, 0n);
    cache.assign(0, 0n);
    cache.assign(0, 5n);
    cache.assign(2, 9n);
    expect(pairs(cache)).toEqual([
      [0, 0n],
      [2, 9n],
    ]);
    expect(written).toHaveLength(2);
  });

  it('drop what a new entry contradicts, in epoch or in offset', () => {
    const { cache } = epochs([1, 0n], [3, 10n], [5, 20n]);
    cache.assign(4, 15n);
    expect(pairs(cache)).toEqual([
      [1, 0n],
      [3, 10n],
      [4, 15n],
    ]);
    cache.assign(6, 10n);
    expect(pairs(cache)).toEqual([
      [1, 0n],
      [6, 10n],
    ]);
  });

  it('are cut at both ends, the covering one moves to the start', () => {
    const { cache, written } = epochs([1, 0n], [3, 10n], [5, 20n]);
    cache.truncateFromEnd(20n);
    expect(pairs(cache)).toEqual([
      [1, 0n],
      [3, 10n],
    ]);
    cache.truncateFromStart(4n);
    expect(pairs(cache)).toEqual([
      [1, 4n],
      [3, 10n],
    ]);
    cache.truncateFromStart(12n);
    expect(pairs(cache)).toEqual([[3, 12n]]);
    expect(written).toHaveLength(3);
    cache.truncateFromStart(12n);
    cache.truncateFromEnd(13n);
    expect(written).toHaveLength(3);
    cache.clear();
    expect(pairs(cache)).toEqual([]);
  });

  it('tell which wrote an offset', () => {
    const { cache } = epochs([1, 5n], [3, 10n]);
    expect([4n, 5n, 9n, 10n, 99n].map((offset) => cache.epochOf(offset))).toEqual([-1, 1, 1, 3, 3]);
  });
});
