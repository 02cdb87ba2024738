import { describe, expect, it } from 'vitest';
import { BrokerInvariantError } from '../errors.ts';
import {
  canHappen,
  nextState,
  transactionEvents,
  transactionStates,
  transactionTransitions,
} from './states.ts';

/** Every cell of the table, written out once more: `-` must not happen. */
const expected = [
  //             initialised, partitionsAdded, fenced, committing, aborting, completed, expired
  ['Empty', 'Empty', 'Ongoing', '-', '-', '-', '-', 'Dead'],
  ['Ongoing', '-', 'Ongoing', 'PrepareEpochFence', 'PrepareCommit', 'PrepareAbort', '-', '-'],
  ['PrepareCommit', '-', '-', '-', '-', '-', 'CompleteCommit', '-'],
  ['PrepareAbort', '-', '-', '-', '-', '-', 'CompleteAbort', '-'],
  ['CompleteCommit', 'Empty', 'Ongoing', '-', '-', '-', '-', 'Dead'],
  ['CompleteAbort', 'Empty', 'Ongoing', '-', '-', '-', '-', 'Dead'],
  ['Dead', '-', '-', '-', '-', '-', '-', '-'],
  ['PrepareEpochFence', '-', '-', '-', '-', 'PrepareAbort', '-', '-'],
] as const;

describe('transaction states', () => {
  it('has exactly the transitions of the picture, for every state and event', () => {
    expect(expected.map(([state]) => state)).toEqual([...transactionStates]);
    for (const [state, ...cells] of expected) {
      expect(cells).toHaveLength(transactionEvents.length);
      for (const [index, event] of transactionEvents.entries()) {
        const target = cells[index] as (typeof cells)[number];
        if (target === '-') {
          expect(canHappen(state, event), `${state} × ${event}`).toBe(false);
          expect(() => nextState(state, event)).toThrow(BrokerInvariantError);
        } else {
          expect(canHappen(state, event), `${state} × ${event}`).toBe(true);
          expect(nextState(state, event), `${state} × ${event}`).toBe(target);
        }
      }
    }
  });

  it('reaches every state from Empty and none from Dead', () => {
    const reached = new Set(['Empty']);
    for (const state of reached) {
      for (const target of Object.values(transactionTransitions[state as 'Empty'])) {
        reached.add(target);
      }
    }
    expect([...reached].sort()).toEqual([...transactionStates].sort());
    expect(transactionTransitions.Dead).toEqual({});
  });

  it("has Kafka's numbers, which are those of the log", () => {
    expect(Object.fromEntries(transactionStates.entries())).toEqual({
      0: 'Empty',
      1: 'Ongoing',
      2: 'PrepareCommit',
      3: 'PrepareAbort',
      4: 'CompleteCommit',
      5: 'CompleteAbort',
      6: 'Dead',
      7: 'PrepareEpochFence',
    });
  });

  it('names event and state when something impossible happens', () => {
    expect(() => nextState('PrepareCommit', 'aborting')).toThrow(
      "'aborting' cannot happen in state PrepareCommit",
    );
  });
});
