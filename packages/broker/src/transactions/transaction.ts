import { nextState, type TransactionEvent, type TransactionState } from './states.ts';

/** Partitions by topic. */
export type TransactionPartitions = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * What the coordinator knows of one transactional id, as its record has it. Never changed in place: a step
 * makes the next one, which counts once it is in the log. Times in epoch ms, -1 = none.
 */
export interface Transaction {
  readonly producerId: bigint;
  /** The producer id before the last step: another one only right after an id was exhausted. */
  readonly previousProducerId: bigint;
  /** -1: not given out yet. */
  readonly producerEpoch: number;
  /** Which epoch a repeated InitProducerId of the present one would name (KIP-360); not in the log. */
  readonly lastProducerEpoch: number;
  readonly timeoutMs: number;
  readonly state: TransactionState;
  readonly partitions: TransactionPartitions;
  readonly startTimestamp: number;
  readonly lastUpdateTimestamp: number;
}

export const NO_PRODUCER_ID = -1n;
export const NO_PRODUCER_EPOCH = -1;
const NO_TIMESTAMP = -1;
const NO_PARTITIONS: TransactionPartitions = new Map();

const LARGEST_EPOCH = 32_767;

/** The last epoch that a producer is given: one more is left for fencing it. */
const LAST_PRODUCER_EPOCH = LARGEST_EPOCH - 1;

export function newTransaction(producerId: bigint, timeoutMs: number, now: number): Transaction {
  return {
    producerId,
    previousProducerId: NO_PRODUCER_ID,
    producerEpoch: NO_PRODUCER_EPOCH,
    lastProducerEpoch: NO_PRODUCER_EPOCH,
    timeoutMs,
    state: 'Empty',
    partitions: NO_PARTITIONS,
    startTimestamp: NO_TIMESTAMP,
    lastUpdateTimestamp: now,
  };
}

export function isEpochExhausted(producerEpoch: number): boolean {
  return producerEpoch >= LAST_PRODUCER_EPOCH;
}

function step(
  transaction: Transaction,
  event: TransactionEvent,
  changes: Partial<Transaction>,
): Transaction {
  return {
    ...transaction,
    previousProducerId: transaction.producerId,
    state: nextState(transaction.state, event),
    ...changes,
  };
}

/** A producer begins, or goes on, with this id and epoch. */
export function initialised(
  transaction: Transaction,
  producer: Pick<Transaction, 'producerId' | 'producerEpoch' | 'lastProducerEpoch'>,
  timeoutMs: number,
  now: number,
): Transaction {
  return step(transaction, 'initialised', {
    ...producer,
    timeoutMs,
    partitions: NO_PARTITIONS,
    startTimestamp: NO_TIMESTAMP,
    lastUpdateTimestamp: now,
  });
}

export function withPartitions(
  transaction: Transaction,
  added: TransactionPartitions,
  now: number,
): Transaction {
  const partitions = new Map<string, ReadonlySet<number>>(transaction.partitions);
  for (const [topic, indexes] of added) {
    partitions.set(topic, new Set([...(partitions.get(topic) ?? []), ...indexes]));
  }
  return step(transaction, 'partitionsAdded', {
    partitions,
    startTimestamp: transaction.state === 'Ongoing' ? transaction.startTimestamp : now,
    lastUpdateTimestamp: now,
  });
}

/** Whoever writes with the present epoch is refused from now on; no producer is given the new one. */
export function fenced(transaction: Transaction): Transaction {
  return step(transaction, 'fenced', {
    // Nobody is given the largest one, but a log of another broker may hold it.
    producerEpoch: Math.min(transaction.producerEpoch + 1, LARGEST_EPOCH),
    lastProducerEpoch: NO_PRODUCER_EPOCH,
  });
}

export function ending(transaction: Transaction, isCommit: boolean, now: number): Transaction {
  return step(transaction, isCommit ? 'committing' : 'aborting', { lastUpdateTimestamp: now });
}

export function completed(transaction: Transaction, now: number): Transaction {
  return step(transaction, 'completed', { partitions: NO_PARTITIONS, lastUpdateTimestamp: now });
}

export function hasPartitions({ partitions }: Transaction, wanted: TransactionPartitions): boolean {
  for (const [topic, indexes] of wanted) {
    const present = partitions.get(topic);
    for (const index of indexes) if (present?.has(index) !== true) return false;
  }
  return true;
}

export function isPrepared({ state }: Transaction): boolean {
  return state === 'PrepareCommit' || state === 'PrepareAbort';
}
