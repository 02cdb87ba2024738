import { describe, expect, it } from 'vitest';
import { CleaningStateError } from '../../errors.ts';
import { settled } from '../../testing/log-cleaner.ts';
import { CleaningStates } from './cleaning-states.ts';
import type { CleaningState } from './cleaning-states.ts';

const key = { name: 't-0' };
const events = ['grab', 'pause', 'leave', 'resume'] as const;

/** How each state is come to. */
const ways: Readonly<Record<CleaningState, readonly (typeof events)[number][]>> = {
  none: [],
  inProgress: ['grab'],
  aborted: ['grab', 'pause'],
  paused: ['pause'],
};

const expected: Readonly<
  Record<CleaningState, Partial<Record<(typeof events)[number], CleaningState>>>
> = {
  none: { grab: 'inProgress', pause: 'paused' },
  inProgress: { leave: 'none', pause: 'aborted' },
  aborted: { pause: 'aborted', leave: 'paused' },
  paused: { pause: 'paused', resume: 'none' },
};

function inState(state: CleaningState): CleaningStates<typeof key> {
  const states = new CleaningStates<typeof key>();
  for (const event of ways[state]) void states[event](key);
  expect(states.of(key)).toBe(state);
  return states;
}

describe('the states of a partition', () => {
  for (const state of Object.keys(ways) as CleaningState[]) {
    for (const event of events) {
      const next = expected[state][event];
      it(`${event} in ${state} ${next === undefined ? 'is refused' : `leads to ${next}`}`, () => {
        const states = inState(state);
        if (next === undefined) {
          expect(() => void states[event](key)).toThrow(CleaningStateError);
          expect(() => void states[event](key)).toThrow(`t-0: ${event} while cleaning is in state`);
          expect(states.of(key)).toBe(state);
        } else {
          void states[event](key);
          expect(states.of(key)).toBe(next);
        }
      });
    }
  }

  it('need as many resumes as there were pauses', () => {
    const states = inState('aborted');
    void states.pause(key);
    states.leave(key);
    states.resume(key);
    expect(states.of(key)).toBe('paused');
    states.resume(key);
    expect(states.of(key)).toBe('none');
  });

  it('KAFKA-6568: whoever pauses waits until the pass is left, and no longer', async () => {
    const states = inState('inProgress');
    const waits = [states.pause(key), states.pause(key)];
    let left = 0;
    for (const wait of waits) void wait.then(() => left++);
    await settled();
    expect(left).toBe(0);
    states.leave(key);
    await settled();
    expect(left).toBe(2);
    await states.pause(key);
  });

  it('are those of each partition alone', () => {
    const states = inState('inProgress');
    expect(states.of({ name: 't-0' })).toBe('none');
  });
});
