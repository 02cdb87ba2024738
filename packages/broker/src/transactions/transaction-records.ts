import {
  decodeVersioned,
  encodeVersioned,
  TransactionLogKey,
  TransactionLogValue,
  versionOf,
} from '@millrace/protocol';
import type { CoordinatorRecord } from '../coordinators/coordinator-topic.ts';
import { transactionStates } from './states.ts';
import { NO_PRODUCER_EPOCH, type Transaction } from './transaction.ts';

/** The number in front of a key in `__transaction_state` names its kind; there is this one. */
const TRANSACTION_KEY = 0;

/** As Kafka writes them from transaction.version 1 on: version 0 has no place for the previous producer id. */
const VALUE_VERSION = 1;

const NEVER_STORED: ReadonlySet<string> = new Set(['Dead', 'PrepareEpochFence']);

export type DecodedTransactionRecord =
  | {
      readonly kind: 'transaction';
      readonly transactionalId: string;
      /** null: a tombstone. */
      readonly transaction: Transaction | null;
    }
  /** Of a version or in a state that this broker does not know. */
  | { readonly kind: 'unknown' };

export function transactionRecord(
  transactionalId: string,
  transaction: Transaction,
): CoordinatorRecord {
  return {
    key: encodeVersioned(TransactionLogKey, TRANSACTION_KEY, { transactionalId }),
    value: encodeVersioned(TransactionLogValue, VALUE_VERSION, {
      producerId: transaction.producerId,
      previousProducerId: transaction.previousProducerId,
      producerEpoch: transaction.producerEpoch,
      transactionTimeoutMs: transaction.timeoutMs,
      transactionStatus: transactionStates.indexOf(transaction.state),
      transactionPartitions:
        transaction.state === 'Empty'
          ? null
          : [...transaction.partitions].map(([topic, partitions]) => ({
              topic,
              partitionIds: [...partitions],
            })),
      transactionLastUpdateTimestampMs: BigInt(transaction.lastUpdateTimestamp),
      transactionStartTimestampMs: BigInt(transaction.startTimestamp),
    }),
  };
}

export function transactionTombstone(transactionalId: string): CoordinatorRecord {
  return {
    key: encodeVersioned(TransactionLogKey, TRANSACTION_KEY, { transactionalId }),
    value: null,
  };
}

/** Throws ProtocolError for bytes that do not follow the schemas. */
export function decodeTransactionRecord(
  key: Buffer,
  value: Buffer | null,
): DecodedTransactionRecord {
  if (versionOf(key) !== TRANSACTION_KEY) return { kind: 'unknown' };
  const { transactionalId } = decodeVersioned(TransactionLogKey, key).body;
  if (value === null) return { kind: 'transaction', transactionalId, transaction: null };
  if (!TransactionLogValue.supports(versionOf(value))) return { kind: 'unknown' };
  const { body } = decodeVersioned(TransactionLogValue, value);
  const state = transactionStates[body.transactionStatus];
  if (state === undefined || NEVER_STORED.has(state)) return { kind: 'unknown' };
  return {
    kind: 'transaction',
    transactionalId,
    transaction: {
      producerId: body.producerId,
      previousProducerId: body.previousProducerId,
      producerEpoch: body.producerEpoch,
      lastProducerEpoch: NO_PRODUCER_EPOCH,
      timeoutMs: body.transactionTimeoutMs,
      state,
      partitions: new Map(
        (body.transactionPartitions ?? []).map(({ topic, partitionIds }) => [
          topic,
          new Set(partitionIds),
        ]),
      ),
      startTimestamp: Number(body.transactionStartTimestampMs),
      lastUpdateTimestamp: Number(body.transactionLastUpdateTimestampMs),
    },
  };
}
