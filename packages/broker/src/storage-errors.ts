import { LogStoreError } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';

/**
 * The code to answer with for what a log threw. The log store's own errors carry it; anything else is a
 * fault of ours: UNKNOWN_SERVER_ERROR, and a line in the log.
 */
export function storageErrorCode(error: unknown, logger: Logger): number {
  if (error instanceof LogStoreError) {
    const code = errorCodes[error.kafkaError];
    if (code === errorCodes.KAFKA_STORAGE_ERROR) logger.error({ err: error }, error.message);
    return code;
  }
  logger.error({ err: error }, 'a log operation failed in an unforeseen way');
  return errorCodes.UNKNOWN_SERVER_ERROR;
}
