import type { TransitionTable } from './state-machine.ts';

/**
 * Life of a KafkaStreams client, as Kafka Streams has it:
 *
 * ```
 *   CREATED ──start──▶ REBALANCING ◀──rebalance──┐
 *      │                 │   │  └──allRunning──▶ RUNNING ─┐
 *      │              shutdown fail                │  │   │
 *   shutdown             │   └────────┬────────fail┘  shutdown
 *      ▼                 ▼            ▼                   │
 *   PENDING_SHUTDOWN ◀───┘      PENDING_ERROR             │
 *      │   ▲──────────────────────────────────────────────┘
 *   stopped                        stopped
 *      ▼                              ▼
 *   NOT_RUNNING                     ERROR
 * ```
 *
 * RUNNING means that every stream thread runs and all active tasks are restored.
 */
export type StreamsState =
  | 'CREATED'
  | 'REBALANCING'
  | 'RUNNING'
  | 'PENDING_SHUTDOWN'
  | 'NOT_RUNNING'
  | 'PENDING_ERROR'
  | 'ERROR';

/** In Kafka Streams' order, which its metrics number them by. */
export const streamsStates: readonly StreamsState[] = [
  'CREATED',
  'REBALANCING',
  'RUNNING',
  'PENDING_SHUTDOWN',
  'NOT_RUNNING',
  'PENDING_ERROR',
  'ERROR',
];

export type StreamsEvent = 'start' | 'rebalance' | 'allRunning' | 'shutdown' | 'fail' | 'stopped';

export const streamsTransitions: TransitionTable<StreamsState, StreamsEvent> = {
  CREATED: { start: 'REBALANCING', shutdown: 'PENDING_SHUTDOWN' },
  REBALANCING: {
    rebalance: 'REBALANCING',
    allRunning: 'RUNNING',
    shutdown: 'PENDING_SHUTDOWN',
    fail: 'PENDING_ERROR',
  },
  RUNNING: {
    rebalance: 'REBALANCING',
    allRunning: 'RUNNING',
    shutdown: 'PENDING_SHUTDOWN',
    fail: 'PENDING_ERROR',
  },
  PENDING_SHUTDOWN: { stopped: 'NOT_RUNNING' },
  NOT_RUNNING: {},
  PENDING_ERROR: { stopped: 'ERROR' },
  ERROR: {},
};

/** A change of the client's state. */
export interface StateChange {
  readonly state: StreamsState;
  readonly previous: StreamsState;
}
