import type { Logger } from 'pino';
import { errorByCode, errorCodes } from '@millrace/protocol';
import {
  InvariantError,
  ShutdownError,
  StreamsError,
  TaskCorruptedError,
  TaskMigratedError,
  TimeoutError,
} from '../../errors.ts';
import type { ErrorContext } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import { apiUses } from '../apis.ts';
import { Backoff } from '../backoff.ts';
import { brokerError } from '../broker-errors.ts';
import { Coordinator } from '../coordinator.ts';
import type { CoordinatorType } from '../coordinator.ts';
import { isAuthorizationError } from '../error-codes.ts';
import { AuthorizationError, BrokerError } from '../errors.ts';
import { byTopic } from '../group-offsets.ts';
import {
  CONCURRENT_TRANSACTIONS_BACKOFF_MAX_MS,
  CONCURRENT_TRANSACTIONS_BACKOFF_MIN_MS,
  FAILURES_BEFORE_WARNING,
} from '../limits.ts';
import { topicPartitionKey } from '../ports.ts';
import type { GroupMetadata, OffsetsToCommit, TopicPartition } from '../ports.ts';
import type { ProducerIdentity } from '../produce-batch.ts';
import type { Sleeper } from '../sleeper.ts';
import type { Transport } from '../transport.ts';
import { transactionVerdict } from './transaction-verdicts.ts';
import type {
  TransactionalProduceVerdict,
  TransactionRequest,
  TransactionVerdict,
} from './transaction-verdicts.ts';

export interface TransactionCallsOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly sleeper: Sleeper;
  readonly transactionalId: string;
  readonly transactionTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** A request may have its effect at any later time; not told of InitProducerId, which is safe to repeat. */
  readonly onUnanswered: () => void;
  /** A coordinator knows no such topic or partition, although the metadata has named a leader. */
  readonly onUnknownPartition: () => void;
}

/** Why a call ended without success. */
export type Refusal =
  | { readonly kind: 'abortable'; readonly error: Error; readonly needsNewEpoch: boolean }
  | { readonly kind: 'fatal'; readonly error: Error }
  /** The bound was reached. */
  | { readonly kind: 'late'; readonly error: TimeoutError }
  /** Nobody wants it any more. */
  | { readonly kind: 'stopped' };

export type CallOutcome<T> = { readonly kind: 'done'; readonly value: T } | Refusal;

/** How long a call may go on, and when it is pointless. */
export interface CallBound {
  /** Monotonic ms. */
  readonly deadline: number;
  /** Asked before each try. */
  readonly isStopped?: () => boolean;
  /** Nothing of this transaction has reached the coordinator: the one before may still be ending. */
  readonly isFirst?: boolean;
}

interface Call<T> extends CallBound {
  readonly request: TransactionRequest;
  readonly coordinator: Coordinator;
  /** What did not work, for errors. */
  readonly what: string;
  readonly context?: ErrorContext;
  readonly send: (nodeId: number, timeoutMs: number) => Promise<T>;
  readonly codeOf: (response: T) => number;
}

type FailedVerdict = Exclude<TransactionVerdict, 'done'>;

const findRequests = {
  transaction: 'findTransactionCoordinator',
  group: 'findGroupCoordinator',
} as const satisfies Record<CoordinatorType, TransactionRequest>;

/**
 * The requests of transactions to their coordinators. Each is tried again, until its bound, while
 * that may help; what came of it is a value, since most of it is no surprise.
 */
export class TransactionCalls {
  readonly #options: TransactionCallsOptions;
  readonly #coordinator: Coordinator;
  #group: { readonly id: string; readonly coordinator: Coordinator } | null = null;

  constructor(options: TransactionCallsOptions) {
    this.#options = options;
    const { transport, transactionalId, requestTimeoutMs } = options;
    this.#coordinator = new Coordinator(
      transport,
      'transaction',
      transactionalId,
      requestTimeoutMs,
    );
  }

  /** A new producer id or epoch, which fences whoever had the one before. `from`: the own one (KIP-360). */
  initProducerId(
    from: ProducerIdentity | null,
    bound: CallBound,
  ): Promise<CallOutcome<ProducerIdentity>> {
    const { transport, transactionalId, transactionTimeoutMs } = this.#options;
    return this.#call({
      ...bound,
      request: 'initProducerId',
      coordinator: this.#coordinator,
      what: `No producer id could be had for transactional id ${transactionalId} with transaction.timeout.ms ${transactionTimeoutMs}`,
      send: (nodeId, timeoutMs) =>
        transport.send(
          nodeId,
          apiUses.initTransactions,
          { transactionalId, transactionTimeoutMs, ...from },
          { timeoutMs },
        ),
      codeOf: ({ errorCode }) => errorCode,
    });
  }

  addPartitions(
    identity: ProducerIdentity,
    partitions: readonly TopicPartition[],
    bound: CallBound,
  ): Promise<CallOutcome<unknown>> {
    const { transport, transactionalId } = this.#options;
    const names = partitions.map(({ topic, partition }) => topicPartitionKey(topic, partition));
    return this.#call({
      ...bound,
      request: 'addPartitions',
      coordinator: this.#coordinator,
      what: `Partitions were not added to the transaction of ${transactionalId}: ${names.join(', ')}`,
      send: (nodeId, timeoutMs) =>
        transport.send(
          nodeId,
          apiUses.addPartitionsToTransaction,
          {
            v3AndBelowTransactionalId: transactionalId,
            v3AndBelowProducerId: identity.producerId,
            v3AndBelowProducerEpoch: identity.producerEpoch,
            v3AndBelowTopics: [...byTopic(partitions)].map(([name, ofTopic]) => ({
              name,
              partitions: ofTopic.map(({ partition }) => partition),
            })),
          },
          { timeoutMs },
        ),
      codeOf: ({ resultsByTopicV3AndBelow }) =>
        decisiveCode(
          'addPartitions',
          resultsByTopicV3AndBelow.flatMap(({ resultsByPartition }) =>
            resultsByPartition.map(({ partitionErrorCode }) => partitionErrorCode),
          ),
        ),
    });
  }

  addOffsets(
    identity: ProducerIdentity,
    { groupId }: GroupMetadata,
    bound: CallBound,
  ): Promise<CallOutcome<unknown>> {
    const { transport, transactionalId } = this.#options;
    return this.#call({
      ...bound,
      request: 'addOffsets',
      coordinator: this.#coordinator,
      what: `Offsets of group ${groupId} were not added to the transaction of ${transactionalId}`,
      context: { group: groupId },
      send: (nodeId, timeoutMs) =>
        transport.send(
          nodeId,
          apiUses.addOffsetsToTransaction,
          { transactionalId, ...identity, groupId },
          { timeoutMs },
        ),
      codeOf: ({ errorCode }) => errorCode,
    });
  }

  /** Partitions that were refused for a while are tried again alone. */
  commitOffsets(
    identity: ProducerIdentity,
    offsets: OffsetsToCommit,
    { groupId, generation, memberId, groupInstanceId }: GroupMetadata,
    bound: CallBound,
  ): Promise<CallOutcome<unknown>> {
    const { transport, transactionalId } = this.#options;
    const pending = new Map(offsets);
    return this.#call({
      ...bound,
      request: 'commitOffsets',
      coordinator: this.#groupCoordinator(groupId),
      what: `Offsets of member ${memberId} of group ${groupId} in generation ${generation} were not committed in the transaction of ${transactionalId}`,
      context: { group: groupId, member: memberId, generation },
      send: (nodeId, timeoutMs) =>
        transport.send(
          nodeId,
          apiUses.commitOffsetsInTransaction,
          {
            transactionalId,
            ...identity,
            groupId,
            generationIdOrMemberEpoch: generation,
            memberId,
            groupInstanceId,
            topics: [...byTopic(pending.values())].map(([name, ofTopic]) => ({
              name,
              partitions: ofTopic.map(({ partition, offset, metadata }) => ({
                partitionIndex: partition,
                committedOffset: offset,
                committedMetadata: metadata,
              })),
            })),
          },
          { timeoutMs },
        ),
      codeOf: ({ topics }) => {
        const codes: number[] = [];
        for (const { name, partitions } of topics) {
          for (const { partitionIndex, errorCode } of partitions) {
            codes.push(errorCode);
            if (errorCode !== errorCodes.NONE) continue;
            pending.delete(topicPartitionKey(name, partitionIndex));
          }
        }
        return decisiveCode('commitOffsets', codes);
      },
    });
  }

  /** `mayHaveEnded`: an abort that finds no open transaction is as good as done. */
  endTransaction(
    identity: ProducerIdentity,
    isCommit: boolean,
    mayHaveEnded: boolean,
    bound: CallBound,
  ): Promise<CallOutcome<unknown>> {
    const { transport, transactionalId } = this.#options;
    return this.#call({
      ...bound,
      request: isCommit ? 'endWithCommit' : 'endWithAbort',
      coordinator: this.#coordinator,
      what: `The transaction of ${transactionalId} was not ${isCommit ? 'committed' : 'aborted'}`,
      send: (nodeId, timeoutMs) =>
        transport.send(
          nodeId,
          apiUses.endTransaction,
          { transactionalId, ...identity, committed: isCommit },
          { timeoutMs },
        ),
      codeOf: ({ errorCode }) =>
        mayHaveEnded && errorCode === errorCodes.INVALID_TXN_STATE ? errorCodes.NONE : errorCode,
    });
  }

  #groupCoordinator(id: string): Coordinator {
    if (this.#group?.id === id) return this.#group.coordinator;
    const { transport, requestTimeoutMs } = this.#options;
    const coordinator = new Coordinator(transport, 'group', id, requestTimeoutMs);
    this.#group = { id, coordinator };
    return coordinator;
  }

  async #call<T>(call: Call<T>): Promise<CallOutcome<T>> {
    const { clock, random, logger, sleeper, requestTimeoutMs } = this.#options;
    const { request, coordinator, what, deadline, send, codeOf, isStopped } = call;
    const backoff = new Backoff(random);
    const shortBackoff = new Backoff(
      random,
      CONCURRENT_TRANSACTIONS_BACKOFF_MIN_MS,
      CONCURRENT_TRANSACTIONS_BACKOFF_MAX_MS,
    );
    let lastError: Error | null = null;
    for (;;) {
      const leftMs = deadline - clock.monotonicMs();
      if (leftMs <= 0) return late(what, lastError);
      if (isStopped?.() === true) return { kind: 'stopped' };
      let verdict: FailedVerdict;
      try {
        const nodeId = coordinator.nodeId ?? (await this.#find(coordinator, leftMs));
        const response = await this.#answered(
          request,
          send(nodeId, Math.min(requestTimeoutMs, leftMs)),
        );
        const code = codeOf(response);
        const found = transactionVerdict(request, code);
        if (found === 'done') return { kind: 'done', value: response };
        verdict = found;
        if (code === errorCodes.UNKNOWN_TOPIC_OR_PARTITION) this.#options.onUnknownPartition();
        const details = { transactionalId: this.#options.transactionalId, ...call.context };
        lastError = transactionError(verdict, code, what, details);
      } catch (error) {
        if (error instanceof ShutdownError) throw error;
        verdict = this.#verdictOfFailure(error, coordinator.type);
        lastError = this.#errorForFailure(error, verdict);
      }
      switch (verdict) {
        case 'retry':
        case 'concurrent':
          break;
        case 'moved':
          coordinator.forget();
          break;
        case 'abortable':
        case 'migrated':
          return { kind: 'abortable', error: lastError, needsNewEpoch: false };
        case 'newEpoch':
          return { kind: 'abortable', error: lastError, needsNewEpoch: true };
        case 'fenced':
        case 'fatal':
          return { kind: 'fatal', error: lastError };
      }
      const isShort = verdict === 'concurrent' && call.isFirst === true;
      const waitMs = isShort ? shortBackoff.next() : backoff.next();
      const isOutage = backoff.failureCount === FAILURES_BEFORE_WARNING;
      logger[isOutage ? 'warn' : 'debug']({ err: lastError, request }, `${what}; trying again`);
      await sleeper.sleep(Math.min(waitMs, Math.max(0, deadline - clock.monotonicMs())));
    }
  }

  #find(coordinator: Coordinator, leftMs: number): Promise<number> {
    const late = (): Error => new TimeoutError('The coordinator was not found in time');
    return this.#options.sleeper.within(leftMs, coordinator.find(), late);
  }

  async #answered<T>(request: TransactionRequest, response: Promise<T>): Promise<T> {
    try {
      return await response;
    } catch (error) {
      if (request !== 'initProducerId') this.#options.onUnanswered();
      throw error;
    }
  }

  /** There was no answer of the coordinator. */
  #verdictOfFailure(error: unknown, type: CoordinatorType): FailedVerdict {
    if (error instanceof BrokerError) {
      const verdict = transactionVerdict(findRequests[type], error.kafkaCode);
      return verdict === 'done' ? 'fatal' : verdict;
    }
    if (error instanceof AuthorizationError) return type === 'group' ? 'abortable' : 'fatal';
    return error instanceof StreamsError && error.retriable ? 'moved' : 'fatal';
  }

  #errorForFailure(error: unknown, verdict: TransactionVerdict): Error {
    if (!(error instanceof StreamsError))
      return new InvariantError(String(error), { cause: error });
    return verdict === 'abortable' && !(error instanceof AuthorizationError)
      ? abortedError(error)
      : error;
  }
}

/** The error for a code that a broker answered with. `details` name the transactional id. */
export function transactionError(
  verdict: TransactionVerdict | TransactionalProduceVerdict,
  code: number,
  what: string,
  details: ErrorContext,
): StreamsError {
  const text = `${what}: ${errorByCode(code).name} (${code})`;
  switch (verdict) {
    case 'fenced':
      return new TaskMigratedError(
        `${text}. Another producer has the transactional id by now, or the transaction was open for longer than transaction.timeout.ms`,
        { context: details },
      );
    case 'migrated':
      return new TaskMigratedError(text, { context: details });
    case 'abortable':
    case 'newEpoch': {
      const error = brokerError(code, what, details);
      return isAuthorizationError(code) ? error : abortedError(error);
    }
    default:
      return brokerError(code, what, details, 'thread');
  }
}

/** What an error means that costs the transaction, and nothing else. */
export function abortedError(cause: StreamsError): TaskCorruptedError {
  return new TaskCorruptedError(
    `${cause.message}. The transaction cannot be committed: what was processed since the last commit is processed again`,
    { cause, context: cause.context },
  );
}

function late(what: string, lastError: Error | null): Refusal {
  const why = lastError === null ? 'there was no time for it' : lastError.message;
  const error = new TimeoutError(`${what} within max.block.ms: ${why}`, {
    cause: lastError ?? undefined,
  });
  return { kind: 'late', error };
}

/**
 * Of one answer's codes the one to act on: what is worth another try, or ends everything, before what
 * only ends the transaction; and the reason before OPERATION_NOT_ATTEMPTED, which is its consequence.
 */
function decisiveCode(request: TransactionRequest, codes: readonly number[]): number {
  let decisive: number = errorCodes.NONE;
  for (const code of codes) {
    if (code === errorCodes.NONE) continue;
    if (transactionVerdict(request, code) !== 'abortable') return code;
    if (decisive === errorCodes.NONE || decisive === errorCodes.OPERATION_NOT_ATTEMPTED) {
      decisive = code;
    }
  }
  return decisive;
}
