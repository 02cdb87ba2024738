import { errorByCode, errorCodes } from '@millrace/protocol';

/** The requests of a transactional producer, but for Produce. */
export type TransactionRequest =
  | 'findTransactionCoordinator'
  | 'findGroupCoordinator'
  | 'initProducerId'
  | 'addPartitions'
  | 'addOffsets'
  | 'commitOffsets'
  | 'endWithCommit'
  | 'endWithAbort';

export type TransactionVerdict =
  | 'done'
  /** Another try at the same coordinator. */
  | 'retry'
  /** The coordinator is another by now: find it, and try again. */
  | 'moved'
  /** The transaction before is still being ended: another try, soon. */
  | 'concurrent'
  /** The transaction cannot be committed; after an abort the producer goes on. */
  | 'abortable'
  /** The same, under another epoch. */
  | 'newEpoch'
  /** The same; the offsets have another owner by now. */
  | 'migrated'
  /** Another producer with this transactional id has taken over. */
  | 'fenced'
  /** This producer is of no more use. */
  | 'fatal';

/** What becomes of a batch that was answered with a code. */
export type TransactionalProduceVerdict =
  'done' | 'retry' | 'sequence' | 'refused' | 'abortable' | 'migrated' | 'fenced' | 'fatal';

type Verdicts<V> = ReadonlyMap<number, V>;

const {
  CLUSTER_AUTHORIZATION_FAILED,
  CONCURRENT_TRANSACTIONS,
  COORDINATOR_NOT_AVAILABLE,
  DUPLICATE_SEQUENCE_NUMBER,
  FENCED_INSTANCE_ID,
  GROUP_AUTHORIZATION_FAILED,
  GROUP_ID_NOT_FOUND,
  ILLEGAL_GENERATION,
  INVALID_PRODUCER_EPOCH,
  INVALID_PRODUCER_ID_MAPPING,
  INVALID_TXN_STATE,
  NONE,
  NOT_COORDINATOR,
  OUT_OF_ORDER_SEQUENCE_NUMBER,
  PRODUCER_FENCED,
  REQUEST_TIMED_OUT,
  STALE_MEMBER_EPOCH,
  TRANSACTION_ABORTABLE,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  UNKNOWN_MEMBER_ID,
  UNKNOWN_PRODUCER_ID,
  UNSUPPORTED_VERSION,
} = errorCodes;

const ofCoordinators: Verdicts<TransactionVerdict> = new Map([
  [NONE, 'done'],
  [NOT_COORDINATOR, 'moved'],
  [COORDINATOR_NOT_AVAILABLE, 'moved'],
  [CONCURRENT_TRANSACTIONS, 'concurrent'],
  [INVALID_PRODUCER_EPOCH, 'fenced'],
  [PRODUCER_FENCED, 'fenced'],
  [INVALID_PRODUCER_ID_MAPPING, 'fenced'],
  [TRANSACTION_ABORTABLE, 'abortable'],
] as const);

/** What a request's codes mean where that is not what they mean for all; and what all others mean. */
interface RequestVerdicts {
  readonly own: Verdicts<TransactionVerdict>;
  readonly others: 'abortable' | 'fatal';
}

const fatal = (own: readonly (readonly [number, TransactionVerdict])[]): RequestVerdicts => ({
  own: new Map(own),
  others: 'fatal',
});

/** As the TransactionManager of Kafka 4.4's client has them. */
const verdicts: Readonly<Record<TransactionRequest, RequestVerdicts>> = {
  findTransactionCoordinator: fatal([]),
  findGroupCoordinator: fatal([[GROUP_AUTHORIZATION_FAILED, 'abortable']]),
  initProducerId: fatal([
    [TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'abortable'],
    [CLUSTER_AUTHORIZATION_FAILED, 'abortable'],
  ]),
  addPartitions: {
    own: new Map<number, TransactionVerdict>([
      [TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'fatal'],
      [INVALID_TXN_STATE, 'fatal'],
      [UNKNOWN_PRODUCER_ID, 'newEpoch'],
    ]),
    others: 'abortable',
  },
  addOffsets: fatal([
    [UNKNOWN_PRODUCER_ID, 'newEpoch'],
    [GROUP_AUTHORIZATION_FAILED, 'abortable'],
  ]),
  commitOffsets: fatal([
    [REQUEST_TIMED_OUT, 'moved'],
    [GROUP_AUTHORIZATION_FAILED, 'abortable'],
    [FENCED_INSTANCE_ID, 'migrated'],
    [UNKNOWN_MEMBER_ID, 'migrated'],
    [ILLEGAL_GENERATION, 'migrated'],
    [GROUP_ID_NOT_FOUND, 'migrated'],
    [STALE_MEMBER_EPOCH, 'migrated'],
  ]),
  endWithCommit: fatal([[UNKNOWN_PRODUCER_ID, 'newEpoch']]),
  endWithAbort: fatal([
    [UNKNOWN_PRODUCER_ID, 'newEpoch'],
    [TRANSACTION_ABORTABLE, 'fatal'],
  ]),
};

export function transactionVerdict(request: TransactionRequest, code: number): TransactionVerdict {
  const { own, others } = verdicts[request];
  const known = own.get(code) ?? ofCoordinators.get(code);
  return known ?? (errorByCode(code).retriable ? 'retry' : others);
}

const ofBatches: Verdicts<TransactionalProduceVerdict> = new Map([
  [NONE, 'done'],
  [DUPLICATE_SEQUENCE_NUMBER, 'done'],
  [OUT_OF_ORDER_SEQUENCE_NUMBER, 'sequence'],
  [UNKNOWN_PRODUCER_ID, 'migrated'],
  [INVALID_PRODUCER_EPOCH, 'migrated'],
  [INVALID_TXN_STATE, 'abortable'],
  [TRANSACTION_ABORTABLE, 'abortable'],
  [PRODUCER_FENCED, 'fenced'],
  [INVALID_PRODUCER_ID_MAPPING, 'fenced'],
  [CLUSTER_AUTHORIZATION_FAILED, 'fatal'],
  [TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'fatal'],
  [UNSUPPORTED_VERSION, 'fatal'],
] as const);

/** `refused`: something is wrong with the batch, not with the transaction. */
export function transactionalProduceVerdict(code: number): TransactionalProduceVerdict {
  return ofBatches.get(code) ?? (errorByCode(code).retriable ? 'retry' : 'refused');
}
