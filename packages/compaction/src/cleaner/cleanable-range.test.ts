import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogConfig } from '../config.ts';
import { configOf } from '../testing/memory-log-dir.ts';
import { cleanableRange, regionsOf } from './cleanable-range.ts';
import type { LogToLookAt } from './cleanable-range.ts';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const DAY = 86_400_000;
const MB = 1_000_000;

interface Part {
  readonly base: bigint;
  readonly bytes?: number;
  /** Age of its youngest record; default a year. */
  readonly ageMs?: number;
  /** Age of its first batch; default that. */
  readonly firstAgeMs?: number;
  readonly records?: number;
}

/** A log of segments that are nothing but their figures; the last is the active one. */
function logOf(parts: readonly Part[], settings: Record<string, string> = {}): LogToLookAt {
  const config: LogConfig = configOf({ 'cleanup.policy': 'compact', ...settings });
  const segments = parts.map(
    ({ base, bytes = MB, ageMs = 365 * DAY, firstAgeMs = ageMs, records = 1000 }) => ({
      baseOffset: base,
      sizeBytes: bytes,
      largestTimestamp: () => NOW - ageMs,
      firstBatchTimestamp: () => NOW - firstAgeMs,
      dataRecordCount: () => records,
    }),
  );
  const end = (parts.at(-1)?.base ?? 0n) + 1000n;
  const start = parts[0]?.base ?? 0n;
  return { config, segments, logStartOffset: start, logEndOffset: end, lastStableOffset: end };
}

/** The table of seed 001: 100 MB clean, 60 and 40 MB dirty, an active segment. */
const SEED: readonly Part[] = [
  { base: 0n, bytes: 100 * MB },
  { base: 1000n, bytes: 60 * MB },
  { base: 1800n, bytes: 40 * MB },
  { base: 2400n, bytes: 30 * MB },
];

describe("the seed's table", () => {
  it('has a dirty ratio of 0.5, which qualifies', () => {
    const range = cleanableRange(logOf(SEED), 1000n, NOW);
    expect(range).toMatchObject({
      firstDirtyOffset: 1000n,
      firstUncleanableOffset: 2400n,
      heldBackBy: 'active-segment',
      cleanBytes: 100 * MB,
      compactableBytes: 100 * MB,
      dirtyRatio: 0.5,
      isEligible: true,
    });
  });

  it('has the regions that it shows', () => {
    const log = logOf(SEED);
    expect(regionsOf(log, cleanableRange(log, 1000n, NOW))).toEqual([
      { kind: 'clean', startOffset: 0n, endOffset: 1000n, sizeBytes: 100 * MB },
      { kind: 'compactable', startOffset: 1000n, endOffset: 2400n, sizeBytes: 100 * MB },
      { kind: 'active', startOffset: 2400n, endOffset: 3400n, sizeBytes: 30 * MB },
    ]);
  });

  it('does not qualify with 100 MB clean and 20 MB dirty', () => {
    const parts = [SEED[0] as Part, { base: 1000n, bytes: 20 * MB }, { base: 2400n }];
    const range = cleanableRange(logOf(parts), 1000n, NOW);
    expect(range.dirtyRatio).toBeCloseTo(1 / 6);
    expect(range.isEligible).toBe(false);
  });

  it('qualifies at any ratio above the one that is set, not below it', () => {
    const at = (ratio: string): boolean =>
      cleanableRange(logOf(SEED, { 'min.cleanable.dirty.ratio': ratio }), 1000n, NOW).isEligible;
    expect(at('0.49')).toBe(true);
    expect(at('0.5')).toBe(true);
    expect(at('0.51')).toBe(false);
  });

  it('with a ratio of 0.1 and a dirty record of 2 days is cleaned because of the max lag', () => {
    const parts: Part[] = [
      { base: 0n, bytes: 90 * MB },
      { base: 1000n, bytes: 10 * MB, ageMs: 2 * DAY },
      { base: 2000n, bytes: 0 },
    ];
    const without = cleanableRange(logOf(parts), 1000n, NOW);
    expect(without).toMatchObject({ dirtyRatio: 0.1, isEligible: false });
    const log = logOf(parts, { 'max.compaction.lag.ms': String(DAY) });
    const range = cleanableRange(log, 1000n, NOW);
    expect(range).toMatchObject({ dirtyRatio: 0.1, maxLagExceededMs: DAY, isEligible: true });
  });

  it('with a ratio of 0.9 and dirty records of 3 minutes waits because of the min lag', () => {
    const parts: Part[] = [
      { base: 0n, bytes: 10 * MB },
      { base: 1000n, bytes: 90 * MB, ageMs: 3 * MINUTE },
      { base: 2000n, bytes: 0 },
    ];
    expect(cleanableRange(logOf(parts), 1000n, NOW)).toMatchObject({
      dirtyRatio: 0.9,
      isEligible: true,
    });
    const log = logOf(parts, { 'min.compaction.lag.ms': '600000' });
    const range = cleanableRange(log, 1000n, NOW);
    expect(range).toMatchObject({
      firstUncleanableOffset: 1000n,
      heldBackBy: 'min.compaction.lag.ms',
      compactableBytes: 0,
      isEligible: false,
    });
    expect(regionsOf(log, range).map((region) => region.kind)).toEqual([
      'clean',
      'protected',
      'active',
    ]);
  });

  it('one record stamped a year ahead stalls its segment and every later one until then', () => {
    const parts: Part[] = [
      { base: 0n },
      { base: 1000n, ageMs: -365 * DAY },
      { base: 2000n },
      { base: 3000n, bytes: 0 },
    ];
    const log = logOf(parts, { 'min.compaction.lag.ms': '600000' });
    expect(cleanableRange(log, 0n, NOW).firstUncleanableOffset).toBe(1000n);
    const then = NOW + 365 * DAY + 600_000;
    expect(cleanableRange(log, 0n, then - 1).firstUncleanableOffset).toBe(1000n);
    expect(cleanableRange(log, 0n, then).firstUncleanableOffset).toBe(3000n);
  });
});

describe('lags', () => {
  const parts: Part[] = [
    { base: 0n, bytes: 100, records: 10, ageMs: 40 * MINUTE },
    { base: 100n, bytes: 100, records: 10, ageMs: 30 * MINUTE },
    { base: 200n, bytes: 100, records: 10, ageMs: 20 * MINUTE },
    { base: 300n, bytes: 50, records: 5, ageMs: 0 },
  ];
  const bound = (settings: Record<string, string>, nowMs = NOW): [bigint, string] => {
    const range = cleanableRange(logOf(parts, settings), 0n, nowMs);
    return [range.firstUncleanableOffset, range.heldBackBy];
  };

  it('of 0 are none: only the active segment is held back', () => {
    expect(bound({})).toEqual([300n, 'active-segment']);
  });

  it('in ms hold back what is younger; what is exactly as old may go', () => {
    const lag = String(30 * MINUTE);
    expect(bound({ 'min.compaction.lag.ms': lag })).toEqual([200n, 'min.compaction.lag.ms']);
    expect(bound({ 'min.compaction.lag.ms': lag }, NOW - 1)).toEqual([
      100n,
      'min.compaction.lag.ms',
    ]);
  });

  it('in bytes hold back what fewer bytes follow, the active segment counted', () => {
    const held = (lag: number): bigint => bound({ 'min.compaction.lag.bytes': String(lag) })[0];
    expect([1, 50, 51, 150, 151, 250, 251, 10_000].map(held)).toEqual([
      300n,
      300n,
      200n,
      200n,
      100n,
      100n,
      0n,
      0n,
    ]);
    expect(bound({ 'min.compaction.lag.bytes': '51' })[1]).toBe('min.compaction.lag.bytes');
  });

  it('in messages hold back what fewer records follow', () => {
    const held = (lag: number): bigint => bound({ 'min.compaction.lag.messages': String(lag) })[0];
    expect([1, 5, 6, 15, 16, 25, 26].map(held)).toEqual([300n, 300n, 200n, 200n, 100n, 100n, 0n]);
    expect(bound({ 'min.compaction.lag.messages': '6' })[1]).toBe('min.compaction.lag.messages');
  });

  it('must all hold, whichever is the tightest', () => {
    const lags = {
      'min.compaction.lag.ms': String(30 * MINUTE),
      'min.compaction.lag.bytes': '151',
      'min.compaction.lag.messages': '1',
    };
    expect(bound(lags)).toEqual([100n, 'min.compaction.lag.bytes']);
    expect(bound({ ...lags, 'min.compaction.lag.bytes': '1' })).toEqual([
      200n,
      'min.compaction.lag.ms',
    ]);
    expect(bound({ ...lags, 'min.compaction.lag.messages': '26' })).toEqual([
      0n,
      'min.compaction.lag.messages',
    ]);
  });

  it('only ever hold back more when they grow, and leave at least that much behind', () => {
    const segment = fc.record({ bytes: fc.nat(300), records: fc.nat(30) });
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 8 }),
        fc.nat(1000),
        fc.nat(1000),
        fc.nat(100),
        (shapes, lag, more, messages) => {
          const shaped = shapes.map((shape, i) => ({ base: BigInt(i), ...shape }));
          const rangeOf = (bytes: number): bigint =>
            cleanableRange(
              logOf(shaped, {
                'min.compaction.lag.bytes': String(bytes),
                'min.compaction.lag.messages': String(messages),
              }),
              0n,
              NOW,
            ).firstUncleanableOffset;
          const uncleanable = rangeOf(lag);
          expect(rangeOf(lag + more) <= uncleanable).toBe(true);
          if (uncleanable === 0n) return;
          const behind = shaped.slice(Number(uncleanable));
          const sum = (of: (shape: (typeof behind)[0]) => number): number =>
            behind.reduce((total, one) => total + of(one), 0);
          expect(sum((one) => one.bytes)).toBeGreaterThanOrEqual(lag);
          expect(sum((one) => one.records)).toBeGreaterThanOrEqual(messages);
        },
      ),
    );
  });

  it('are looked for from the first dirty offset on only', () => {
    const young: Part[] = [{ base: 0n, ageMs: 0 }, { base: 100n }, { base: 200n, bytes: 0 }];
    const log = logOf(young, { 'min.compaction.lag.ms': '1000' });
    expect(cleanableRange(log, 100n, NOW).firstUncleanableOffset).toBe(200n);
    expect(cleanableRange(log, 0n, NOW).firstUncleanableOffset).toBe(0n);
  });
});

describe('the first dirty offset', () => {
  const log = logOf(SEED);

  it('is the checkpoint, or the start of a log that has none', () => {
    expect(cleanableRange(log, 1800n, NOW).firstDirtyOffset).toBe(1800n);
    expect(cleanableRange(log, undefined, NOW)).toMatchObject({
      firstDirtyOffset: 0n,
      isCheckpointInvalid: false,
    });
  });

  it('is the start again when the checkpoint lies outside of the log', () => {
    const trimmed = { ...log, logStartOffset: 900n };
    for (const outside of [899n, 3401n]) {
      expect(cleanableRange(trimmed, outside, NOW)).toMatchObject({
        firstDirtyOffset: 900n,
        isCheckpointInvalid: true,
      });
    }
    expect(cleanableRange(trimmed, 3400n, NOW).isCheckpointInvalid).toBe(false);
  });

  it('within the active segment leaves nothing to clean (KAFKA-9826)', () => {
    expect(cleanableRange(log, 2500n, NOW)).toMatchObject({
      firstUncleanableOffset: 2400n,
      compactableBytes: 0,
      isEligible: false,
    });
  });

  it('above the active segment by the log start leaves nothing to clean (KAFKA-9133)', () => {
    const trimmed = { ...log, logStartOffset: 2450n };
    expect(cleanableRange(trimmed, undefined, NOW)).toMatchObject({
      compactableBytes: 0,
      isEligible: false,
    });
  });
});

describe('what is not decided yet', () => {
  it('holds back the whole segment that it is in (KAFKA-13194)', () => {
    const range = cleanableRange({ ...logOf(SEED), lastStableOffset: 1801n }, 1000n, NOW);
    expect(range).toMatchObject({
      firstUncleanableOffset: 1800n,
      heldBackBy: 'last-stable-offset',
      compactableBytes: 60 * MB,
    });
  });
});

describe('the dirty ratio', () => {
  it('is 0 of an empty log, which is not cleaned', () => {
    const range = cleanableRange(logOf([{ base: 0n, bytes: 0 }]), undefined, NOW);
    expect(range).toMatchObject({ dirtyRatio: 0, isEligible: false });
  });

  it('stays between 0 and 1 for sizes above 2^31 and 2^32 (KAFKA-6030)', () => {
    const gib = 2 ** 30;
    const parts = [0n, 1n, 2n].map((base) => ({ base, bytes: 1.5 * gib }));
    const range = cleanableRange(logOf([...parts, { base: 3n, bytes: 5 * gib }]), 1n, NOW);
    expect(range.cleanBytes).toBe(1.5 * gib);
    expect(range.compactableBytes).toBe(3 * gib);
    expect(range.dirtyRatio).toBeCloseTo(2 / 3);
  });

  it('of 0 does not make a log eligible that has nothing to clean', () => {
    const log = logOf(SEED, { 'min.cleanable.dirty.ratio': '0' });
    expect(cleanableRange(log, 2400n, NOW).isEligible).toBe(false);
    expect(cleanableRange(log, 1800n, NOW).isEligible).toBe(true);
  });
});
