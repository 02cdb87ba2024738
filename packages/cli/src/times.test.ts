import { describe, expect, it } from 'vitest';
import { formatTime, parseDuration, parseTimeMs, parseTimeout } from './times.ts';

describe('parseDuration', () => {
  it.each([
    ['30s', 30_000],
    ['1h 30m', 5_400_000],
    ['250', 250],
    ['PT12H', 43_200_000],
    ['P1DT0.5S', 86_400_500],
    ['P2W', 1_209_600_000],
    ['0s', 0],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', 'P', 'PT', 'soon', '-5s', '5 parsecs'])('refuses %j', (text) => {
    expect(() => parseDuration(text)).toThrow(/no duration/);
  });

  it('refuses a wait of nothing', () => {
    expect(() => parseTimeout('0s')).toThrow(/no time/);
    expect(parseTimeout('1ms')).toBe(1);
  });
});

describe('parseTimeMs', () => {
  it.each([
    ['2026-11-30', '2026-11-30T00:00:00.000Z'],
    ['2026-11-30T08:15', '2026-11-30T08:15:00.000Z'],
    ['2026-11-30 08:15:07.5', '2026-11-30T08:15:07.500Z'],
    ['2026-11-30T08:15:00+02:00', '2026-11-30T06:15:00.000Z'],
    ['@1700000000000', '2023-11-14T22:13:20.000Z'],
  ])('reads %s in UTC unless a zone is named', (text, iso) => {
    const ms = parseTimeMs(text);
    expect(ms === null ? null : formatTime(ms)).toBe(iso);
  });

  it.each(['', 'yesterday', '12', '2026-13-45', '@x'])('refuses %j', (text) => {
    expect(parseTimeMs(text)).toBeNull();
  });

  it('shows no time for none', () => {
    expect(formatTime(-1)).toBeNull();
    expect(formatTime(Number.MAX_SAFE_INTEGER)).toBeNull();
  });
});
