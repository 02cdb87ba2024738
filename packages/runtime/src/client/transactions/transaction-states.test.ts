import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../errors.ts';
import { StateMachine, transition } from '../../state-machine.ts';
import type { TransactionEvent, TransactionState } from './transaction-states.ts';
import { transactionTransitions } from './transaction-states.ts';

const events: readonly TransactionEvent[] = [
  'initialize',
  'initialized',
  'begin',
  'commit',
  'committed',
  'abort',
  'aborted',
  'fail',
  'fence',
];

describe('states of a transactional producer', () => {
  it('every state and event', () => {
    const rows: Record<string, string> = {};
    for (const state of Object.keys(transactionTransitions) as TransactionState[]) {
      const allowed: string[] = [];
      for (const event of events) {
        const next = transition(transactionTransitions, state, event);
        const machine = new StateMachine('m', transactionTransitions, state);
        if (next === undefined) {
          expect(() => {
            machine.fire(event);
          }).toThrow(InvariantError);
          expect(machine.state).toBe(state);
        } else {
          machine.fire(event);
          expect(machine.state).toBe(next);
          allowed.push(`${event}:${next}`);
        }
      }
      rows[state] = allowed.join(' ');
    }
    expect(rows).toEqual({
      uninitialized: 'initialize:initializing fence:fatalError',
      initializing: 'initialized:ready fail:uninitialized fence:fatalError',
      ready: 'begin:inTransaction fence:fatalError',
      inTransaction: 'commit:committing abort:aborting fail:abortableError fence:fatalError',
      committing: 'committed:ready fail:abortableError fence:fatalError',
      aborting: 'aborted:ready fail:abortableError fence:fatalError',
      abortableError: 'abort:aborting fail:abortableError fence:fatalError',
      fatalError: 'fence:fatalError',
    });
  });
});
