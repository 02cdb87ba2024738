import { errorByCode, errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import type {
  TransactionalProduceVerdict,
  TransactionRequest,
  TransactionVerdict,
} from './transaction-verdicts.ts';
import { transactionalProduceVerdict, transactionVerdict } from './transaction-verdicts.ts';

type Code = keyof typeof errorCodes;

const codes = Object.entries(errorCodes) as [Code, number][];

/** What each request's codes mean, but for those that Kafka calls retriable. */
interface Row {
  readonly own: Partial<Record<TransactionVerdict, readonly Code[]>>;
  readonly others: TransactionVerdict;
}

const fenced: readonly Code[] = [
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
];
const moved: readonly Code[] = ['NOT_COORDINATOR', 'COORDINATOR_NOT_AVAILABLE'];
const usual = {
  done: ['NONE'],
  moved,
  concurrent: ['CONCURRENT_TRANSACTIONS'],
  fenced,
} as const;

const rows: Readonly<Record<TransactionRequest, Row>> = {
  findTransactionCoordinator: {
    own: { ...usual, abortable: ['TRANSACTION_ABORTABLE'] },
    others: 'fatal',
  },
  findGroupCoordinator: {
    own: { ...usual, abortable: ['TRANSACTION_ABORTABLE', 'GROUP_AUTHORIZATION_FAILED'] },
    others: 'fatal',
  },
  initProducerId: {
    own: {
      ...usual,
      abortable: [
        'TRANSACTION_ABORTABLE',
        'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
        'CLUSTER_AUTHORIZATION_FAILED',
      ],
    },
    others: 'fatal',
  },
  addPartitions: {
    own: {
      ...usual,
      newEpoch: ['UNKNOWN_PRODUCER_ID'],
      fatal: ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'INVALID_TXN_STATE'],
    },
    others: 'abortable',
  },
  addOffsets: {
    own: {
      ...usual,
      newEpoch: ['UNKNOWN_PRODUCER_ID'],
      abortable: ['TRANSACTION_ABORTABLE', 'GROUP_AUTHORIZATION_FAILED'],
    },
    others: 'fatal',
  },
  commitOffsets: {
    own: {
      ...usual,
      moved: [...moved, 'REQUEST_TIMED_OUT'],
      abortable: ['TRANSACTION_ABORTABLE', 'GROUP_AUTHORIZATION_FAILED'],
      migrated: [
        'FENCED_INSTANCE_ID',
        'UNKNOWN_MEMBER_ID',
        'ILLEGAL_GENERATION',
        'GROUP_ID_NOT_FOUND',
        'STALE_MEMBER_EPOCH',
      ],
    },
    others: 'fatal',
  },
  endWithCommit: {
    own: { ...usual, newEpoch: ['UNKNOWN_PRODUCER_ID'], abortable: ['TRANSACTION_ABORTABLE'] },
    others: 'fatal',
  },
  endWithAbort: {
    own: { ...usual, newEpoch: ['UNKNOWN_PRODUCER_ID'] },
    others: 'fatal',
  },
};

function expected<V extends string>(
  own: Partial<Record<V, readonly Code[]>>,
  others: V,
): Record<string, string> {
  const verdicts: Record<string, string> = {};
  for (const [name, code] of codes) verdicts[name] = errorByCode(code).retriable ? 'retry' : others;
  for (const [verdict, names] of Object.entries(own) as [V, readonly Code[]][]) {
    for (const name of names) verdicts[name] = verdict;
  }
  return verdicts;
}

describe('verdicts on error codes', () => {
  it.each(Object.keys(rows) as TransactionRequest[])('%s: every code', (request) => {
    const { own, others } = rows[request];
    const found = Object.fromEntries(
      codes.map(([name, code]) => [name, transactionVerdict(request, code)]),
    );
    expect(found).toEqual(expected(own, others));
    expect(codes.length).toBeGreaterThan(120);
  });

  it('Produce: every code', () => {
    const own: Partial<Record<TransactionalProduceVerdict, readonly Code[]>> = {
      done: ['NONE', 'DUPLICATE_SEQUENCE_NUMBER'],
      sequence: ['OUT_OF_ORDER_SEQUENCE_NUMBER'],
      migrated: ['UNKNOWN_PRODUCER_ID', 'INVALID_PRODUCER_EPOCH'],
      abortable: ['INVALID_TXN_STATE', 'TRANSACTION_ABORTABLE'],
      fenced: ['PRODUCER_FENCED', 'INVALID_PRODUCER_ID_MAPPING'],
      fatal: [
        'CLUSTER_AUTHORIZATION_FAILED',
        'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
        'UNSUPPORTED_VERSION',
      ],
    };
    const found = Object.fromEntries(
      codes.map(([name, code]) => [name, transactionalProduceVerdict(code)]),
    );
    expect(found).toEqual(expected<TransactionalProduceVerdict>(own, 'refused'));
  });
});
