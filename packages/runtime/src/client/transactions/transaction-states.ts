import type { TransitionTable } from '../../state-machine.ts';

/**
 * Life of a transactional producer, as Kafka's own client has it; only that a transaction begins with
 * its first record, and that an abort includes the new epoch where one is needed:
 *
 * ```
 *                    ┌─────────initialize─────────┐
 *                    │                            ▼
 *              uninitialized ◀──────fail────── initializing
 *                                                 │ initialized
 *                     committed                   ▼                     aborted
 *              ┌───────────────────────────▶    ready    ◀───────────────────────────┐
 *              │                                  │ begin                            │
 *              │         commit                   ▼               abort              │
 *          committing ◀──────────────────── inTransaction ─────────────────────▶ aborting
 *              │                                  │ fail                          │     ▲
 *              │         fail                     ▼               fail            │     │
 *              └──────────────────────────▶ abortableError ◀──────────────────────┘     │
 *                                                 │               abort                 │
 *                                                 └─────────────────────────────────────┘
 *
 *   any of them ──fence──▶ fatalError
 * ```
 *
 * In `abortableError` everything that was not sent is dropped, and only an abort leads on. In
 * `fatalError` nothing does: another producer is needed.
 */
export type TransactionState =
  | 'uninitialized'
  | 'initializing'
  | 'ready'
  | 'inTransaction'
  | 'committing'
  | 'aborting'
  | 'abortableError'
  | 'fatalError';

export type TransactionEvent =
  | 'initialize'
  | 'initialized'
  | 'begin'
  | 'commit'
  | 'committed'
  | 'abort'
  | 'aborted'
  | 'fail'
  | 'fence';

export const transactionTransitions: TransitionTable<TransactionState, TransactionEvent> = {
  uninitialized: { initialize: 'initializing', fence: 'fatalError' },
  initializing: { initialized: 'ready', fail: 'uninitialized', fence: 'fatalError' },
  ready: { begin: 'inTransaction', fence: 'fatalError' },
  inTransaction: {
    commit: 'committing',
    abort: 'aborting',
    fail: 'abortableError',
    fence: 'fatalError',
  },
  committing: { committed: 'ready', fail: 'abortableError', fence: 'fatalError' },
  aborting: { aborted: 'ready', fail: 'abortableError', fence: 'fatalError' },
  abortableError: { abort: 'aborting', fail: 'abortableError', fence: 'fatalError' },
  fatalError: { fence: 'fatalError' },
};
