import type { Clock } from '@millrace/compaction';
import type { Logger } from 'pino';
import { endOfTurn } from '../end-of-turn.ts';
import { EXPIRY_SLICE_IDS } from './limits.ts';
import { canHappen, nextState } from './states.ts';
import type { TransactionEntry } from './transaction-entry.ts';
import type { TransactionLog } from './transaction-log.ts';

/** Forgets transactional ids without a transaction that have not been used for a long time. */
export class TransactionalIdExpiry {
  readonly #entries: Map<string, TransactionEntry>;
  readonly #log: TransactionLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #expirationMs: number;

  constructor(
    entries: Map<string, TransactionEntry>,
    log: TransactionLog,
    clock: Clock,
    logger: Logger,
    expirationMs: number,
  ) {
    this.#entries = entries;
    this.#log = log;
    this.#clock = clock;
    this.#logger = logger;
    this.#expirationMs = expirationMs;
  }

  /** Rejects with what a log throws; ids whose tombstones are not written stay for the next run. */
  async run(): Promise<void> {
    const ids = [...this.#entries.keys()];
    for (let start = 0; start < ids.length; start += EXPIRY_SLICE_IDS) {
      if (start > 0) await endOfTurn();
      this.#expire(ids.slice(start, start + EXPIRY_SLICE_IDS));
    }
  }

  #expire(ids: readonly string[]): void {
    const lastUsed = this.#clock.now() - this.#expirationMs;
    const expired = ids.filter((id) => {
      const entry = this.#entries.get(id);
      if (entry === undefined || entry.isInTransit) return false;
      const { state, lastUpdateTimestamp } = entry.transaction;
      return canHappen(state, 'expired') && lastUpdateTimestamp <= lastUsed;
    });
    if (expired.length === 0) return;
    this.#log.appendTombstones(expired, (gone) => {
      for (const id of gone) {
        const entry = this.#entries.get(id);
        if (entry === undefined) continue;
        const { transaction } = entry;
        entry.transaction = { ...transaction, state: nextState(transaction.state, 'expired') };
        this.#entries.delete(id);
      }
      this.#logger.info({ transactionalIds: gone.length }, 'transactional ids have expired');
    });
  }
}
