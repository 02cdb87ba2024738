import { describe, expect, it } from 'vitest';
import { THREAD_REPLACEMENTS_MAX, THREAD_REPLACEMENTS_WINDOW_MS } from '../limits.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { ThreadReplacements } from './thread-replacements.ts';

describe('ThreadReplacements', () => {
  it('come at once, then later and later, and end', () => {
    const replacements = new ThreadReplacements(new FakeClock());
    const delays = Array.from({ length: THREAD_REPLACEMENTS_MAX }, () => replacements.next());
    expect(delays).toEqual([0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
    expect(replacements.next()).toBeNull();
    expect(replacements.next()).toBeNull();
  });

  it('are forgotten after the window', async () => {
    const clock = new FakeClock();
    const replacements = new ThreadReplacements(clock);
    for (let i = 0; i < THREAD_REPLACEMENTS_MAX; i++) {
      expect(replacements.next()).not.toBeNull();
      await clock.advance(THREAD_REPLACEMENTS_WINDOW_MS / THREAD_REPLACEMENTS_MAX);
    }
    // The first one is as old as the window.
    expect(replacements.next()).toBe(10_000);
    expect(replacements.next()).toBeNull();
    await clock.advance(THREAD_REPLACEMENTS_WINDOW_MS);
    expect(replacements.next()).toBe(0);
  });
});
