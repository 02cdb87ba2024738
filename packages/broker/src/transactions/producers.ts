import type { Clock } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';
import { TRANSACTIONAL_IDS } from './limits.ts';
import { nextProducer, NEW_PRODUCER_ID_NEEDED, type ProducerIdentity } from './next-producer.ts';
import type { TransactionSteps } from './steps.ts';
import { TransactionEntry } from './transaction-entry.ts';
import type { TransactionLog } from './transaction-log.ts';
import {
  initialised,
  isPrepared,
  newTransaction,
  NO_PRODUCER_EPOCH,
  NO_PRODUCER_ID,
} from './transaction.ts';

/** Kafka's error code, 0 = none. */
type ErrorCode = number;

/** Where producer ids come from. */
export interface ProducerIdSource {
  next(): Promise<bigint>;
  markUsed(producerId: bigint): void;
}

export interface InitProducerRequest {
  readonly transactionalId: string;
  readonly timeoutMs: number;
  /** What the producer has had so far (KIP-360); null: it starts. */
  readonly expected: ProducerIdentity | null;
}

export interface InitProducerResult extends ProducerIdentity {
  readonly errorCode: ErrorCode;
}

interface ProducerParts {
  readonly entries: Map<string, TransactionEntry>;
  readonly log: TransactionLog;
  readonly steps: TransactionSteps;
  readonly producerIds: ProducerIdSource;
  /** `transaction.max.timeout.ms`. */
  readonly maxTimeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Gives transactional ids their producer ids and epochs. */
export class TransactionalProducers {
  readonly #entries: Map<string, TransactionEntry>;
  readonly #log: TransactionLog;
  readonly #steps: TransactionSteps;
  readonly #producerIds: ProducerIdSource;
  readonly #maxTimeoutMs: number;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(parts: ProducerParts) {
    this.#entries = parts.entries;
    this.#log = parts.log;
    this.#steps = parts.steps;
    this.#producerIds = parts.producerIds;
    this.#maxTimeoutMs = parts.maxTimeoutMs;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED ... */
  async init(request: InitProducerRequest): Promise<InitProducerResult> {
    const { transactionalId, timeoutMs } = request;
    if (transactionalId === '') return failed(errorCodes.INVALID_REQUEST);
    if (timeoutMs <= 0 || timeoutMs > this.#maxTimeoutMs) {
      return failed(errorCodes.INVALID_TRANSACTION_TIMEOUT);
    }
    if (!this.#log.isThere) return failed(errorCodes.NOT_COORDINATOR);
    const result = await this.#attempt(request, null);
    if (result !== NEW_PRODUCER_ID_NEEDED) return result;
    let producerId: bigint;
    try {
      producerId = await this.#producerIds.next();
    } catch (error) {
      this.#logger.error({ err: error }, 'a block of producer ids could not be reserved');
      return failed(errorCodes.COORDINATOR_NOT_AVAILABLE);
    }
    // Others may have been here meanwhile, so that everything is looked at once more.
    const retried = await this.#attempt(request, producerId);
    return retried === NEW_PRODUCER_ID_NEEDED
      ? failed(errorCodes.CONCURRENT_TRANSACTIONS)
      : retried;
  }

  async #attempt(
    { transactionalId, timeoutMs, expected }: InitProducerRequest,
    newProducerId: bigint | null,
  ): Promise<InitProducerResult | typeof NEW_PRODUCER_ID_NEEDED> {
    let entry = this.#entries.get(transactionalId);
    if (entry === undefined) {
      if (newProducerId === null) return NEW_PRODUCER_ID_NEEDED;
      if (this.#entries.size >= TRANSACTIONAL_IDS) return this.#refuse(transactionalId);
      const transaction = newTransaction(newProducerId, timeoutMs, this.#clock.now());
      entry = new TransactionEntry(transactionalId, transaction);
      this.#entries.set(transactionalId, entry);
    }
    if (entry.isInTransit || isPrepared(entry.transaction)) {
      return failed(errorCodes.CONCURRENT_TRANSACTIONS);
    }
    const next = nextProducer(entry.transaction, expected, newProducerId);
    if (next === NEW_PRODUCER_ID_NEEDED) return next;
    if (typeof next === 'number') return failed(next);
    if (entry.transaction.state === 'Ongoing') {
      const errorCode = await this.#steps.fence(entry);
      // The epoch of the fence belongs to nobody: the producer comes again for one of its own.
      return failed(errorCode === errorCodes.NONE ? errorCodes.CONCURRENT_TRANSACTIONS : errorCode);
    }
    const errorCode = await this.#steps.take(
      entry,
      initialised(entry.transaction, next, timeoutMs, this.#clock.now()),
    );
    if (errorCode !== errorCodes.NONE) {
      if (entry.transaction.producerEpoch === NO_PRODUCER_EPOCH) {
        this.#entries.delete(transactionalId);
      }
      return failed(errorCode);
    }
    const { producerId, producerEpoch } = next;
    this.#logger.info({ transactionalId, producerId, producerEpoch }, 'producer is initialised');
    return { errorCode, producerId, producerEpoch };
  }

  #refuse(transactionalId: string): InitProducerResult {
    this.#logger.error({ transactionalId }, 'there are too many transactional ids');
    return failed(errorCodes.POLICY_VIOLATION);
  }
}

function failed(errorCode: ErrorCode): InitProducerResult {
  return { errorCode, producerId: NO_PRODUCER_ID, producerEpoch: NO_PRODUCER_EPOCH };
}
