import { describe, expect, it } from 'vitest';
import { InvariantError } from './errors.ts';
import type { TransitionTable } from './state-machine.ts';
import { StateMachine, transition } from './state-machine.ts';
import type { StreamsEvent, StreamsState } from './states.ts';
import { streamsTransitions } from './states.ts';
import type { TaskEvent, TaskState } from './tasks/task-states.ts';
import { taskTransitions } from './tasks/task-states.ts';
import type { ThreadEvent, ThreadState } from './tasks/thread-states.ts';
import { threadTransitions } from './tasks/thread-states.ts';

/** Every state × event of a table: `state event → next`, or `-` where nothing may happen. */
function walk<S extends string, E extends string>(
  table: TransitionTable<S, E>,
  events: readonly E[],
): Record<string, string> {
  const rows: Record<string, string> = {};
  for (const state of Object.keys(table) as S[]) {
    rows[state] = events
      .map((event) => `${event}:${transition(table, state, event) ?? '-'}`)
      .join(' ');
  }
  return rows;
}

/** Moves a real machine from each state by each event, and checks that it does what the table says. */
function exercise<S extends string, E extends string>(
  table: TransitionTable<S, E>,
  events: readonly E[],
): void {
  for (const state of Object.keys(table) as S[]) {
    for (const event of events) {
      const changes: string[] = [];
      const machine = new StateMachine('m', table, state, (next) => changes.push(next));
      const expected = transition(table, state, event);
      expect(machine.can(event)).toBe(expected !== undefined);
      if (expected === undefined) {
        expect(machine.tryFire(event)).toBe(false);
        expect(() => {
          machine.fire(event);
        }).toThrow(InvariantError);
        expect(machine.state).toBe(state);
        expect(changes).toEqual([]);
      } else {
        machine.fire(event);
        expect(machine.state).toBe(expected);
        expect(changes).toEqual(expected === state ? [] : [expected]);
      }
    }
  }
}

const taskEvents: readonly TaskEvent[] = [
  'initialize',
  'restored',
  'suspend',
  'resume',
  'close',
  'revive',
];
const threadEvents: readonly ThreadEvent[] = [
  'start',
  'revoked',
  'assigned',
  'restored',
  'shutdown',
  'stopped',
];
const streamsEvents: readonly StreamsEvent[] = [
  'start',
  'rebalance',
  'allRunning',
  'shutdown',
  'fail',
  'stopped',
];

describe('state tables', () => {
  it('task: every state and event', () => {
    exercise<TaskState, TaskEvent>(taskTransitions, taskEvents);
    expect(walk(taskTransitions, taskEvents)).toEqual({
      CREATED: 'initialize:RESTORING restored:- suspend:SUSPENDED resume:- close:- revive:-',
      RESTORING: 'initialize:- restored:RUNNING suspend:SUSPENDED resume:- close:- revive:-',
      RUNNING: 'initialize:- restored:- suspend:SUSPENDED resume:- close:- revive:-',
      SUSPENDED: 'initialize:- restored:- suspend:SUSPENDED resume:RESTORING close:CLOSED revive:-',
      CLOSED: 'initialize:- restored:- suspend:- resume:- close:CLOSED revive:CREATED',
    });
  });

  it('stream thread: every state and event', () => {
    exercise<ThreadState, ThreadEvent>(threadTransitions, threadEvents);
    expect(walk(threadTransitions, threadEvents)).toEqual({
      CREATED: 'start:STARTING revoked:- assigned:- restored:- shutdown:PENDING_SHUTDOWN stopped:-',
      STARTING:
        'start:- revoked:PARTITIONS_REVOKED assigned:PARTITIONS_ASSIGNED restored:- shutdown:PENDING_SHUTDOWN stopped:-',
      PARTITIONS_REVOKED:
        'start:- revoked:PARTITIONS_REVOKED assigned:PARTITIONS_ASSIGNED restored:- shutdown:PENDING_SHUTDOWN stopped:-',
      PARTITIONS_ASSIGNED:
        'start:- revoked:PARTITIONS_REVOKED assigned:PARTITIONS_ASSIGNED restored:RUNNING shutdown:PENDING_SHUTDOWN stopped:-',
      RUNNING:
        'start:- revoked:PARTITIONS_REVOKED assigned:PARTITIONS_ASSIGNED restored:RUNNING shutdown:PENDING_SHUTDOWN stopped:-',
      PENDING_SHUTDOWN:
        'start:- revoked:- assigned:- restored:- shutdown:PENDING_SHUTDOWN stopped:DEAD',
      DEAD: 'start:- revoked:- assigned:- restored:- shutdown:- stopped:-',
    });
  });

  it('client: every state and event', () => {
    exercise<StreamsState, StreamsEvent>(streamsTransitions, streamsEvents);
    expect(walk(streamsTransitions, streamsEvents)).toEqual({
      CREATED:
        'start:REBALANCING rebalance:- allRunning:- shutdown:PENDING_SHUTDOWN fail:- stopped:-',
      REBALANCING:
        'start:- rebalance:REBALANCING allRunning:RUNNING shutdown:PENDING_SHUTDOWN fail:PENDING_ERROR stopped:-',
      RUNNING:
        'start:- rebalance:REBALANCING allRunning:RUNNING shutdown:PENDING_SHUTDOWN fail:PENDING_ERROR stopped:-',
      PENDING_SHUTDOWN: 'start:- rebalance:- allRunning:- shutdown:- fail:- stopped:NOT_RUNNING',
      NOT_RUNNING: 'start:- rebalance:- allRunning:- shutdown:- fail:- stopped:-',
      PENDING_ERROR: 'start:- rebalance:- allRunning:- shutdown:- fail:- stopped:ERROR',
      ERROR: 'start:- rebalance:- allRunning:- shutdown:- fail:- stopped:-',
    });
  });
});
