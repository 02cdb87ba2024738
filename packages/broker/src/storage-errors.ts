import { LogStoreError, type Clock } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';
import { STORAGE_ERROR_LOG_MS } from './limits.ts';

interface Trouble {
  readonly code: number;
  /** What to log, if it is worth a line; `kind` tells one sort of trouble from another. */
  readonly kind: string | null;
  readonly message: string;
}

/** The log store's own errors carry their code; anything else is a fault of ours. */
function troubleOf(error: unknown): Trouble {
  if (!(error instanceof LogStoreError)) {
    const message = 'a log operation failed in an unforeseen way';
    return { code: errorCodes.UNKNOWN_SERVER_ERROR, kind: 'unforeseen', message };
  }
  const code = errorCodes[error.kafkaError];
  const kind = code === errorCodes.KAFKA_STORAGE_ERROR ? error.code : null;
  return { code, kind, message: error.message };
}

/** The code to answer with for what a log threw; trouble of ours or of the disk is logged. */
export function storageErrorCode(error: unknown, logger: Logger): number {
  const { code, kind, message } = troubleOf(error);
  if (kind !== null) logger.error({ err: error }, message);
  return code;
}

/**
 * The same for the record path, where a full disk meets every request and must not fill what is left of
 * itself with log lines: trouble of one kind is logged now and then.
 */
export class StorageErrors {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #lastLoggedMs = new Map<string, number>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  codeOf(error: unknown): number {
    const { code, kind, message } = troubleOf(error);
    if (kind === null) return code;
    const now = this.#clock.monotonicMs();
    if (now - (this.#lastLoggedMs.get(kind) ?? -Infinity) >= STORAGE_ERROR_LOG_MS) {
      this.#lastLoggedMs.set(kind, now);
      this.#logger.error({ err: error }, message);
    }
    return code;
  }
}
