import { describe, expect, it } from 'vitest';
import { ManualClock } from './groups/test-support/group-fixture.ts';
import { Deadline, Delay } from './timers.ts';

describe('Deadline', () => {
  it('fires once, when the last set time is over', () => {
    const clock = new ManualClock();
    let fired = 0;
    const deadline = new Deadline(clock, () => (fired += 1));
    deadline.set(100);
    for (let moved = 0; moved < 50; moved += 1) {
      clock.advance(90);
      deadline.set(100);
      expect(clock.timerCount).toBe(1);
    }
    expect(fired).toBe(0);
    clock.advance(99);
    expect(fired).toBe(0);
    clock.advance(1);
    expect(fired).toBe(1);
    expect(deadline.isSet).toBe(false);
    clock.advance(1_000);
    expect(fired).toBe(1);
  });

  it('can be brought forward, cancelled and set again', () => {
    const clock = new ManualClock();
    let fired = 0;
    const deadline = new Deadline(clock, () => (fired += 1));
    deadline.set(300_000);
    deadline.set(10);
    clock.advance(10);
    expect(fired).toBe(1);
    deadline.set(10);
    deadline.cancel();
    clock.advance(10);
    expect(fired).toBe(1);
    deadline.set(-5);
    clock.advance(0);
    expect(fired).toBe(2);
  });
});

describe('Delay', () => {
  it('replaces the action before', () => {
    const clock = new ManualClock();
    const done: string[] = [];
    const delay = new Delay(clock);
    delay.start(10, () => done.push('first'));
    delay.start(20, () => done.push('second'));
    clock.advance(30);
    expect(done).toEqual(['second']);
    expect(delay.isSet).toBe(false);
  });
});
