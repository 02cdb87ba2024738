import { describe, expect, it } from 'vitest';
import { WindowedRate, WindowedValues } from './windows.ts';

const lengths = { windowMs: 30_000, sampleCount: 2 };

describe('WindowedValues', () => {
  it('has no value before the first', () => {
    const values = new WindowedValues();
    expect([values.average, values.min, values.max]).toEqual([NaN, NaN, NaN]);
  });

  it('goes over the window that is filled and as many before it as there are samples', () => {
    const values = new WindowedValues();
    values.record(9);
    values.endWindow(lengths);
    values.record(1);
    values.recordAll(2, 6, 2, 4);
    expect([values.average, values.min, values.max]).toEqual([4, 1, 9]);
    values.endWindow(lengths);
    expect([values.average, values.min, values.max]).toEqual([4, 1, 9]);
    values.endWindow(lengths);
    expect([values.average, values.min, values.max]).toEqual([7 / 3, 1, 4]);
    values.endWindow(lengths);
    values.endWindow(lengths);
    expect([values.average, values.min, values.max]).toEqual([NaN, NaN, NaN]);
  });
});

describe('WindowedRate', () => {
  it('counts all windows but one as full at the start, as Kafka does', () => {
    let count = 0;
    const rate = new WindowedRate(() => count, 0);
    expect(rate.perSecond(lengths, 0)).toBe(0);
    count = 400;
    expect(rate.perSecond(lengths, 10_000)).toBe(10);
    expect(rate.perSecond({ ...lengths, sampleCount: 1 }, 10_000)).toBe(40);
  });

  it('forgets what lies before its windows', () => {
    let count = 100;
    const rate = new WindowedRate(() => count, 0);
    for (const atMs of [30_000, 60_000, 90_000]) {
      count += 900;
      rate.endWindow(lengths, atMs);
    }
    expect(rate.perSecond(lengths, 90_000)).toBe(30);
    rate.endWindow(lengths, 120_000);
    expect(rate.perSecond(lengths, 120_000)).toBe(15);
    rate.endWindow(lengths, 150_000);
    expect(rate.perSecond(lengths, 150_000)).toBe(0);
  });

  it('is the part of the time of a counter of milliseconds', () => {
    let busyMs = 0;
    const rate = new WindowedRate(() => busyMs, 1_000);
    busyMs = 250;
    expect(rate.ofTime(2_000)).toBe(0.25);
    expect(rate.ofTime(1_000)).toBe(250);
  });
});
