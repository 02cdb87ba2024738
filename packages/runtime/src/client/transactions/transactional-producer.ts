import { ShutdownError, TimeoutError } from '../../errors.ts';
import { MAX_BLOCK_MS, TRANSACTION_TIMEOUT_MS } from '../limits.ts';
import type {
  GroupMetadata,
  OffsetsToCommit,
  PartitionBuffer,
  TransactionalProducerOptions,
  TransactionalProducerPort,
} from '../ports.ts';
import { Producer } from '../producer.ts';
import type { ProducerContext } from '../producer.ts';
import { withDeadline } from '../with-deadline.ts';
import { TransactionManager } from './transaction-manager.ts';

/** A producer, and the transactions that its batches belong to. */
export class TransactionalProducer implements TransactionalProducerPort {
  readonly #context: ProducerContext;
  readonly #producer: Producer;
  readonly #transactions: TransactionManager;

  constructor(context: ProducerContext, options: TransactionalProducerOptions) {
    const { transactionalId, requestTimeoutMs } = options;
    this.#context = context;
    this.#transactions = new TransactionManager({
      ...context,
      transactionalId,
      requestTimeoutMs,
      transactionTimeoutMs: options.transactionTimeoutMs ?? TRANSACTION_TIMEOUT_MS,
      maxBlockMs: options.maxBlockMs ?? MAX_BLOCK_MS,
      onSendable: () => {
        this.#producer.wake();
      },
      onUnknownPartition: () => {
        this.#producer.requestMetadata();
      },
      onBroken: () => {
        this.#producer.dropUnsent();
      },
    });
    this.#producer = new Producer(context, options, this.#transactions);
  }

  initTransactions(): Promise<void> {
    return this.#transactions.init();
  }

  commitTransaction(offsets: OffsetsToCommit, group: GroupMetadata): Promise<void> {
    return this.#transactions.commit(() => this.#producer.flush(), offsets, group);
  }

  abortTransaction(): Promise<void> {
    return this.#transactions.abort(() => this.#producer.idle());
  }

  get isFatal(): boolean {
    return this.#transactions.state === 'fatalError';
  }

  partitionCount(topic: string): Promise<number> {
    return this.#producer.partitionCount(topic);
  }

  partition(topic: string, partition: number): PartitionBuffer {
    return this.#producer.partition(topic, partition);
  }

  get isFull(): boolean {
    return this.#producer.isFull;
  }

  get failure(): Error | null {
    return this.#transactions.error ?? this.#producer.failure;
  }

  async flush(): Promise<void> {
    await this.#producer.flush();
    const { error } = this.#transactions;
    if (error !== null) throw error;
  }

  async close(timeoutMs: number): Promise<void> {
    const { clock, logger } = this.#context;
    const startedAt = clock.monotonicMs();
    const { state } = this.#transactions;
    if (state === 'inTransaction' || state === 'abortableError') {
      const late = (): Error => new TimeoutError(`Not aborted within ${timeoutMs} ms`);
      await withDeadline(clock, timeoutMs, this.abortTransaction(), late).catch(
        (error: unknown) => {
          if (error instanceof ShutdownError) return;
          const { transactionalId } = this.#transactions;
          logger.warn(
            { err: error, transactionalId },
            'the open transaction is left to transaction.timeout.ms',
          );
        },
      );
    }
    const leftMs = Math.max(0, timeoutMs - (clock.monotonicMs() - startedAt));
    await this.#producer.close(leftMs);
    this.#transactions.close();
  }
}
