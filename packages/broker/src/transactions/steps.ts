import type { Clock } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';
import { coordinatorErrorCode } from '../coordinators/coordinator-errors.ts';
import type { TransactionCompletion } from './completion.ts';
import type { TransactionEntry } from './transaction-entry.ts';
import type { TransactionLog } from './transaction-log.ts';
import { ending, fenced, type Transaction } from './transaction.ts';

/** Takes transactions from one step to the next: into the log first, then in memory. */
export class TransactionSteps {
  readonly #log: TransactionLog;
  readonly #completion: TransactionCompletion;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(
    log: TransactionLog,
    completion: TransactionCompletion,
    clock: Clock,
    logger: Logger,
  ) {
    this.#log = log;
    this.#completion = completion;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** NONE, or what the client is told when the log refuses; nothing has changed then. */
  async take(entry: TransactionEntry, next: Transaction): Promise<number> {
    entry.isInTransit = true;
    try {
      await this.#log.append(entry.transactionalId, next);
      entry.transaction = next;
      return errorCodes.NONE;
    } catch (error) {
      return coordinatorErrorCode(error, this.#logger);
    } finally {
      entry.isInTransit = false;
    }
  }

  /** Of an ongoing transaction. Once the outcome is in the log nothing changes it: the rest may come later. */
  async end(entry: TransactionEntry, isCommit: boolean): Promise<number> {
    return this.#end(entry, ending(entry.transaction, isCommit, this.#clock.now()));
  }

  /** Takes the epoch away from whoever has it, and aborts. */
  async fence(entry: TransactionEntry): Promise<number> {
    return this.#end(entry, ending(fenced(entry.transaction), false, this.#clock.now()));
  }

  async #end(entry: TransactionEntry, prepared: Transaction): Promise<number> {
    const errorCode = await this.take(entry, prepared);
    if (errorCode === errorCodes.NONE) await this.#completion.complete(entry);
    return errorCode;
  }
}
