import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { batchOf, T0 } from '../testing/batches.ts';
import { configOf, newMemoryLog } from '../testing/memory-log-dir.ts';
import { describeCleaning } from './describe-cleaning.ts';
import type { CleaningDescription } from './describe-cleaning.ts';

const NOW = T0 + 10_000;

/** Three segments of two records each, 0-1, 2-3 and 4-5, a second apart; the last one is active. */
async function described(
  entries: Record<string, string>,
  checkpoint?: bigint,
  nowMs = NOW,
): Promise<CleaningDescription> {
  const { log } = await newMemoryLog();
  log.updateConfig(configOf({ 'cleanup.policy': 'compact', ...entries }));
  for (let i = 0; i < 3; i++) {
    if (i > 0) log.roll();
    const timestamp = T0 + 1_000 * i;
    log.appendAsLeader(batchOf([{ timestamp }, { key: 'b', timestamp }]));
  }
  return describeCleaning(log, checkpoint, nowMs);
}

describe('the regions of a log', () => {
  it('follow each other from its start to its end, and have all of its bytes between them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
        fc.option(fc.bigInt({ min: 0n, max: 30n }), { nil: undefined }),
        fc.integer({ min: 0, max: 400 }),
        fc.integer({ min: 0, max: 10 }),
        async (segments, checkpoint, lagBytes, lagMessages) => {
          const { log } = await newMemoryLog({
            'cleanup.policy': 'compact',
            'min.compaction.lag.bytes': String(lagBytes),
            'min.compaction.lag.messages': String(lagMessages),
          });
          for (const count of segments) {
            log.roll();
            for (let i = 0; i < count; i++) log.appendAsLeader(batchOf([{}]));
          }
          const { regions, range, hold } = describeCleaning(log, checkpoint, NOW);
          let next = log.logStartOffset;
          for (const { startOffset, endOffset } of regions) {
            expect(startOffset).toBe(next);
            next = endOffset;
          }
          expect(next).toBe(log.logEndOffset);
          expect(regions.reduce((sum, one) => sum + one.sizeBytes, 0)).toBe(log.sizeInBytes);
          const kinds = regions.map((one) => one.kind);
          const order = ['clean', 'compactable', 'protected', 'active'] as const;
          expect(kinds).toEqual(order.filter((kind) => kinds.includes(kind)));
          const held = regions.find((one) => one.kind === 'protected');
          expect(hold?.offset).toBe(held?.startOffset);
          expect(range.compactableBytes).toBe(
            regions.find((one) => one.kind === 'compactable')?.sizeBytes ?? 0,
          );
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('why a log is cleaned, or not', () => {
  it('its dirty ratio reaches the limit', async () => {
    const { isEligible, reason, minDirtyRatio, hold } = await described({});
    expect({ isEligible, reason, minDirtyRatio, hold }).toEqual({
      isEligible: true,
      reason: 'dirty-ratio',
      minDirtyRatio: 0.5,
      hold: null,
    });
    expect(await described({ 'min.cleanable.dirty.ratio': '0.6' }, 2n)).toMatchObject({
      isEligible: false,
      reason: 'ratio-below-limit',
      minDirtyRatio: 0.6,
    });
  });

  it('its oldest dirty record is too old', async () => {
    const config = { 'min.cleanable.dirty.ratio': '0.6', 'max.compaction.lag.ms': '5000' };
    expect(await described(config, 2n)).toMatchObject({
      isEligible: true,
      reason: 'max-compaction-lag',
      range: { maxLagExceededMs: 4_000 },
    });
    expect((await described(config, 2n, T0 + 6_000)).reason).toBe('ratio-below-limit');
  });

  it('its policy has no compact', async () => {
    for (const policy of ['delete', '']) {
      expect(await described({ 'cleanup.policy': policy })).toMatchObject({
        isEligible: false,
        reason: 'not-compacted',
      });
    }
  });

  it('nothing is dirty but the active segment', async () => {
    for (const checkpoint of [4n, 5n, 6n]) {
      expect(await described({}, checkpoint)).toMatchObject({
        isEligible: false,
        reason: 'nothing-dirty',
        hold: null,
      });
    }
  });

  it('a lag holds it back, which says until when', async () => {
    const young = await described({ 'min.compaction.lag.ms': '9500' });
    expect(young).toMatchObject({
      isEligible: true,
      hold: { by: 'min.compaction.lag.ms', offset: 2n, limit: 9_500, untilMs: T0 + 10_500 },
      regions: [
        { kind: 'compactable', startOffset: 0n, endOffset: 2n },
        { kind: 'protected', startOffset: 2n, endOffset: 4n },
        { kind: 'active', startOffset: 4n, endOffset: 6n },
      ],
    });
    expect(
      await described({ 'min.compaction.lag.ms': '9500' }, undefined, T0 + 10_500),
    ).toMatchObject({ hold: null });
    expect(await described({ 'min.compaction.lag.messages': '5' })).toMatchObject({
      isEligible: false,
      reason: 'held-back',
      hold: { by: 'min.compaction.lag.messages', offset: 0n, limit: 5, missing: 1 },
    });
    const all = await described({ 'min.compaction.lag.bytes': '1000' });
    const later = all.regions.at(-1)?.sizeBytes ?? 0;
    expect(all).toMatchObject({
      reason: 'held-back',
      hold: { by: 'min.compaction.lag.bytes', offset: 0n, missing: 1_000 - 2 * later },
    });
  });

  it('an open transaction, or the high watermark, holds it back', async () => {
    const { log } = await newMemoryLog({ 'cleanup.policy': 'compact' });
    log.appendAsLeader(batchOf([{}]));
    log.roll();
    const producer = { producerId: 9n, producerEpoch: 0, baseSequence: 0, isTransactional: true };
    log.appendAsLeader(batchOf([{}], producer));
    log.roll();
    log.appendAsLeader(batchOf([{}]));
    expect(describeCleaning(log, undefined, NOW)).toMatchObject({
      isEligible: true,
      hold: {
        by: 'last-stable-offset',
        offset: 1n,
        openTransaction: { producerId: 9n, firstOffset: 1n },
      },
    });
    expect(describeCleaning(log, 1n, NOW).reason).toBe('held-back');

    const { log: replica } = await newMemoryLog({ 'cleanup.policy': 'compact' });
    for (let i = 0; i < 3; i++) {
      replica.appendAsLeader(batchOf([{}]));
      replica.roll();
    }
    replica.highWatermarkFollowsEnd = false;
    replica.updateHighWatermark(1n);
    expect(describeCleaning(replica, undefined, NOW)).toMatchObject({
      hold: { by: 'last-stable-offset', offset: 1n, openTransaction: null },
    });
  });
});
