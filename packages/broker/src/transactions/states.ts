import { BrokerInvariantError } from '../errors.ts';

/**
 * Life of a transactional id, under the names that DescribeTransactions and ListTransactions show:
 *
 *              initialised                       partitionsAdded
 *                ┌───┐                               ┌───┐
 *                │   ▼       partitionsAdded         │   ▼
 *              ┌───────┐ ───────────────────────▶ ┌─────────┐   fenced   ┌───────────────────┐
 *   ──────────▶│ Empty │                          │ Ongoing │ ──────────▶│ PrepareEpochFence │
 *              └───────┘                          └─────────┘            └───────────────────┘
 *                │   ▲                    committing │   │ aborting            │ aborting
 *                │   │                    ┌──────────┘   └──────────┐          │
 *                │   │                    ▼                         ▼          │
 *                │   │            ┌───────────────┐         ┌──────────────┐   │
 *                │   │            │ PrepareCommit │         │ PrepareAbort │◀──┘
 *                │   │            └───────────────┘         └──────────────┘
 *                │   │                    │ completed               │ completed
 *                │   │                    ▼                         ▼
 *                │   │ initialised ┌────────────────┐       ┌───────────────┐
 *                │   ├─────────────│ CompleteCommit │   ┌───│ CompleteAbort │
 *                │   │             └────────────────┘   │   └───────────────┘
 *                │   └──────────────────────────────────┘     both: partitionsAdded ──▶ Ongoing
 *        expired │              initialised                         expired ──────────▶ Dead
 *                ▼
 *              ┌──────┐
 *              │ Dead │
 *              └──────┘
 *
 * Empty: a producer has its id and epoch, nothing is written. Ongoing: partitions are in the transaction.
 * Prepare*: the outcome is in the log and will never change, the markers are being written. Complete*: they
 * are written. PrepareEpochFence: a newer producer, or the timeout, takes the epoch away; it is passed
 * through on the way to PrepareAbort and never stored. Dead: forgotten; its record is a tombstone.
 *
 * Their places in the list are their numbers in `__transaction_state`.
 */
export const transactionStates = [
  'Empty',
  'Ongoing',
  'PrepareCommit',
  'PrepareAbort',
  'CompleteCommit',
  'CompleteAbort',
  'Dead',
  'PrepareEpochFence',
] as const;
export type TransactionState = (typeof transactionStates)[number];

/**
 * initialised: InitProducerId gave an epoch. partitionsAdded: by AddPartitionsToTxn or AddOffsetsToTxn.
 * fenced: the epoch is raised under an open transaction. committing, aborting: the outcome is decided.
 * completed: every marker is written. expired: unused for transactional.id.expiration.ms.
 */
export const transactionEvents = [
  'initialised',
  'partitionsAdded',
  'fenced',
  'committing',
  'aborting',
  'completed',
  'expired',
] as const;
export type TransactionEvent = (typeof transactionEvents)[number];

/** What is not listed must not happen. */
export const transactionTransitions: Readonly<
  Record<TransactionState, Readonly<Partial<Record<TransactionEvent, TransactionState>>>>
> = {
  Empty: { initialised: 'Empty', partitionsAdded: 'Ongoing', expired: 'Dead' },
  Ongoing: {
    partitionsAdded: 'Ongoing',
    fenced: 'PrepareEpochFence',
    committing: 'PrepareCommit',
    aborting: 'PrepareAbort',
  },
  PrepareCommit: { completed: 'CompleteCommit' },
  PrepareAbort: { completed: 'CompleteAbort' },
  CompleteCommit: { initialised: 'Empty', partitionsAdded: 'Ongoing', expired: 'Dead' },
  CompleteAbort: { initialised: 'Empty', partitionsAdded: 'Ongoing', expired: 'Dead' },
  Dead: {},
  PrepareEpochFence: { aborting: 'PrepareAbort' },
};

export function canHappen(state: TransactionState, event: TransactionEvent): boolean {
  return transactionTransitions[state][event] !== undefined;
}

/** Throws BrokerInvariantError where the table has no such transition. */
export function nextState(state: TransactionState, event: TransactionEvent): TransactionState {
  const next = transactionTransitions[state][event];
  if (next === undefined) {
    throw new BrokerInvariantError(`transaction: '${event}' cannot happen in state ${state}`);
  }
  return next;
}
