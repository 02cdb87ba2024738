import { describe, expect, it } from 'vitest';
import { BrokerInvariantError } from '../errors.ts';
import { canHappen, groupEvents, groupStates, groupTransitions, nextState } from './states.ts';

/** Every cell of the table, written out once more: `-` must not happen. */
const expected = [
  //                     rebalance             joined                 emptied   assigned  removed
  ['Empty', 'PreparingRebalance', '-', '-', '-', 'Dead'],
  ['PreparingRebalance', '-', 'CompletingRebalance', 'Empty', '-', 'Dead'],
  ['CompletingRebalance', 'PreparingRebalance', '-', '-', 'Stable', 'Dead'],
  ['Stable', 'PreparingRebalance', '-', '-', '-', 'Dead'],
  ['Dead', '-', '-', '-', '-', '-'],
] as const;

describe('group states', () => {
  it('has exactly the transitions of the picture, for every state and event', () => {
    expect(expected.map(([state]) => state)).toEqual([...groupStates]);
    for (const [state, ...cells] of expected) {
      for (const [index, event] of groupEvents.entries()) {
        const target = cells[index];
        if (target === '-') {
          expect(canHappen(state, event), `${state} × ${event}`).toBe(false);
          expect(() => nextState('g', state, event)).toThrow(BrokerInvariantError);
        } else {
          expect(canHappen(state, event), `${state} × ${event}`).toBe(true);
          expect(nextState('g', state, event)).toBe(target);
        }
      }
    }
  });

  it('reaches every state from Empty and none from Dead', () => {
    const reached = new Set(['Empty']);
    for (const state of reached) {
      for (const target of Object.values(groupTransitions[state as 'Empty'])) reached.add(target);
    }
    expect([...reached].sort()).toEqual([...groupStates].sort());
    expect(groupTransitions.Dead).toEqual({});
  });

  it('names group, event and state when something impossible happens', () => {
    expect(() => nextState('orders', 'Empty', 'assigned')).toThrow(
      "group orders: 'assigned' cannot happen in state Empty",
    );
  });
});
