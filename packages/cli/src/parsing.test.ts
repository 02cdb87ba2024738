import { describe, expect, it } from 'vitest';
import { didYouMean } from './nearest.ts';
import { parsePartitions, partitionsOf } from './partition-list.ts';
import { parseFrom, parseTo } from './places.ts';
import { resetOffset, type PartitionState, type ResetTarget } from './reset-target.ts';

describe('places', () => {
  it('reads where to begin and where to end', () => {
    expect(parseFrom('beginning')).toBe('beginning');
    expect(parseFrom('end')).toBe('end');
    expect(parseFrom('42')).toEqual({ offset: 42n });
    expect(parseFrom('-10')).toEqual({ tail: 10n });
    expect(parseFrom('@1700000000000')).toEqual({ timestampMs: 1_700_000_000_000 });
    expect(parseTo('end')).toBe('end');
    expect(parseTo('9223372036854775806')).toEqual({ offset: 9_223_372_036_854_775_806n });
    expect(() => parseTo('-3')).toThrow(/none of/);
    expect(() => parseTo('beginning')).toThrow(/none of/);
    expect(() => parseFrom('later')).toThrow(/none of/);
  });
});

describe('partition lists', () => {
  it('reads numbers and ranges, sorted and once each', () => {
    expect(parsePartitions('3,0-1')).toEqual([0, 1, 3]);
    expect(parsePartitions('1', [0, 1])).toEqual([0, 1]);
    for (const wrong of ['', '1,', '2-1', 'x', '-1']) {
      expect(() => parsePartitions(wrong), wrong).toThrow(/no list of partitions/);
    }
  });

  it('names partitions that a topic does not have', () => {
    const partitions = [0, 1].map((partition) => ({
      partition,
      leader: 1,
      replicas: [1],
      inSyncReplicas: [1],
    }));
    const topic = { topic: 't', topicId: null, isInternal: false, partitions };
    expect(partitionsOf(topic, undefined)).toEqual([0, 1]);
    expect(partitionsOf(topic, [1])).toEqual([1]);
    expect(() => partitionsOf(topic, [1, 7])).toThrow('no partition 7: it has 2, from 0 to 1');
  });
});

describe('didYouMean', () => {
  it('names what is near, and nothing else', () => {
    expect(didYouMean('ordres', ['orders', 'payments'])).toBe(' Did you mean orders?');
    expect(didYouMean('orders', ['payments'])).toBe('');
    expect(didYouMean('x'.repeat(5_000), ['orders'])).toBe('');
  });
});

describe('resetOffset', () => {
  const state: PartitionState = {
    committedOffset: 50n,
    logStartOffset: 10n,
    endOffset: 100n,
    offsetAtTime: 70n,
  };

  const cases: readonly (readonly [ResetTarget, bigint])[] = [
    [{ kind: 'earliest' }, 10n],
    [{ kind: 'latest' }, 100n],
    [{ kind: 'offset', offset: 42n }, 42n],
    [{ kind: 'offset', offset: 3n }, 10n],
    [{ kind: 'offset', offset: 300n }, 100n],
    [{ kind: 'shift', by: -20n }, 30n],
    [{ kind: 'shift', by: -49n }, 10n],
    [{ kind: 'shift', by: 60n }, 100n],
    [{ kind: 'time', timestampMs: 1 }, 70n],
  ];

  it('moves every target into the log', () => {
    for (const [target, offset] of cases) expect(resetOffset(target, state)).toBe(offset);
  });

  it('shifts from nothing nowhere, and a time after all records means the end', () => {
    expect(resetOffset({ kind: 'shift', by: 1n }, { ...state, committedOffset: null })).toBeNull();
    expect(resetOffset({ kind: 'time', timestampMs: 1 }, { ...state, offsetAtTime: null })).toBe(
      100n,
    );
  });
});
