import type {
  GroupMetadata,
  OffsetsToCommit,
  TransactionalProducerOptions,
  TransactionalProducerPort,
} from '../client/ports.ts';
import { StreamsError, TaskCorruptedError, TaskMigratedError, TimeoutError } from '../errors.ts';
import type { FakeCluster } from './fake-cluster.ts';
import { FakeProducer } from './fake-producer.ts';
import type { FakeProducerIdentity } from './fake-transactions.ts';

/** Where a commit is when a test looks at it, or makes it fail. */
export type CommitStep = 'flush' | 'offsets' | 'end' | 'ended';

/** A transactional producer of the fake cluster: its transactions are the cluster's. */
export class FakeTransactionalProducer extends FakeProducer implements TransactionalProducerPort {
  readonly transactionalId: string;
  readonly #cluster: FakeCluster;
  #identity: FakeProducerIdentity | null = null;
  #hasRecords = false;
  #isFatal = false;
  /** Make the next calls fail, in order; an error that is not retriable is fatal in `initTransactions`. */
  readonly initFailures: Error[] = [];
  readonly abortFailures: Error[] = [];
  /** Awaited at each step of a commit; what it throws ends the transaction. At `ended` it is committed. */
  onCommitStep: ((step: CommitStep) => Promise<void> | void) | null = null;

  constructor(cluster: FakeCluster, options: TransactionalProducerOptions) {
    const { transactionalId } = options;
    super(cluster, options, {
      onAppend: () => {
        if (this.failure !== null) throw this.failure;
        this.#initialized();
        this.#hasRecords = true;
      },
      send: (topic, partition, builder) => {
        const identity = this.#initialized();
        const batch = builder.build({ ...identity, baseSequence: 0, isTransactional: true });
        cluster.transactions.append(transactionalId, identity, topic, partition, batch);
      },
    });
    this.transactionalId = transactionalId;
    this.#cluster = cluster;
  }

  get isFatal(): boolean {
    return this.#isFatal;
  }

  initTransactions(): Promise<void> {
    const failure = this.initFailures.shift();
    if (failure !== undefined) {
      this.#isFatal = !(failure instanceof StreamsError && failure.retriable);
      return Promise.reject(failure);
    }
    this.#identity = this.#cluster.transactions.init(this.transactionalId);
    return Promise.resolve();
  }

  override async flush(): Promise<void> {
    if (this.failure !== null) throw this.failure;
    try {
      await super.flush();
    } catch (error) {
      throw this.#broken(error);
    }
  }

  async commitTransaction(offsets: OffsetsToCommit, group: GroupMetadata): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (!this.#hasRecords && offsets.size === 0) return;
    const identity = this.#initialized();
    const { transactions } = this.#cluster;
    try {
      await this.onCommitStep?.('flush');
      await this.flush();
      await this.onCommitStep?.('offsets');
      if (offsets.size > 0) {
        transactions.addOffsets(this.transactionalId, identity, offsets, group);
      }
      await this.onCommitStep?.('end');
      transactions.end(this.transactionalId, identity, true);
      await this.onCommitStep?.('ended');
    } catch (error) {
      throw this.#broken(error);
    }
    this.#hasRecords = false;
  }

  abortTransaction(): Promise<void> {
    if (this.#isFatal) return Promise.reject(this.failure ?? new Error('fatal'));
    const failure = this.abortFailures.shift();
    if (failure !== undefined) return Promise.reject(failure);
    this.drop();
    const { transactions } = this.#cluster;
    if (this.#identity !== null && !transactions.isCurrent(this.transactionalId, this.#identity)) {
      this.#isFatal = true;
      this.failure = new TaskMigratedError(`${this.transactionalId} was fenced`);
      return Promise.reject(this.failure);
    }
    if (this.#identity !== null && (this.#hasRecords || this.failure !== null)) {
      // Ends what is open, too; a new epoch each time does no harm.
      this.#identity = this.#cluster.transactions.init(this.transactionalId);
    }
    this.#hasRecords = false;
    this.failure = null;
    return Promise.resolve();
  }

  override async close(): Promise<void> {
    if (!this.#isFatal && !this.isClosed) await this.abortTransaction();
    await super.close();
  }

  /** Another producer has taken over; the next call notices. */
  fence(): void {
    this.#cluster.transactions.init(this.transactionalId);
  }

  /** Its transaction has been open for too long, as the coordinator sees it. */
  timeOut(): void {
    const { transactions } = this.#cluster;
    if (this.#identity === null) return;
    if (transactions.isCurrent(this.transactionalId, this.#identity)) {
      transactions.init(this.transactionalId);
    }
  }

  #broken(error: unknown): Error {
    if (this.failure !== null) return this.failure;
    this.drop();
    const identity = this.#initialized();
    const isFenced = !this.#cluster.transactions.isCurrent(this.transactionalId, identity);
    this.#isFatal = error instanceof TaskMigratedError && isFenced;
    return (this.failure =
      error instanceof TimeoutError
        ? new TaskCorruptedError(error.message, { cause: error })
        : (error as Error));
  }

  #initialized(): FakeProducerIdentity {
    if (this.#identity === null) throw new Error('initTransactions was not called');
    return this.#identity;
  }
}
