import { errorCodes } from '@millrace/protocol';

/** From here on AddPartitionsToTxn, AddOffsetsToTxn and EndTxn know PRODUCER_FENCED (KIP-588). */
const PRODUCER_FENCED_FROM_VERSION = 2;

/** What a producer of that version is told: older ones know a fenced producer by its epoch only. */
export function transactionErrorCode(errorCode: number, apiVersion: number): number {
  return errorCode === errorCodes.PRODUCER_FENCED && apiVersion < PRODUCER_FENCED_FROM_VERSION
    ? errorCodes.INVALID_PRODUCER_EPOCH
    : errorCode;
}

/**
 * What the leader of a partition tells a producer whose transaction does not hold the partition, or does
 * not go on (KIP-890's verification). `knowsAbortable`: the version has TRANSACTION_ABORTABLE.
 */
export function verificationErrorCode(errorCode: number, knowsAbortable: boolean): number {
  switch (errorCode) {
    case errorCodes.PRODUCER_FENCED:
      return errorCodes.INVALID_PRODUCER_EPOCH;
    case errorCodes.TRANSACTION_ABORTABLE:
      return knowsAbortable ? errorCode : errorCodes.INVALID_TXN_STATE;
    case errorCodes.CONCURRENT_TRANSACTIONS:
    case errorCodes.NOT_COORDINATOR:
      return errorCodes.NOT_ENOUGH_REPLICAS;
    default:
      return errorCode;
  }
}
