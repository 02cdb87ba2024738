import { describe, expect, it } from 'vitest';
import { TopologyError } from '../errors.ts';
import { durationMs, type Duration } from './duration.ts';

describe('durations', () => {
  it.each<[Duration, number]>([
    [0, 0],
    [1500, 1500],
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['7d', 604_800_000],
    ['5', 5],
  ])('%s', (duration, ms) => {
    expect(durationMs(duration, 'size')).toBe(ms);
  });

  it.each<Duration>([
    -1,
    0.5,
    Number.NaN,
    Infinity,
    '',
    '-5m',
    '5 minutes',
    'm',
    '1h-30m',
    '0.5ms',
  ])('%s is refused', (duration) => {
    expect(() => durationMs(duration, 'size')).toThrow(TopologyError);
  });
});
