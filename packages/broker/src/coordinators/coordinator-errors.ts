import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';
import { BrokerError } from '../errors.ts';
import { storageErrorCode } from '../storage-errors.ts';

/** The coordinator's topic is not there yet: it is made when a client first asks for a coordinator. */
export class NotCoordinatorError extends BrokerError {
  constructor(topic: string, key: string) {
    super(
      'BROKER_NOT_COORDINATOR',
      `${topic} has no partition for ${key}; a client must ask FindCoordinator first`,
    );
  }
}

/**
 * What a client of a coordinator is told when a record could not be appended: never an error of the
 * internal topic, but whether to ask again, to look for the coordinator anew, or to give up.
 */
export function coordinatorErrorCode(error: unknown, logger: Logger): number {
  if (error instanceof NotCoordinatorError) return errorCodes.NOT_COORDINATOR;
  const errorCode = storageErrorCode(error, logger);
  switch (errorCode) {
    case errorCodes.UNKNOWN_TOPIC_OR_PARTITION:
    case errorCodes.NOT_ENOUGH_REPLICAS:
    case errorCodes.REQUEST_TIMED_OUT:
      return errorCodes.COORDINATOR_NOT_AVAILABLE;
    case errorCodes.NOT_LEADER_OR_FOLLOWER:
    case errorCodes.KAFKA_STORAGE_ERROR:
      return errorCodes.NOT_COORDINATOR;
    case errorCodes.MESSAGE_TOO_LARGE:
    case errorCodes.RECORD_LIST_TOO_LARGE:
    case errorCodes.INVALID_FETCH_SIZE:
      return errorCodes.UNKNOWN_SERVER_ERROR;
    default:
      return errorCode;
  }
}
