import type { Logger } from 'pino';
import { internalTopicNames } from '../assignment/partition-counts.ts';
import type {
  GroupMetadata,
  GroupPort,
  OffsetsToCommit,
  ProducerPort,
  TransactionalProducerPort,
  UndeliveredBatch,
} from '../client/ports.ts';
import { TaskRecordCollector } from '../commit/record-collector.ts';
import { StreamsError, TaskCorruptedError } from '../errors.ts';
import { DeadLetters } from './dead-letters.ts';
import { DeliveryFailures } from './delivery-failure.ts';
import type { StreamThreadOptions } from './thread-options.ts';
import { openProducer, openTransactionalProducer } from './thread-ports.ts';

/**
 * A stream thread's way out: its producer, and the dead letters of what that could not deliver.
 *
 * Under exactly-once (KIP-447) the producer is transactional, one for all tasks of the thread: records,
 * changelogs, dead letters and offsets of a commit are one transaction, which is fenced by the generation
 * of the group. What one task has written cannot be undone alone, so when one fails all go back.
 */
export class ThreadOutput {
  readonly #options: StreamThreadOptions;
  readonly #group: GroupPort;
  readonly #logger: Logger;
  readonly #onDrained: () => void;
  #producer: ProducerPort;
  /** The same producer, if it is transactional. */
  #transaction: TransactionalProducerPort | null = null;
  #hasBegun = false;
  #isReplaced = false;
  #isSpoiled = false;
  /** Who was given the tasks; nobody yet, and then there are no offsets either. */
  #owner: GroupMetadata;
  deadLetters: DeadLetters;

  constructor(
    options: StreamThreadOptions,
    group: GroupPort,
    logger: Logger,
    onDrained: () => void,
  ) {
    this.#options = options;
    this.#group = group;
    this.#owner = group.metadata;
    this.#logger = logger;
    this.#onDrained = onDrained;
    this.deadLetters = new DeadLetters((record) => collector.deadLetter(record));
    const collector = this.#collector();
    this.#producer = this.#open(collector);
  }

  /** Another one after a producer was fenced: whoever appends asks for it each time it begins. */
  get producer(): ProducerPort {
    return this.#producer;
  }

  get isTransactional(): boolean {
    return this.#options.config.isExactlyOnce;
  }

  /**
   * Exactly once: what the transaction holds must not be committed, because it has writes of tasks that
   * were given up, without their offsets. Until the abort every commit is refused, whoever asks for it.
   */
  spoil(): void {
    this.#isSpoiled = this.isTransactional;
  }

  get isSpoiled(): boolean {
    return this.#isSpoiled;
  }

  /** Ends what an earlier run of this thread left open. Under at least once there is nothing to do. */
  async begin(): Promise<void> {
    await this.#transaction?.initTransactions();
    this.#hasBegun = true;
  }

  /**
   * From here on offsets are committed as this member of this generation: the one that was given the tasks. What
   * the group's metadata says when a commit gets as far as the offsets may be another generation by then, or,
   * when the member was lost, none at all, and whoever is no member is not fenced.
   */
  assigned(owner: GroupMetadata): void {
    this.#owner = owner;
  }

  /** Everything that was flushed stands together with these offsets, or, at least once, before them. */
  async commit(offsets: OffsetsToCommit): Promise<void> {
    if (this.#transaction === null) {
      if (offsets.size > 0) await this.#group.commit(offsets);
      return;
    }
    if (this.#isSpoiled) {
      throw new TaskCorruptedError(
        'The transaction holds writes of tasks that were given up meanwhile; it is aborted',
      );
    }
    try {
      await this.#transaction.commitTransaction(offsets, this.#owner);
    } catch (error) {
      throw asEndOfTransaction(error);
    }
  }

  /**
   * Undoes what was written since the last commit; nobody may be writing any more. A producer that was
   * fenced is replaced: true if so, and then whoever has opened the former one must be begun anew. One
   * that failed may be called again, and goes on where it was.
   */
  async abort(): Promise<boolean> {
    const transaction = this.#transaction;
    if (transaction === null) return false;
    const isFenced = (): boolean => transaction.isFatal;
    if (this.#hasBegun && !isFenced()) {
      try {
        await transaction.abortTransaction();
      } catch (error) {
        if (!isFenced()) throw error;
        this.#logger.debug({ err: error }, 'the producer was fenced while it aborted');
      }
    }
    if (isFenced()) await this.#replace(transaction);
    if (!this.#hasBegun) await this.begin();
    const isReplaced = this.#isReplaced;
    this.#isReplaced = false;
    this.#isSpoiled = false;
    return isReplaced;
  }

  async #replace(fenced: TransactionalProducerPort): Promise<void> {
    this.#logger.info('the producer was fenced; going on with a new one');
    const collector = this.#collector();
    this.deadLetters = new DeadLetters((record) => collector.deadLetter(record));
    this.#producer = this.#open(collector);
    this.#hasBegun = false;
    this.#isReplaced = true;
    await fenced.close(this.#options.config.get('request.timeout.ms'));
  }

  close(timeoutMs: number): Promise<void> {
    return this.#producer.close(timeoutMs);
  }

  #open(collector: TaskRecordCollector): ProducerPort {
    const { client, config, processId, index, matcher } = this.#options;
    const internalTopics = internalTopicNames(matcher.topology);
    const deadLetterTopic = config.get('errors.dead.letter.queue.topic.name');
    const failures = new DeliveryFailures({
      production: config.get('production.exception.handler'),
      deadLetterTopic,
      deadLetters: this.deadLetters,
      isDeadLetterTopic: (topic) => topic === deadLetterTopic || collector.hasDeadLetters(topic),
      logger: this.#logger,
    });
    const undelivered = (batch: UndeliveredBatch): Error | null => failures.undelivered(batch);
    if (!this.isTransactional) {
      return openProducer(client, config, internalTopics, this.#onDrained, undelivered);
    }
    const id = `${config.get('application.id')}-${processId}-${String(index)}`;
    this.#transaction = openTransactionalProducer(
      client,
      config,
      internalTopics,
      id,
      this.#onDrained,
      undelivered,
    );
    return this.#transaction;
  }

  #collector(): TaskRecordCollector {
    const producer = (): ProducerPort => this.#producer;
    return new TaskRecordCollector({
      get producer() {
        return producer();
      },
      random: this.#options.random,
      onFailure: (_node, _record, error) => {
        throw error;
      },
      onDropped: () => undefined,
      now: () => this.#options.clock.now(),
    });
  }
}

/** A transaction that failed cannot be tried again, whatever may be said of the request that failed. */
function asEndOfTransaction(error: unknown): unknown {
  if (!(error instanceof StreamsError) || !error.retriable) return error;
  return new TaskCorruptedError(
    `The transaction could not be committed: ${error.message}. What was processed since the last commit is processed again`,
    { cause: error },
  );
}
