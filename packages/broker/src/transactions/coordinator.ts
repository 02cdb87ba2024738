import type { Clock } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import type { Logger } from 'pino';
import type { CoordinatorTopic } from '../coordinators/coordinator-topic.ts';
import type { StorageErrors } from '../storage-errors.ts';
import { TransactionCompletion } from './completion.ts';
import { TransactionalIdExpiry } from './expiry.ts';
import { TransactionLoader, type OpenTransaction } from './loader.ts';
import { MarkerWriter, type MarkedTopics, type PendingOffsets } from './markers.ts';
import {
  TransactionalProducers,
  type InitProducerRequest,
  type InitProducerResult,
  type ProducerIdSource,
} from './producers.ts';
import type { TransactionState } from './states.ts';
import { TransactionSteps } from './steps.ts';
import type { TransactionEntry } from './transaction-entry.ts';
import { TransactionLog } from './transaction-log.ts';
import {
  hasPartitions,
  isPrepared,
  withPartitions,
  type Transaction,
  type TransactionPartitions,
} from './transaction.ts';

/** Kafka's error code, 0 = none. */
type ErrorCode = number;

/** The coordinator's configuration under Kafka's names, times in ms, sizes in bytes. */
interface TransactionConfig {
  /** `transaction.max.timeout.ms`. */
  readonly maxTimeoutMs: number;
  /** `transactional.id.expiration.ms`. */
  readonly idExpirationMs: number;
  /** `transaction.state.log.load.buffer.size`. */
  readonly loadBufferBytes: number;
}

export interface TransactionCoordinatorOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storageErrors: StorageErrors;
  readonly config: TransactionConfig;
  /** `__transaction_state`. */
  readonly stateTopic: CoordinatorTopic;
  /** What transactions write to. */
  readonly topics: MarkedTopics;
  readonly offsets: PendingOffsets;
  /** What the logs hold open, for the start. */
  readonly openTransactions: () => Iterable<OpenTransaction>;
  readonly producerIds: ProducerIdSource;
}

/** The producer of a request that belongs to a transaction. */
export interface TransactionalRequest {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

export interface TransactionFilter {
  readonly states: readonly TransactionState[] | null;
  /** Empty: any. */
  readonly producerIds: readonly bigint[];
  /** Only transactions that have been running for longer, ms; negative: any. */
  readonly durationMs: bigint;
}

/**
 * Kafka's transaction coordinator for all transactional ids of one broker (KIP-98, KIP-360), without
 * transaction version 2 (KIP-890).
 *
 * Every step is a record in `__transaction_state`, and counts once that is written. The end of a
 * transaction is three steps that follow each other at once: the outcome (Prepare*), a marker in every
 * partition, the record that they are there (Complete*). A kill in between leaves the outcome, and the
 * next start writes what is missing.
 */
export class TransactionCoordinator {
  readonly markers: MarkerWriter;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #log: TransactionLog;
  readonly #completion: TransactionCompletion;
  readonly #expiry: TransactionalIdExpiry;
  readonly #loader: TransactionLoader;
  readonly #steps: TransactionSteps;
  readonly #producers: TransactionalProducers;
  readonly #entries = new Map<string, TransactionEntry>();

  constructor(options: TransactionCoordinatorOptions) {
    const { clock, logger, config, stateTopic, topics, offsets, storageErrors } = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#log = new TransactionLog(stateTopic, clock, config.loadBufferBytes);
    this.markers = new MarkerWriter(topics, offsets, clock);
    this.#completion = new TransactionCompletion(
      this.#log,
      this.markers,
      clock,
      logger,
      storageErrors,
    );
    this.#steps = new TransactionSteps(this.#log, this.#completion, clock, logger);
    this.#producers = new TransactionalProducers({
      entries: this.#entries,
      log: this.#log,
      steps: this.#steps,
      producerIds: options.producerIds,
      maxTimeoutMs: config.maxTimeoutMs,
      clock,
      logger,
    });
    this.#expiry = new TransactionalIdExpiry(
      this.#entries,
      this.#log,
      clock,
      logger,
      config.idExpirationMs,
    );
    this.#loader = new TransactionLoader({
      entries: this.#entries,
      log: this.#log,
      completion: this.#completion,
      markers: this.markers,
      openTransactions: options.openTransactions,
      markUsed: (producerId) => {
        options.producerIds.markUsed(producerId);
      },
      clock,
      logger,
    });
  }

  // --- start and stop ----------------------------------------------------------------------------

  /**
   * Rebuilds what is known from `__transaction_state` and brings transactions whose outcome is decided to
   * their end; open ones stay open. To be called once, when groups are loaded and no client is let in.
   * Rejects with what a log throws.
   */
  load(): Promise<void> {
    return this.#loader.load();
  }

  /** What is being written is waited for. */
  close(): Promise<void> {
    return this.#completion.close();
  }

  // --- producers ---------------------------------------------------------------------------------

  /** INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED ... */
  initProducer(request: InitProducerRequest): Promise<InitProducerResult> {
    return this.#producers.init(request);
  }

  // --- transactions ------------------------------------------------------------------------------

  async addPartitions(
    request: TransactionalRequest,
    partitions: TransactionPartitions,
  ): Promise<ErrorCode> {
    const entry = this.#find(request.transactionalId);
    if (typeof entry === 'number') return entry;
    if (entry.isInTransit) return errorCodes.CONCURRENT_TRANSACTIONS;
    const { transaction } = entry;
    const errorCode = producerError(transaction, request);
    if (errorCode !== errorCodes.NONE) return errorCode;
    if (isPrepared(transaction)) return errorCodes.CONCURRENT_TRANSACTIONS;
    if (transaction.state === 'Ongoing' && hasPartitions(transaction, partitions)) {
      return errorCodes.NONE;
    }
    return this.#steps.take(entry, withPartitions(transaction, partitions, this.#clock.now()));
  }

  /**
   * Whether the producer may write to the partition now: NONE, INVALID_PRODUCER_ID_MAPPING,
   * PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, or TRANSACTION_ABORTABLE if the partition has not been added.
   */
  verify(request: TransactionalRequest, topic: string, partition: number): ErrorCode {
    const entry = this.#find(request.transactionalId);
    if (typeof entry === 'number') return entry;
    const { transaction } = entry;
    const errorCode = producerError(transaction, request);
    if (errorCode !== errorCodes.NONE) return errorCode;
    if (isPrepared(transaction)) return errorCodes.CONCURRENT_TRANSACTIONS;
    return transaction.partitions.get(topic)?.has(partition) === true
      ? errorCodes.NONE
      : errorCodes.TRANSACTION_ABORTABLE;
  }

  /** The outcome is decided when this resolves with NONE; a repeat of the same is no error. */
  async endTransaction(request: TransactionalRequest, isCommit: boolean): Promise<ErrorCode> {
    const entry = this.#find(request.transactionalId);
    if (typeof entry === 'number') return entry;
    const { transaction } = entry;
    const errorCode = producerError(transaction, request);
    if (errorCode !== errorCodes.NONE) return errorCode;
    if (entry.isInTransit) return errorCodes.CONCURRENT_TRANSACTIONS;
    switch (transaction.state) {
      case 'Ongoing':
        return this.#steps.end(entry, isCommit);
      case isCommit ? 'CompleteCommit' : 'CompleteAbort':
        return errorCodes.NONE;
      case isCommit ? 'PrepareCommit' : 'PrepareAbort':
        return errorCodes.CONCURRENT_TRANSACTIONS;
      default:
        return errorCodes.INVALID_TXN_STATE;
    }
  }

  /** Aborts what has been open for longer than its producer allowed. */
  async abortTimedOut(): Promise<void> {
    const now = this.#clock.now();
    for (const entry of [...this.#entries.values()]) {
      const { state, startTimestamp, timeoutMs } = entry.transaction;
      if (state !== 'Ongoing' || entry.isInTransit || startTimestamp + timeoutMs >= now) continue;
      const { transactionalId } = entry;
      const errorCode = await this.#steps.fence(entry);
      if (errorCode !== errorCodes.NONE) continue;
      this.#logger.info({ transactionalId, timeoutMs }, 'transaction has timed out, it is aborted');
    }
  }

  /** Forgets transactional ids that nobody has used for `transactional.id.expiration.ms`. */
  expireIds(): Promise<void> {
    return this.#expiry.run();
  }

  #find(transactionalId: string): TransactionEntry | ErrorCode {
    if (transactionalId === '') return errorCodes.INVALID_REQUEST;
    const entry = this.#entries.get(transactionalId);
    if (entry !== undefined) return entry;
    return this.#log.isThere ? errorCodes.INVALID_PRODUCER_ID_MAPPING : errorCodes.NOT_COORDINATOR;
  }

  // --- administration ----------------------------------------------------------------------------

  /** The transaction, or INVALID_REQUEST, NOT_COORDINATOR, TRANSACTIONAL_ID_NOT_FOUND. */
  describe(transactionalId: string): Transaction | ErrorCode {
    const entry = this.#find(transactionalId);
    if (typeof entry !== 'number') return entry.transaction;
    return entry === errorCodes.INVALID_PRODUCER_ID_MAPPING
      ? errorCodes.TRANSACTIONAL_ID_NOT_FOUND
      : entry;
  }

  list({ states, producerIds, durationMs }: TransactionFilter): readonly TransactionEntry[] {
    const now = this.#clock.now();
    return [...this.#entries.values()].filter(({ transaction }) => {
      const { state, producerId, startTimestamp } = transaction;
      if (states !== null && !states.includes(state)) return false;
      if (producerIds.length > 0 && !producerIds.includes(producerId)) return false;
      return durationMs < 0n || BigInt(now - startTimestamp) > durationMs;
    });
  }
}

function producerError(
  { producerId, producerEpoch }: Transaction,
  request: TransactionalRequest,
): ErrorCode {
  if (request.producerId !== producerId) return errorCodes.INVALID_PRODUCER_ID_MAPPING;
  return request.producerEpoch === producerEpoch ? errorCodes.NONE : errorCodes.PRODUCER_FENCED;
}
