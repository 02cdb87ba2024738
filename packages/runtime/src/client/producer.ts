import type { Logger } from 'pino';
import { errorCodes, incrementSequence } from '@millrace/protocol';
import type { ProduceResponse } from '@millrace/protocol';
import {
  InvariantError,
  ShutdownError,
  StreamsError,
  TaskMigratedError,
  TimeoutError,
} from '../errors.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff, backoffMs } from './backoff.ts';
import { BatchPool } from './batch-pool.ts';
import { brokerError } from './broker-errors.ts';
import { isLeadershipError } from './error-codes.ts';
import { MissingTopicError, RecordTooLargeError, UnsupportedVersionError } from './errors.ts';
import {
  FAILURES_BEFORE_WARNING,
  GROWN_BATCH_BYTES,
  OUTAGE_WARNING_INTERVAL_MS,
  PRODUCE_REQUESTS_IN_FLIGHT_MAX,
  PRODUCE_REQUEST_BYTES_MAX,
  SEQUENCE_MAX,
} from './limits.ts';
import { lostTopicError } from './lost-topic.ts';
import { Metadata } from './metadata.ts';
import { PartitionAccumulator } from './partition-accumulator.ts';
import type { AccumulatorOwner } from './partition-accumulator.ts';
import { topicPartitionKey } from './ports.ts';
import type {
  PartitionBuffer,
  ProducerOptions,
  ProducerPort,
  TopicPartitionKey,
  UndeliveredRecord,
} from './ports.ts';
import { NO_TRANSACTION, ProduceBatch } from './produce-batch.ts';
import { isTooLarge, produceError, produceVerdict } from './produce-errors.ts';
import { IdentitySource } from './producer-identity.ts';
import { Sleeper } from './sleeper.ts';
import { splitBatch } from './split-batch.ts';
import type { Transport } from './transport.ts';
import { abortedError } from './transactions/transaction-calls.ts';
import type { TransactionManager } from './transactions/transaction-manager.ts';
import { undeliveredRecords } from './undelivered-batch.ts';
import { withDeadline } from './with-deadline.ts';

export interface ProducerContext {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** One batch of one partition in a request. */
interface Sent {
  readonly accumulator: PartitionAccumulator;
  readonly batch: ProduceBatch;
}

/**
 * Idempotent producer, acks=all unless told otherwise. Records are encoded into the open batch of their partition; linger
 * and size close it; closed batches leave in requests of several partitions, up to five under way
 * per broker.
 *
 * Order and sequences: a batch gets its sequence when it is first sent. After a retriable failure it
 * is sent again, with the same sequence, alone among its partition's batches, and before any later
 * one. When a broker's memory of sequences does not fit ours, or a batch was given up without knowing
 * whether it was written, the partition goes on under a new producer id (as KIP-360 has it for Kafka's
 * own client).
 *
 * With transactions all of that happens under their one producer id and epoch: a batch waits until its
 * partition is part of its transaction, and what would need another id ends the transaction.
 */
export class Producer implements ProducerPort, AccumulatorOwner {
  readonly batchBytes: number;
  readonly grownBatchBytes: number;
  readonly maxRequestBytes: number;
  readonly #context: ProducerContext;
  readonly #options: ProducerOptions;
  readonly #metadata: Metadata;
  readonly #identities: IdentitySource;
  readonly #transactions: TransactionManager | null;
  readonly #sleeper: Sleeper;
  readonly #pool: BatchPool;
  readonly #partitions = new Map<TopicPartitionKey, PartitionAccumulator>();
  /** With an open batch, the oldest first. */
  readonly #open = new Set<PartitionAccumulator>();
  /** With closed batches that are not under way, in the order of their turn. */
  readonly #ready = new Set<PartitionAccumulator>();
  readonly #incomplete = new Set<ProduceBatch>();
  readonly #inFlightCounts = new Map<number, number>();
  #bufferedBytes = 0;
  #isFull = false;
  #failure: Error | null = null;
  #timer: Timer | null = null;
  #timerAt = Infinity;
  #isKicked = false;
  #warnedAt = -Infinity;
  #isClosed = false;

  constructor(
    context: ProducerContext,
    options: ProducerOptions,
    transactions: TransactionManager | null = null,
  ) {
    this.#context = context;
    this.#options = options;
    this.#transactions = transactions;
    this.maxRequestBytes = options.maxRequestBytes ?? PRODUCE_REQUEST_BYTES_MAX;
    this.batchBytes = Math.min(options.batchBytes, this.maxRequestBytes);
    this.#sleeper = new Sleeper(context.clock);
    this.grownBatchBytes = Math.min(
      Math.max(this.batchBytes, options.grownBatchBytes ?? GROWN_BATCH_BYTES),
      this.maxRequestBytes,
    );
    this.#pool = new BatchPool(options.compression, this.grownBatchBytes);
    const { requestTimeoutMs } = options;
    const onFatal = (error: Error): void => {
      if (transactions === null) this.#failEverything(error);
      else transactions.fail(error);
    };
    this.#metadata = new Metadata({
      ...context,
      requestTimeoutMs,
      allowAutoTopicCreation: true,
      internalTopics: options.internalTopics,
      onUpdate: () => {
        this.#kick();
      },
      onFatal,
    });
    this.#identities = new IdentitySource({
      ...context,
      requestTimeoutMs,
      sleeper: this.#sleeper,
      onIdentity: () => {
        this.#kick();
      },
      onFatal,
    });
  }

  async partitionCount(topic: string): Promise<number> {
    const { clock, random } = this.#context;
    const { requestTimeoutMs } = this.#options;
    this.#metadata.track([topic]);
    const startedAt = clock.monotonicMs();
    const backoff = new Backoff(random);
    let lastError: Error | null = null;
    for (;;) {
      const known = this.#metadata.topic(topic);
      if (known !== undefined) return known.partitions.length;
      const code = this.#metadata.topicError(topic);
      const error = brokerError(code, `Topic ${topic} cannot be used`, { topic });
      if (code !== errorCodes.NONE && !error.retriable) throw error;
      if (clock.monotonicMs() - startedAt > requestTimeoutMs) {
        throw new MissingTopicError(
          `Topic ${topic} was not found within ${requestTimeoutMs} ms; create it, or check its name and the cluster`,
          { cause: lastError ?? undefined, context: { topic } },
        );
      }
      if (backoff.failureCount > 0) await this.#sleeper.sleep(backoff.next());
      else backoff.next();
      lastError = await this.#metadata.update().then(() => null, retriableOnly);
    }
  }

  partition(topic: string, partition: number): PartitionBuffer {
    const key = topicPartitionKey(topic, partition);
    let accumulator = this.#partitions.get(key);
    if (accumulator === undefined) {
      accumulator = new PartitionAccumulator(topic, partition, this);
      this.#partitions.set(key, accumulator);
      this.#metadata.track([topic]);
    }
    return accumulator;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  get failure(): Error | null {
    return this.#failure;
  }

  async flush(): Promise<void> {
    this.#closeOpenBatches(Infinity);
    await this.idle();
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure;
  }

  /** Resolves when each batch that there is now is done with. */
  async idle(): Promise<void> {
    if (this.#incomplete.size === 0) return;
    await new Promise<void>((resolve) => {
      const waiter = { batchCount: this.#incomplete.size, resolve };
      for (const batch of this.#incomplete) batch.waiters.push(waiter);
      this.#kick();
    });
  }

  /** Batches that waited for their transaction may be sent. */
  wake(): void {
    this.#kick();
  }

  /** Its metadata was found stale by somebody else. */
  requestMetadata(): void {
    this.#metadata.requestUpdate();
  }

  /** Their transaction is over: what is not under way is dropped, and what is will not be sent again. */
  dropUnsent(): void {
    const underWay = new Set<ProduceBatch>();
    for (const accumulator of this.#partitions.values()) {
      for (const batch of accumulator.inFlight) underWay.add(batch);
      for (const batch of accumulator.queue) {
        if (batch.isStamped) this.#transactions?.requireNewEpoch();
      }
      accumulator.open = null;
      accumulator.queue.length = 0;
      accumulator.mustRewind = false;
    }
    this.#open.clear();
    this.#ready.clear();
    for (const batch of this.#incomplete) {
      if (!underWay.has(batch)) this.#finish(batch, !batch.isStamped);
    }
  }

  async close(timeoutMs: number): Promise<void> {
    const { clock, transport, logger } = this.#context;
    const startedAt = clock.monotonicMs();
    const timedOut = new TimeoutError(`Buffered records were not sent within ${timeoutMs} ms`);
    await withDeadline(clock, timeoutMs, this.flush(), () => timedOut).catch((error: unknown) => {
      logger.warn({ err: error, batches: this.#incomplete.size }, 'producer closed with failures');
    });
    this.#isClosed = true;
    this.#failEverything(new ShutdownError('The producer was closed before this was sent'));
    this.#timer?.cancel();
    this.#timer = null;
    this.#metadata.close();
    this.#sleeper.close();
    await transport.close(Math.max(0, timeoutMs - (clock.monotonicMs() - startedAt)));
  }

  // ------------------------------------------------------------------ asked by the accumulators

  nowMs(): number {
    return this.#context.clock.now();
  }

  openBatch(accumulator: PartitionAccumulator): ProduceBatch {
    if (this.#isClosed) throw new ShutdownError('The producer is closed');
    const transaction = this.#transactions?.opened(accumulator) ?? NO_TRANSACTION;
    const { clock } = this.#context;
    const batch = new ProduceBatch(
      accumulator.nextOrdinal++,
      clock.monotonicMs(),
      this.#pool.take(),
      this.#options.compression === 'none',
      transaction,
    );
    accumulator.open = batch;
    this.#open.add(accumulator);
    this.#incomplete.add(batch);
    this.#wakeAt(batch.createdAt + this.#options.lingerMs);
    return batch;
  }

  closeBatch(accumulator: PartitionAccumulator): void {
    const batch = accumulator.open;
    if (batch === null) return;
    accumulator.open = null;
    this.#open.delete(accumulator);
    const builder = batch.builder as NonNullable<ProduceBatch['builder']>;
    batch.recordCount = builder.recordCount;
    if (batch.recordCount === 0) {
      this.#finish(batch, true);
      return;
    }
    accumulator.queue.push(batch);
    this.#ready.add(accumulator);
    this.#kick();
  }

  addBuffered(batch: ProduceBatch, bytes: number): void {
    batch.bufferedBytes += bytes;
    this.#bufferedBytes += bytes;
    if (this.#bufferedBytes >= this.#options.bufferBytes && !this.#isFull) {
      this.#isFull = true;
      this.#kick();
    }
  }

  refuse(accumulator: PartitionAccumulator, bytes: number): Error {
    const { topic, partition } = accumulator;
    const batch = accumulator.open;
    if (batch !== null) {
      accumulator.open = null;
      this.#open.delete(accumulator);
      this.#finish(batch, true);
    }
    return new RecordTooLargeError(
      `A record for ${topic}-${partition} takes ${bytes} bytes, more than max.request.size (${this.maxRequestBytes})`,
      { context: { topic, partition, bytes } },
    );
  }

  // ------------------------------------------------------------------------------------- sending

  #closeOpenBatches(openedUntil: number): void {
    for (const accumulator of this.#open) {
      if ((accumulator.open?.createdAt ?? Infinity) > openedUntil) break;
      this.closeBatch(accumulator);
    }
  }

  /**
   * Closes what has lingered, unless it would only wait behind another: it takes more records instead. With slow
   * answers there would be ever more batches of a few records, each of which costs a request.
   */
  #closeLingered(now: number): void {
    for (const accumulator of this.#open) {
      if (!this.#hasLingered(accumulator, now)) break;
      if (accumulator.queue.length === 0) this.closeBatch(accumulator);
    }
  }

  #hasLingered({ open }: PartitionAccumulator, now: number): boolean {
    // A timer may fire a fraction of a millisecond early.
    return open !== null && open.createdAt <= now - this.#options.lingerMs + 0.5;
  }

  #kick(): void {
    if (this.#isKicked || this.#isClosed) return;
    this.#isKicked = true;
    queueMicrotask(() => {
      this.#isKicked = false;
      this.#pass();
    });
  }

  #wakeAt(at: number): void {
    if (at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    const { clock } = this.#context;
    // Whole milliseconds, so that a timer which fires a little early is not set again at once.
    this.#timer = clock.setTimer(Math.max(0, Math.ceil(at - clock.monotonicMs())), () => {
      this.#timer = null;
      this.#timerAt = Infinity;
      this.#pass();
    });
  }

  #pass(): void {
    if (this.#isClosed) return;
    const now = this.#context.clock.monotonicMs();
    this.#metadata.refreshIfOld();
    if (this.#isFull) this.#closeOpenBatches(Infinity);
    else this.#closeLingered(now);
    while (this.#sendRequests(now));
    for (const { open, queue } of this.#open) {
      // Closed when that what it waits behind has gone.
      if (queue.length > 0) continue;
      if (open !== null) this.#wakeAt(open.createdAt + this.#options.lingerMs);
      break;
    }
  }

  /** One request to each broker that may get one; false when there was nothing to send. */
  #sendRequests(now: number): boolean {
    const requests = new Map<number, Sent[]>();
    const sizes = new Map<number, number>();
    for (const accumulator of this.#ready) {
      const batch = this.#next(accumulator, now);
      if (batch === null) continue;
      const { leader } = accumulator;
      const inFlightCount = this.#inFlightCounts.get(leader) ?? 0;
      if (inFlightCount >= PRODUCE_REQUESTS_IN_FLIGHT_MAX) continue;
      const size = (sizes.get(leader) ?? 0) + batch.bufferedBytes;
      const request = requests.get(leader);
      if (request === undefined) requests.set(leader, [{ accumulator, batch }]);
      else if (size <= this.maxRequestBytes) request.push({ accumulator, batch });
      else continue;
      sizes.set(leader, size);
    }
    // What has expired on the way may have ended the transaction of the others.
    if (this.#transactions?.isUnderWay === false) return false;
    for (const [leader, request] of requests) void this.#send(leader, request);
    return requests.size > 0;
  }

  /** The batch that may be sent now, if there is one. */
  #next(accumulator: PartitionAccumulator, now: number): ProduceBatch | null {
    this.#expire(accumulator, now);
    const { queue, inFlight } = accumulator;
    const [batch] = queue;
    if (batch === undefined) {
      this.#ready.delete(accumulator);
      // It may have been given up just now, and what waited behind it is still open.
      if (this.#hasLingered(accumulator, now)) this.#kick();
      return null;
    }
    if (accumulator.isRetrying || inFlight.length >= PRODUCE_REQUESTS_IN_FLIGHT_MAX) return null;
    if (batch.attemptCount > 0 && inFlight.length > 0) return null;
    if (!accumulator.isIdentityKnown && inFlight.length > 0) return null;
    if (accumulator.retryAt > now) {
      this.#wakeAt(Math.min(accumulator.retryAt, this.#deadline(batch)));
      return null;
    }
    this.#lookUpLeader(accumulator);
    if (accumulator.leader < 0) {
      this.#metadata.requestUpdate();
      this.#giveUpLost(accumulator, now);
      this.#wakeAt(this.#deadline(batch));
      return null;
    }
    if (this.#transactions?.maySend(accumulator, batch.transaction) === false) {
      this.#wakeAt(this.#deadline(batch));
      return null;
    }
    if (!batch.isStamped && !this.#ensureIdentity(accumulator, batch)) {
      this.#wakeAt(this.#deadline(batch));
      return null;
    }
    return batch;
  }

  #deadline(batch: ProduceBatch): number {
    return batch.createdAt + this.#options.deliveryTimeoutMs;
  }

  /** Gives up what has waited too long. */
  #expire(accumulator: PartitionAccumulator, now: number): void {
    const { queue, topic, partition } = accumulator;
    const { deliveryTimeoutMs } = this.#options;
    for (let batch = queue[0]; batch !== undefined; batch = queue[0]) {
      if (now < this.#deadline(batch)) return;
      queue.shift();
      const { lastError, recordCount, attemptCount } = batch;
      // Whether it was written is not known: later records must not depend on its sequence.
      if (attemptCount > 0) accumulator.mustRenew = true;
      const why = lastError?.message ?? this.#whyUnsent(accumulator);
      const error = new TimeoutError(
        `${recordCount} records for ${topic}-${partition} were not acknowledged within delivery.timeout.ms (${deliveryTimeoutMs}): ${why}`,
        { cause: lastError ?? undefined, context: { topic, partition, recordCount } },
      );
      this.#giveUp(accumulator, batch, error, attemptCount === 0);
    }
  }

  /** What waits for an internal topic that is gone for good. */
  #giveUpLost(accumulator: PartitionAccumulator, now: number): void {
    const { queue, topic } = accumulator;
    if (this.#options.internalTopics?.has(topic) !== true) return;
    const error = lostTopicError(this.#metadata, topic, now);
    if (error === null) return;
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      if (batch.attemptCount > 0) accumulator.mustRenew = true;
      this.#giveUp(accumulator, batch, error, batch.attemptCount === 0);
    }
  }

  #whyUnsent({ topic, partition, leader }: PartitionAccumulator): string {
    const code = this.#metadata.topicError(topic);
    if (code !== errorCodes.NONE) return brokerError(code, `topic ${topic}`, {}).message;
    if (leader < 0) return `no leader of ${topic}-${partition} is known`;
    return 'there was no time left to send them';
  }

  #lookUpLeader(accumulator: PartitionAccumulator): void {
    if (accumulator.metadataVersion === this.#metadata.version) return;
    accumulator.metadataVersion = this.#metadata.version;
    const { topic, partition } = accumulator;
    const isLost =
      this.#metadata.isReplaced(topic) && this.#options.internalTopics?.has(topic) === true;
    accumulator.leader = isLost ? -1 : (this.#metadata.leader(topic, partition)?.leader ?? -1);
  }

  /** A producer id and room in its sequences for a batch that has neither; false: not yet. */
  #ensureIdentity(accumulator: PartitionAccumulator, batch: ProduceBatch): boolean {
    if (this.#transactions !== null) return this.#ensureEpoch(accumulator, this.#transactions);
    const { identity, nextSequence } = accumulator;
    const isUsedUp = nextSequence > SEQUENCE_MAX - batch.recordCount;
    if (identity !== null && !accumulator.mustRenew && !isUsedUp) return true;
    // Under the old id there may be nothing under way any more.
    if (accumulator.inFlight.length > 0) return false;
    const other = this.#identities.other(identity);
    if (other === null) return false;
    accumulator.identity = other;
    accumulator.isIdentityKnown = false;
    accumulator.nextSequence = 0;
    accumulator.mustRenew = false;
    return true;
  }

  /** The same in a transaction, where all partitions share one identity. */
  #ensureEpoch(accumulator: PartitionAccumulator, { identity }: TransactionManager): boolean {
    if (accumulator.identity === identity && !accumulator.mustRewind) return true;
    if (accumulator.inFlight.length > 0) return false;
    if (accumulator.identity !== identity) {
      accumulator.identity = identity;
      accumulator.isIdentityKnown = false;
      accumulator.ackedSequence = 0;
    }
    accumulator.nextSequence = accumulator.ackedSequence;
    accumulator.mustRewind = false;
    return true;
  }

  async #send(leader: number, request: readonly Sent[]): Promise<void> {
    const topics = new Map<string, { index: number; records: Buffer }[]>();
    for (const { accumulator, batch } of request) {
      const { topic, partition } = accumulator;
      const part = { index: partition, records: this.#take(accumulator, batch) };
      const ofTopic = topics.get(topic);
      if (ofTopic === undefined) topics.set(topic, [part]);
      else ofTopic.push(part);
    }
    this.#countInFlight(leader, 1);
    const { requestTimeoutMs, compression, acks } = this.#options;
    try {
      const response = await this.#context.transport.send(
        leader,
        compression === 'zstd' ? apiUses.produceZstd : apiUses.produce,
        {
          transactionalId: this.#transactions?.transactionalId ?? null,
          acks: acks === 'leader' ? 1 : -1,
          timeoutMs: requestTimeoutMs,
          topicData: [...topics].map(([name, partitionData]) => ({ name, partitionData })),
        },
        { timeoutMs: requestTimeoutMs },
      );
      this.#countInFlight(leader, -1);
      this.#answered(request, response);
    } catch (error) {
      this.#countInFlight(leader, -1);
      this.#unanswered(request, error);
    }
    this.#pass();
  }

  /** Out of the queue and under way. */
  #take(accumulator: PartitionAccumulator, batch: ProduceBatch): Buffer {
    accumulator.queue.shift();
    accumulator.inFlight.push(batch);
    // What has grown behind it, or lingered, waits for nothing now.
    const openBytes = accumulator.open?.builder?.sizeInBytes ?? 0;
    const isLate =
      accumulator.queue.length === 0 &&
      this.#hasLingered(accumulator, this.#context.clock.monotonicMs());
    if (isLate || accumulator.isDue(openBytes)) this.closeBatch(accumulator);
    // The next turn is that of the others.
    this.#ready.delete(accumulator);
    if (accumulator.queue.length > 0) this.#ready.add(accumulator);
    if (batch.attemptCount++ > 0) accumulator.isRetrying = true;
    if (!batch.isStamped) {
      if (accumulator.identity === null) throw new InvariantError('A batch is sent without an id');
      batch.stamp(accumulator.identity, accumulator.nextSequence);
      accumulator.nextSequence = incrementSequence(accumulator.nextSequence, batch.recordCount);
      this.#releaseBuilder(batch);
    }
    return batch.bytes as Buffer;
  }

  /** A compressed batch has bytes of its own, so its builder is free and less memory is held. */
  #releaseBuilder(batch: ProduceBatch): void {
    const { builder, bytes } = batch;
    if (batch.codecIsNone || builder === null || bytes === null) return;
    this.#pool.give(builder);
    batch.builder = null;
    this.#release(batch.bufferedBytes - bytes.length);
    batch.bufferedBytes = bytes.length;
  }

  #countInFlight(leader: number, by: number): void {
    this.#inFlightCounts.set(leader, (this.#inFlightCounts.get(leader) ?? 0) + by);
  }

  // ------------------------------------------------------------------------------------ answers

  #answered(request: readonly Sent[], response: ProduceResponse): void {
    const answers = new Map<TopicPartitionKey, ProducePartitionResponse>();
    for (const { name, partitionResponses } of response.responses) {
      for (const each of partitionResponses) answers.set(topicPartitionKey(name, each.index), each);
    }
    for (const sent of request) {
      const { topic, partition } = sent.accumulator;
      this.#back(sent);
      if (!this.#incomplete.has(sent.batch)) continue;
      const answer = answers.get(topicPartitionKey(topic, partition));
      if (answer === undefined) {
        if (this.#isAbandoned(sent.batch)) continue;
        const text = `The broker's answer leaves out ${topic}-${partition}`;
        this.#retry(sent, brokerError(errorCodes.UNKNOWN_SERVER_ERROR, text, { topic, partition }));
      } else {
        this.#judge(sent, answer);
      }
    }
  }

  #judge(sent: Sent, answer: ProducePartitionResponse): void {
    const { accumulator, batch } = sent;
    const { topic, partition } = accumulator;
    const { errorCode, baseOffset, errorMessage } = answer;
    const context = { topic, partition };
    if (errorCode !== errorCodes.NONE && this.#isAbandoned(batch)) return;
    const verdict =
      this.#transactions?.judge(errorCode, topic, partition, batch) ?? produceVerdict(errorCode);
    switch (verdict) {
      case 'done':
        accumulator.ackedSequence = incrementSequence(batch.baseSequence, batch.recordCount);
        accumulator.isIdentityKnown = true;
        if (baseOffset >= 0n) {
          accumulator.ackedEndOffset = baseOffset + BigInt(batch.recordCount);
        }
        this.#options.onAcknowledged?.({
          topic,
          partition,
          baseOffset,
          recordCount: batch.recordCount,
        });
        this.#finish(batch, true);
        return;
      case 'retry':
        if (isLeadershipError(errorCode)) this.#metadata.requestUpdate();
        this.#retry(sent, brokerError(errorCode, `Produce to ${topic}-${partition}`, context));
        return;
      case 'sequence':
        this.#retry(sent, brokerError(errorCode, `Produce to ${topic}-${partition}`, context));
        // With an earlier batch still to be written this only means: out of turn.
        if (accumulator.firstUnresolved === batch) this.#startOver(accumulator);
        return;
      case 'failed':
        if (isTooLarge(errorCode) && batch.recordCount > 1) {
          this.#split(sent);
          return;
        }
        // The sequences of later batches build on this one, which is not written.
        accumulator.mustRenew = true;
        this.#giveUp(
          accumulator,
          batch,
          produceError(errorCode, errorMessage, topic, partition, batch.recordCount),
          // An earlier try without an answer may have written it.
          batch.attemptCount === 1 && errorCode !== errorCodes.UNKNOWN_SERVER_ERROR,
        );
        return;
      case 'over':
        return;
    }
  }

  /** Two smaller batches instead of one that is too large for the topic. */
  #split({ accumulator, batch }: Sent): void {
    accumulator.mayGrow = false;
    for (const half of splitBatch(batch, this.#pool)) {
      for (const waiter of batch.waiters) {
        waiter.batchCount++;
        half.waiters.push(waiter);
      }
      this.#incomplete.add(half);
      this.#bufferedBytes += half.bufferedBytes;
      this.#releaseBuilder(half);
      accumulator.requeue(half);
    }
    this.#ready.add(accumulator);
    this.#finish(batch, true);
  }

  #unanswered(request: readonly Sent[], error: unknown): void {
    const failure = error instanceof Error ? error : new InvariantError(String(error));
    const isRetriable = failure instanceof StreamsError && failure.retriable;
    if (isRetriable) this.#metadata.requestUpdate();
    for (const sent of request) {
      this.#back(sent);
      if (!this.#incomplete.has(sent.batch)) continue;
      if (this.#isAbandoned(sent.batch)) continue;
      if (isRetriable) {
        this.#retry(sent, failure);
      } else {
        sent.accumulator.mustRenew = true;
        this.#giveUp(sent.accumulator, sent.batch, failure, false);
      }
    }
  }

  #back({ accumulator, batch }: Sent): void {
    const { inFlight } = accumulator;
    const index = inFlight.indexOf(batch);
    if (index >= 0) inFlight.splice(index, 1);
    if (inFlight.length === 0) accumulator.isRetrying = false;
  }

  #retry({ accumulator, batch }: Sent, error: Error): void {
    batch.lastError = error;
    accumulator.requeue(batch);
    // Sent in vain behind one that starts over: it can only follow under the new id.
    if (accumulator.queue[0]?.isStamped === false) batch.unstamp();
    this.#ready.add(accumulator);
    const { clock, random, logger } = this.#context;
    const failureCount = Math.max(1, batch.attemptCount);
    accumulator.retryAt = clock.monotonicMs() + backoffMs(failureCount - 1, random);
    const { topic, partition } = accumulator;
    const now = clock.monotonicMs();
    const isNews =
      failureCount === FAILURES_BEFORE_WARNING && now - this.#warnedAt > OUTAGE_WARNING_INTERVAL_MS;
    if (isNews) this.#warnedAt = now;
    logger[isNews ? 'warn' : 'debug'](
      { err: error, topic, partition, failureCount },
      'batch not acknowledged; sending it again',
    );
  }

  /**
   * The first batch in line was refused for its sequence: neither it nor a later one was written, so
   * all of them may go again under a new producer id.
   */
  #startOver(accumulator: PartitionAccumulator): void {
    const { topic, partition, queue } = accumulator;
    if (this.#transactions !== null && !accumulator.mustRewind) {
      this.#transactions.requireNewEpoch();
      this.#transactions.fail(
        new TaskMigratedError(
          `The broker's memory of sequences of ${topic}-${partition} does not fit: records of the transaction are missing`,
          { cause: queue[0]?.lastError, context: { topic, partition } },
        ),
      );
      return;
    }
    accumulator.mustRenew = true;
    for (const batch of queue) batch.unstamp();
    this.#context.logger.debug(
      { topic, partition, batches: queue.length },
      'sequences do not fit; going on under a new producer id',
    );
  }

  /** Whoever owns the records may let them go. `isUnwritten`: it is certain that no broker has them. */
  #giveUp(
    accumulator: PartitionAccumulator,
    batch: ProduceBatch,
    error: Error,
    isUnwritten: boolean,
  ): void {
    const { onUndelivered } = this.#options;
    const { topic, partition } = accumulator;
    const { recordCount } = batch;
    const records = (): Iterable<UndeliveredRecord> => undeliveredRecords(batch);
    const failure =
      onUndelivered === undefined
        ? error
        : onUndelivered({ topic, partition, error, recordCount, records });
    const transactions = this.#transactions;
    if (failure !== null && transactions === null) {
      this.#fail(batch, failure);
    } else if (transactions === null || (failure === null && isUnwritten)) {
      accumulator.mustRewind ||= batch.isStamped;
      this.#finish(batch, false);
    } else {
      this.#finish(batch, false);
      if (batch.isStamped) transactions.requireNewEpoch();
      const cause = failure ?? error;
      const isPassing = cause instanceof StreamsError && cause.retriable;
      if (cause instanceof UnsupportedVersionError) transactions.fence(cause);
      else transactions.fail(isPassing ? abortedError(cause) : cause, batch.transaction);
    }
  }

  /** A batch came back that is not sent again, because its transaction is over; it may be written yet. */
  #isAbandoned(batch: ProduceBatch): boolean {
    const transactions = this.#transactions;
    if (transactions === null || transactions.isUnderWay) return false;
    transactions.requireNewEpoch();
    this.#finish(batch, false);
    return true;
  }

  #fail(batch: ProduceBatch, error: Error): void {
    this.#failure ??= error;
    // Its bytes may still be in a socket's queue, so its memory is not used again.
    this.#finish(batch, false);
  }

  #finish(batch: ProduceBatch, isReusable: boolean): void {
    if (!this.#incomplete.delete(batch)) return;
    if (isReusable && batch.builder !== null) this.#pool.give(batch.builder);
    batch.builder = null;
    batch.bytes = null;
    this.#release(batch.bufferedBytes);
    for (const waiter of batch.waiters) if (--waiter.batchCount === 0) waiter.resolve();
  }

  #release(bytes: number): void {
    this.#bufferedBytes -= bytes;
    if (this.#isFull && this.#bufferedBytes <= this.#options.bufferBytes / 2) {
      this.#isFull = false;
      this.#options.onDrained();
    }
  }

  #failEverything(error: Error): void {
    for (const accumulator of this.#partitions.values()) {
      accumulator.open = null;
      accumulator.queue.length = 0;
      accumulator.mustRenew = true;
    }
    this.#open.clear();
    this.#ready.clear();
    for (const batch of this.#incomplete) this.#fail(batch, error);
  }
}

type ProducePartitionResponse = ProduceResponse['responses'][number]['partitionResponses'][number];

function retriableOnly(error: unknown): Error {
  if (error instanceof StreamsError && error.retriable) return error;
  throw error;
}
