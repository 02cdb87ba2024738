import { describe, expect, it } from 'vitest';
import { parseAutoOffsetReset } from './auto-offset-reset.ts';

describe('auto.offset.reset', () => {
  it.each(['earliest', 'latest', 'none'])('may be %s', (policy) => {
    expect(parseAutoOffsetReset(policy)).toBe(policy);
  });

  it.each([
    ['by_duration:PT0S', 0],
    ['by_duration:PT1.5S', 1_500],
    ['by_duration:PT12H', 43_200_000],
    ['by_duration:P1DT2H3M4S', 93_784_000],
    ['by_duration:P3D', 259_200_000],
  ])('may be %s', (text, byDurationMs) => {
    expect(parseAutoOffsetReset(text)).toEqual({ byDurationMs });
  });

  it.each(['', 'newest', 'by_duration:', 'by_duration:P', 'by_duration:PT', 'by_duration:P1DT'])(
    'may not be "%s"',
    (text) => {
      expect(parseAutoOffsetReset(text)).toBeNull();
    },
  );

  it.each([
    'by_duration:-PT1H',
    'by_duration:1h',
    'by_duration:PT1H ',
    'by_duration:P99999999999999D',
  ])('may not be "%s" either', (text) => {
    expect(parseAutoOffsetReset(text)).toBeNull();
  });
});
