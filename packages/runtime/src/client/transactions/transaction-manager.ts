import type { Logger } from 'pino';
import { InvariantError, StreamsError, TimeoutError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import { StateMachine } from '../../state-machine.ts';
import type { GroupMetadata, OffsetsToCommit, TopicPartition } from '../ports.ts';
import type { ProduceBatch, ProducerIdentity } from '../produce-batch.ts';
import type { ProduceVerdict } from '../produce-errors.ts';
import { Sleeper } from '../sleeper.ts';
import type { Transport } from '../transport.ts';
import { abortedError, TransactionCalls, transactionError } from './transaction-calls.ts';
import type { CallBound, CallOutcome, Refusal } from './transaction-calls.ts';
import { transactionTransitions } from './transaction-states.ts';
import type { TransactionEvent, TransactionState } from './transaction-states.ts';
import { transactionalProduceVerdict } from './transaction-verdicts.ts';

export interface TransactionManagerOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly transactionalId: string;
  readonly transactionTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Longest time of one call, retries included. */
  readonly maxBlockMs: number;
  /** Batches that had to wait may be sent now. */
  readonly onSendable: () => void;
  /** A coordinator knows no such topic or partition, although the metadata has named a leader. */
  readonly onUnknownPartition: () => void;
  /** Nothing that was not sent may be sent any more. */
  readonly onBroken: () => void;
}

/** Whether the coordinator has this transaction open, as far as we know. */
type Openness = 'no' | 'maybe' | 'yes';

/**
 * The transactions of one producer, one after the other, each with a number. A batch belongs to the
 * one that was under way when it was opened; while that is being committed, to the next.
 *
 * Once something went wrong, everything that was not sent is dropped and `error` says why, until the
 * transaction is aborted.
 *
 * A request without an answer may arrive late, even when it was tried again with success; one that ends
 * the transaction would then end the next. So the next one has a new epoch (KIP-360).
 */
export class TransactionManager {
  readonly transactionalId: string;
  readonly #options: TransactionManagerOptions;
  readonly #calls: TransactionCalls;
  readonly #sleeper: Sleeper;
  readonly #machine: StateMachine<TransactionState, TransactionEvent>;
  #identity: ProducerIdentity | null = null;
  #error: Error | null = null;
  #needsNewEpoch = false;
  /** Of the transaction that is under way, or else of the next. */
  #number = 0;
  #openness: Openness = 'no';
  /** To be added to this transaction. */
  readonly #wanted = new Set<TopicPartition>();
  readonly #added = new Set<TopicPartition>();
  #adding: Promise<void> = Promise.resolve();
  #isAdding = false;
  /** To be added to the one that follows the commit under way. */
  readonly #wantedNext = new Set<TopicPartition>();
  /** What went wrong with a batch of the transaction that follows. */
  #nextError: Error | null = null;

  constructor(options: TransactionManagerOptions) {
    this.#options = options;
    this.transactionalId = options.transactionalId;
    this.#sleeper = new Sleeper(options.clock);
    this.#calls = new TransactionCalls({
      ...options,
      sleeper: this.#sleeper,
      onUnanswered: () => {
        this.#needsNewEpoch = true;
      },
    });
    const { transactionalId } = options;
    this.#machine = new StateMachine(
      `transactional producer ${transactionalId}`,
      transactionTransitions,
      'uninitialized',
      (state, previous) => {
        options.logger.debug({ transactionalId, state, previous }, 'transaction state');
      },
    );
  }

  get state(): TransactionState {
    return this.#machine.state;
  }

  /** Why the transaction cannot be committed, or the producer is of no more use. */
  get error(): Error | null {
    return this.#error;
  }

  /** Null before the first `init`. */
  get identity(): ProducerIdentity | null {
    return this.#identity;
  }

  // ------------------------------------------------------------------------ asked by the producer

  /**
   * The transaction of a batch that is opened now, which begins with it.
   *
   * @throws the transaction's error; InvariantError before `init` and during an abort
   */
  opened(partition: TopicPartition): number {
    if (this.state === 'committing') {
      this.#wantedNext.add(partition);
      return this.#number + 1;
    }
    if (this.state === 'ready') this.#machine.fire('begin');
    if (this.state !== 'inTransaction') throw this.#error ?? this.#misuse('append records');
    if (!this.#added.has(partition) && !this.#wanted.has(partition)) this.#want(partition);
    return this.#number;
  }

  /** Whether a batch of this transaction may go to this partition now; `onSendable` tells of changes. */
  maySend(partition: TopicPartition, transaction: number): boolean {
    return transaction === this.#number && this.isUnderWay && this.#added.has(partition);
  }

  /** Batches of a transaction may be sent, the first time or again. */
  get isUnderWay(): boolean {
    return this.state === 'inTransaction' || this.state === 'committing';
  }

  /** What becomes of a batch; `over`: the code is about the transaction or its producer, and ends it. */
  judge(
    code: number,
    topic: string,
    partition: number,
    { recordCount, transaction }: ProduceBatch,
  ): ProduceVerdict | 'over' {
    const verdict = transactionalProduceVerdict(code);
    switch (verdict) {
      case 'done':
      case 'retry':
      case 'sequence':
        return verdict;
      case 'refused':
        return 'failed';
      default: {
        const what = `${recordCount} records for ${topic}-${partition} were refused`;
        const context = { transactionalId: this.transactionalId, topic, partition };
        const error = transactionError(verdict, code, what, context);
        this.#needsNewEpoch = true;
        if (verdict === 'fenced' || verdict === 'fatal') this.fence(error);
        else this.fail(error, transaction);
        return 'over';
      }
    }
  }

  /** A batch that was sent was given up without knowing what became of it. */
  requireNewEpoch(): void {
    this.#needsNewEpoch = true;
  }

  /** The transaction with this number cannot be committed. */
  fail(error: Error, transaction = this.#number): void {
    if (transaction > this.#number) {
      this.#nextError ??= error;
    } else if (this.isUnderWay) {
      this.#break('fail', error);
    }
  }

  /** The producer is of no more use. */
  fence(error: Error): void {
    if (!this.#isFatal) this.#break('fence', error);
  }

  // ---------------------------------------------------------------------------- asked by its owner

  async init(): Promise<void> {
    if (!this.#machine.can('initialize')) throw this.#error ?? this.#misuse('be initialized');
    this.#machine.fire('initialize');
    const outcome = await this.#calls.initProducerId(null, { deadline: this.#deadline() });
    if (outcome.kind === 'done') {
      this.#identity = identityOf(outcome.value);
      this.#machine.fire('initialized');
      return;
    }
    const error = errorOf(outcome);
    if (outcome.kind === 'fatal') this.fence(error);
    else this.#machine.fire('fail');
    throw error;
  }

  /** `flush`: resolves when no batch of this transaction is left. */
  async commit(
    flush: () => Promise<void>,
    offsets: OffsetsToCommit,
    group: GroupMetadata,
  ): Promise<void> {
    if (this.state === 'ready') {
      if (offsets.size === 0) return;
      this.#machine.fire('begin');
    }
    if (!this.#machine.can('commit')) throw this.#error ?? this.#misuse('commit');
    this.#machine.fire('commit');
    await flush();
    await this.#adding;
    const deadline = this.#deadline();
    if (offsets.size > 0) {
      const isFirst = this.#openness === 'no';
      if (isFirst) await this.#step(() => this.#renew({ deadline }));
      await this.#step((identity) => {
        if (isFirst) this.#openness = 'maybe';
        return this.#calls.addOffsets(identity, group, { deadline, isFirst });
      });
      this.#openness = 'yes';
      await this.#step((identity) =>
        this.#calls.commitOffsets(identity, offsets, group, { deadline }),
      );
    }
    await this.#step((identity) => {
      if (this.#openness === 'no') return Promise.resolve({ kind: 'done', value: null });
      this.#openness = 'maybe';
      return this.#calls.endTransaction(identity, true, false, { deadline });
    });
    this.#ended('committed');
    this.#beginNext();
  }

  /** `idle`: resolves when no batch is under way any more. */
  async abort(idle: () => Promise<void>): Promise<void> {
    if (this.state === 'uninitialized' || this.state === 'ready') return;
    if (!this.#machine.can('abort')) throw this.#error ?? this.#misuse('abort');
    this.#machine.fire('abort');
    this.#dropAll();
    const { maxBlockMs } = this.#options;
    const deadline = this.#deadline();
    const late = (): Error =>
      new TimeoutError(`Batches were still under way after max.block.ms (${maxBlockMs})`);
    try {
      await this.#sleeper.within(maxBlockMs, Promise.all([idle(), this.#adding]), late);
      if (this.#error !== null && this.#isFatal) throw this.#error;
      await this.#endWithAbort(deadline);
      this.#orThrow(await this.#renew({ deadline }));
    } catch (error) {
      if (this.state === 'aborting' && error instanceof StreamsError) {
        this.#break('fail', this.#error ?? abortedError(error));
      }
      throw error;
    }
    this.#error = null;
    this.#ended('aborted');
  }

  close(): void {
    this.#sleeper.close();
  }

  // ----------------------------------------------------------------------------------------- steps

  get #isFatal(): boolean {
    return this.state === 'fatalError';
  }

  #want(partition: TopicPartition): void {
    this.#wanted.add(partition);
    if (this.#isAdding) return;
    this.#isAdding = true;
    // In a later turn, so that the partitions of all records that are appended now go together.
    this.#adding = Promise.resolve()
      .then(() => this.#addAll())
      .catch((error: unknown) => {
        this.fail(error as Error);
      });
  }

  async #addAll(): Promise<void> {
    try {
      while (this.#wanted.size > 0 && this.isUnderWay) {
        const partitions = [...this.#wanted];
        const outcome = await this.#add(partitions);
        if (outcome.kind !== 'done') {
          this.#refused(outcome);
          return;
        }
        for (const partition of partitions) {
          this.#wanted.delete(partition);
          this.#added.add(partition);
        }
        this.#options.onSendable();
      }
    } finally {
      this.#isAdding = false;
    }
  }

  async #add(partitions: readonly TopicPartition[]): Promise<CallOutcome<unknown>> {
    const bound = { deadline: this.#deadline(), isStopped: () => !this.isUnderWay };
    const isFirst = this.#openness === 'no';
    if (isFirst) {
      const renewed = await this.#renew(bound);
      if (renewed.kind !== 'done') return renewed;
      if (!this.isUnderWay) return { kind: 'stopped' };
      this.#openness = 'maybe';
    }
    const identity = this.#identityOrThrow();
    const outcome = await this.#calls.addPartitions(identity, partitions, { ...bound, isFirst });
    if (outcome.kind === 'done') this.#openness = 'yes';
    return outcome;
  }

  /** One step of a commit; what went wrong meanwhile ends it as well. */
  async #step(call: (identity: ProducerIdentity) => Promise<CallOutcome<unknown>>): Promise<void> {
    if (this.state !== 'committing') throw this.#error ?? this.#misuse('commit');
    const outcome = await call(this.#identityOrThrow());
    if (outcome.kind !== 'done') this.#refused(outcome);
    // `call` let time pass.
    if ((this.state as TransactionState) !== 'committing') {
      throw this.#error ?? this.#misuse('commit');
    }
  }

  #refused(refusal: Refusal): void {
    switch (refusal.kind) {
      case 'abortable':
        if (refusal.needsNewEpoch) this.#needsNewEpoch = true;
        this.fail(refusal.error);
        return;
      case 'late':
        this.fail(abortedError(refusal.error));
        return;
      case 'fatal':
        this.fence(refusal.error);
        return;
      case 'stopped':
        return;
    }
  }

  async #endWithAbort(deadline: number): Promise<void> {
    if (this.#openness === 'no') return;
    const mayHaveEnded = this.#openness === 'maybe';
    // Should there be no answer, then it may have ended.
    this.#openness = 'maybe';
    const identity = this.#identityOrThrow();
    const bound = { deadline };
    this.#orThrow(await this.#calls.endTransaction(identity, false, mayHaveEnded, bound));
    this.#openness = 'no';
  }

  /** Fences what may come late of the transactions before (KIP-360), if there can be anything. */
  async #renew(bound: CallBound): Promise<CallOutcome<unknown>> {
    if (!this.#needsNewEpoch) return { kind: 'done', value: null };
    const outcome = await this.#calls.initProducerId(this.#identityOrThrow(), bound);
    if (outcome.kind === 'done') {
      this.#identity = identityOf(outcome.value);
      this.#needsNewEpoch = false;
    }
    return outcome;
  }

  #orThrow(outcome: CallOutcome<unknown>): void {
    if (outcome.kind === 'done') return;
    const error = errorOf(outcome);
    if (outcome.kind === 'fatal') this.fence(error);
    if (outcome.kind === 'abortable') this.#needsNewEpoch ||= outcome.needsNewEpoch;
    throw error;
  }

  #break(event: 'fail' | 'fence', error: Error): void {
    const { logger } = this.#options;
    const { transactionalId } = this;
    this.#machine.fire(event);
    this.#error = error;
    logger.info(
      { err: error, transactionalId },
      `transaction: ${event === 'fail' ? 'to be aborted' : 'fatal'}`,
    );
    this.#dropAll();
  }

  #dropAll(): void {
    this.#wanted.clear();
    this.#wantedNext.clear();
    this.#nextError = null;
    this.#options.onBroken();
  }

  #ended(event: 'committed' | 'aborted'): void {
    this.#machine.fire(event);
    this.#number++;
    this.#openness = 'no';
    this.#added.clear();
  }

  /** Records were appended while the last transaction was being committed. */
  #beginNext(): void {
    if (this.#wantedNext.size === 0) return;
    this.#machine.fire('begin');
    const partitions = [...this.#wantedNext];
    this.#wantedNext.clear();
    for (const partition of partitions) this.#want(partition);
    const error = this.#nextError;
    this.#nextError = null;
    if (error !== null) this.fail(error);
  }

  #deadline(): number {
    return this.#options.clock.monotonicMs() + this.#options.maxBlockMs;
  }

  #identityOrThrow(): ProducerIdentity {
    if (this.#identity === null) throw this.#misuse('have a producer id');
    return this.#identity;
  }

  #misuse(what: string): InvariantError {
    const { transactionalId, state } = this;
    return new InvariantError(
      `The transactional producer ${transactionalId} cannot ${what} in state ${state}`,
      { context: { transactionalId, state } },
    );
  }
}

function errorOf(refusal: Refusal): Error {
  return refusal.kind === 'stopped'
    ? new InvariantError('A call was stopped that somebody waits for')
    : refusal.error;
}

/** Of an answer, which has more fields; the object is what tells one identity from another. */
function identityOf({ producerId, producerEpoch }: ProducerIdentity): ProducerIdentity {
  return { producerId, producerEpoch };
}
