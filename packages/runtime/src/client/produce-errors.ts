import { errorCodes } from '@millrace/protocol';
import { ProductionError, TaskMigratedError } from '../errors.ts';
import type { ErrorContext } from '../errors.ts';
import { brokerError } from './broker-errors.ts';
import { isAuthorizationError, isLeadershipError } from './error-codes.ts';
import { RecordTooLargeError } from './errors.ts';

export type ProduceVerdict =
  /** Written, now or by an earlier try. */
  | 'done'
  /** Another try, with the same sequence. */
  | 'retry'
  /** The broker's memory of our sequences does not fit ours. */
  | 'sequence'
  /** Refused for good. */
  | 'failed';

const retriableCodes = new Set<number>([
  errorCodes.CORRUPT_MESSAGE,
  errorCodes.REQUEST_TIMED_OUT,
  errorCodes.NETWORK_EXCEPTION,
  errorCodes.NOT_ENOUGH_REPLICAS,
  errorCodes.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
  errorCodes.CONCURRENT_TRANSACTIONS,
  errorCodes.THROTTLING_QUOTA_EXCEEDED,
]);

const sequenceCodes = new Set<number>([
  errorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER,
  errorCodes.UNKNOWN_PRODUCER_ID,
  errorCodes.INVALID_PRODUCER_EPOCH,
]);

export function produceVerdict(code: number): ProduceVerdict {
  if (code === errorCodes.NONE || code === errorCodes.DUPLICATE_SEQUENCE_NUMBER) return 'done';
  if (isLeadershipError(code) || retriableCodes.has(code)) return 'retry';
  if (sequenceCodes.has(code)) return 'sequence';
  return 'failed';
}

export function isTooLarge(code: number): boolean {
  return code === errorCodes.MESSAGE_TOO_LARGE || code === errorCodes.RECORD_LIST_TOO_LARGE;
}

/** The error for a batch that a broker has refused for good. */
export function produceError(
  code: number,
  detail: string | null,
  topic: string,
  partition: number,
  recordCount: number,
): Error {
  const context: ErrorContext = { topic, partition, recordCount };
  const text = `${recordCount} records for ${topic}-${partition} were refused${detail === null || detail === '' ? '' : ` (${detail})`}`;
  if (isTooLarge(code)) {
    return new RecordTooLargeError(`${text}: larger than the topic's max.message.bytes allows`, {
      context,
    });
  }
  if (code === errorCodes.PRODUCER_FENCED) {
    return new TaskMigratedError(`${text}: another producer has taken over`, { context });
  }
  const error = brokerError(code, text, context, 'record');
  if (isAuthorizationError(code)) return error;
  return new ProductionError(error.message, { cause: error, context });
}
