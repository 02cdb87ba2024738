import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogDir } from '../log-dir/log-dir.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { readAll } from '../testing/memory-log-dir.ts';

interface Expected {
  readonly state: {
    readonly logEndOffset: number;
    readonly lastStableOffset: number;
    readonly segments: readonly { readonly base: number; readonly nextOffset: number }[];
    readonly producers: readonly {
      readonly producerId: number;
      readonly producerEpoch: number;
      readonly coordinatorEpoch: number;
      readonly batches: readonly { readonly lastSequence: number }[];
    }[];
    readonly leaderEpochs: readonly { readonly epoch: number; readonly startOffset: number }[];
  };
  /** Offset, timestamp, key and value (hex). */
  readonly records: readonly [number, number, string | null, string | null][];
}

const fixtures = path.join(import.meta.dirname, 'fixtures');
const names = [
  'codec-mixed',
  'compact-and-delete',
  'sparse-hole-at-segment-end',
  'timestamp-types-mixed',
  'txn-interleaved',
];

describe('a directory that Kafka 4.4 wrote', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'log-fixture-'));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  for (const name of names) {
    for (const isClean of [true, false]) {
      it(`${name} opens ${isClean ? 'after a clean shutdown' : 'with recovery'} as Kafka opens it`, async () => {
        cpSync(path.join(fixtures, name), path.join(root, 't-0'), { recursive: true });
        if (isClean)
          cpSync(path.join(fixtures, '..', 'log.ts'), path.join(root, '.kafka_cleanshutdown'));
        const text = readFileSync(path.join(fixtures, `${name}.json`), 'utf8');
        const { state, records } = JSON.parse(text) as Expected;
        const dir = await LogDir.open(root, { clock: new FakeClock(1_700_000_001_000) });
        const log = dir.log('t', 0);
        if (!log) throw new Error('not opened');
        expect(Number(log.logEndOffset)).toBe(state.logEndOffset);
        expect(Number(log.lastStableOffset)).toBe(state.lastStableOffset);
        expect(log.segments.map((one) => Number(one.baseOffset))).toEqual(
          state.segments.map((one) => one.base),
        );
        expect(
          log.leaderEpochs.map((one) => ({
            epoch: one.epoch,
            startOffset: Number(one.startOffset),
          })),
        ).toEqual(state.leaderEpochs);
        expect(
          log
            .producers()
            .map((one) => [Number(one.producerId), one.producerEpoch, one.coordinatorEpoch]),
        ).toEqual(
          state.producers.map((one) => [one.producerId, one.producerEpoch, one.coordinatorEpoch]),
        );
        const hex = (one: string | null): string | null =>
          one === null ? null : Buffer.from(one).toString('hex');
        const seen = readAll(log).filter((one) => !one.isControl);
        const isData = new Set(seen.map((one) => Number(one.offset)));
        expect(
          seen.map((one) => [Number(one.offset), one.timestamp, hex(one.key), hex(one.value)]),
        ).toEqual(records.filter(([offset]) => isData.has(offset)));
        await dir.close();
      });
    }
  }
});
