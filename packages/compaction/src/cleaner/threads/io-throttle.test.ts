import { describe, expect, it } from 'vitest';
import { processMicros } from '../../platform/clock.ts';
import { IoThrottle } from './io-throttle.ts';
import { AbortFlag, PassControl } from './pass-control.ts';

const SECOND = 1_000_000n;

describe('the throttle', () => {
  it('is one account for all who share its memory', () => {
    const one = new IoThrottle();
    const other = new IoThrottle(one.memory);
    one.setRate(1_000);
    expect(one.pay(500, 10n * SECOND)).toBe(10n * SECOND + SECOND / 2n);
    expect(other.pay(1_000, 10n * SECOND)).toBe(11n * SECOND + SECOND / 2n);
    // KAFKA-14556: what was not used before does not count.
    expect(one.pay(1_000, 60n * SECOND)).toBe(61n * SECOND);
    expect(other.totalBytes).toBe(2_500);
  });

  it('without a limit only counts', () => {
    const throttle = new IoThrottle();
    throttle.setRate(Number.MAX_VALUE);
    expect(throttle.pay(1 << 30, 5n)).toBe(0n);
    expect(throttle.totalBytes).toBe(1 << 30);
  });

  it('forgets what was to be paid when the rate changes', () => {
    const throttle = new IoThrottle();
    throttle.setRate(1);
    const before = throttle.rateChanges;
    throttle.pay(1_000_000, 0n);
    throttle.setRate(1_000);
    expect(throttle.rateChanges).not.toBe(before);
    expect(throttle.pay(1_000, 7n * SECOND)).toBe(8n * SECOND);
  });
});

describe("a pass's control", () => {
  it('waits as long as the bytes should have taken', () => {
    const throttle = new IoThrottle();
    throttle.setRate(1_000_000);
    const control = new PassControl('t-0', new AbortFlag(), throttle);
    const startedMicros = processMicros();
    for (let part = 0; part < 5; part++) control.throttle(20_000);
    expect(Number(processMicros() - startedMicros)).toBeGreaterThan(99_000);
  });

  it('ends a pass that is not wanted, also one that would wait for long', () => {
    const throttle = new IoThrottle();
    throttle.setRate(1);
    const flag = new AbortFlag();
    const control = new PassControl('t-0', flag, throttle);
    control.ensureWanted();
    new AbortFlag(flag.memory).raise();
    const startedMicros = processMicros();
    expect(() => {
      control.throttle(1_000_000);
    }).toThrow('t-0: the pass is not wanted any more');
    expect(Number(processMicros() - startedMicros)).toBeLessThan(1_000_000);
    expect(() => {
      control.ensureWanted();
    }).toThrow('t-0: the pass is not wanted any more');
    flag.lower();
    control.ensureWanted();
  });
});
