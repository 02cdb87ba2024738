import type { Logger } from 'pino';
import { errorCodes, ZERO_UUID } from '@millrace/protocol';
import type { MetadataRequest, MetadataResponse } from '@millrace/protocol';
import { InvariantError, ShutdownError, StreamsError } from '../errors.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff } from './backoff.ts';
import { FAILURES_BEFORE_WARNING, METADATA_MAX_AGE_MS, RETRY_BACKOFF_MIN_MS } from './limits.ts';
import { ANY_NODE } from './transport.ts';
import type { RequestBody, Transport } from './transport.ts';

export interface PartitionMetadata {
  /** Node id; -1: there is none now. */
  readonly leader: number;
  /** -1 when the broker does not tell. */
  readonly leaderEpoch: number;
}

export interface TopicMetadata {
  readonly topicId: string;
  /** By partition number. */
  readonly partitions: readonly PartitionMetadata[];
}

export interface MetadataOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly requestTimeoutMs: number;
  /** Whether asking for a missing topic may create it, if the broker's auto.create.topics.enable says so too. */
  readonly allowAutoTopicCreation: boolean;
  /** The application's own, which asking never creates. */
  readonly internalTopics?: ReadonlySet<string> | undefined;
  /** After each answer. */
  readonly onUpdate: () => void;
  /** No retry will help (authentication, versions). */
  readonly onFatal: (error: Error) => void;
}

const noLeader: PartitionMetadata = { leader: -1, leaderEpoch: -1 };

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

/**
 * Leaders and partition counts of the topics that one client part works with. Topics are judged one
 * by one: a missing or forbidden topic takes nothing from the others.
 */
export class Metadata {
  readonly #options: MetadataOptions;
  readonly #tracked = new Set<string>();
  readonly #topics = new Map<string, TopicMetadata>();
  readonly #errors = new Map<string, number>();
  /** What each topic was when it was first seen. */
  readonly #firstIds = new Map<string, string>();
  readonly #replaced = new Set<string>();
  /** Monotonic ms since when brokers have not known a topic. */
  readonly #missingSince = new Map<string, number>();
  readonly #backoff: Backoff;
  #waiters: Waiter[] = [];
  #timer: Timer | null = null;
  #refreshing: 'no' | 'yes' | 'yes, and again' = 'no';
  #refreshedAt = -Infinity;
  #isClosed = false;
  /** Counts answers, so that others may cache what they took from here. */
  version = 0;
  controllerId = -1;

  constructor(options: MetadataOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.random);
  }

  /** Adds topics; asks for them at once if one is new. */
  track(topics: Iterable<string>): void {
    let isNew = false;
    for (const topic of topics) {
      if (this.#tracked.has(topic)) continue;
      this.#tracked.add(topic);
      isNew = true;
    }
    if (isNew) this.#request(0);
  }

  untrack(topic: string): void {
    this.#tracked.delete(topic);
    this.#topics.delete(topic);
    this.#errors.delete(topic);
    this.#firstIds.delete(topic);
    this.#replaced.delete(topic);
    this.#missingSince.delete(topic);
  }

  topic(name: string): TopicMetadata | undefined {
    return this.#topics.get(name);
  }

  /** Kafka's code for the topic in the last answer; 0 also while there was none. */
  topicError(name: string): number {
    return this.#errors.get(name) ?? errorCodes.NONE;
  }

  /** Whether the topic of this name is another one than at first. */
  isReplaced(name: string): boolean {
    return this.#replaced.has(name);
  }

  /** For how long brokers have said that there is no such topic, ms; 0 if they know it. */
  missingForMs(name: string, nowMs: number): number {
    const since = this.#missingSince.get(name);
    return since === undefined ? 0 : nowMs - since;
  }

  /** Undefined while no leader is known. */
  leader(topic: string, partition: number): PartitionMetadata | undefined {
    const found = this.#topics.get(topic)?.partitions[partition];
    return found === undefined || found.leader < 0 ? undefined : found;
  }

  /** Something was found stale: asks soon, not more often than the retry backoff. */
  requestUpdate(): void {
    const sinceMs = this.#options.clock.monotonicMs() - this.#refreshedAt;
    this.#request(Math.max(0, RETRY_BACKOFF_MIN_MS - sinceMs));
  }

  refreshIfOld(): void {
    if (this.#options.clock.monotonicMs() - this.#refreshedAt > METADATA_MAX_AGE_MS) {
      this.requestUpdate();
    }
  }

  /** Resolves after an answer to a request that starts from now on; rejects when that one fails. */
  update(): Promise<void> {
    if (this.#isClosed) return Promise.reject(new ShutdownError('The client is closed'));
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.requestUpdate();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#settle(this.#waiters.splice(0), new ShutdownError('The client is closed'));
  }

  #request(delayMs: number): void {
    if (this.#isClosed) return;
    if (this.#refreshing !== 'no') {
      this.#refreshing = 'yes, and again';
      return;
    }
    if (this.#timer !== null) {
      if (delayMs > 0) return;
      this.#timer.cancel();
    }
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      this.#timer = null;
      void this.#refresh();
    });
  }

  async #refresh(): Promise<void> {
    const { transport, logger, requestTimeoutMs } = this.#options;
    this.#refreshing = 'yes';
    const waiters = this.#waiters.splice(0);
    let failure: Error | null = null;
    try {
      for (const request of this.#requests()) {
        const options = { timeoutMs: requestTimeoutMs };
        this.#apply(await transport.send(ANY_NODE, apiUses.metadata, request, options));
      }
      this.#backoff.reset();
    } catch (error) {
      failure = error instanceof Error ? error : new InvariantError(String(error));
    }
    const isWantedAgain = this.#wasAskedAgain();
    this.#refreshing = 'no';
    this.#refreshedAt = this.#options.clock.monotonicMs();
    if (this.#isClosed) {
      this.#settle(waiters, new ShutdownError('The client is closed'));
      return;
    }
    this.#settle(waiters, failure);
    if (failure === null) {
      this.version++;
      this.#options.onUpdate();
      if (isWantedAgain || this.#waiters.length > 0) this.#request(RETRY_BACKOFF_MIN_MS);
    } else if (failure instanceof StreamsError && !failure.retriable) {
      this.#options.onFatal(failure);
    } else {
      const waitMs = this.#backoff.next();
      const isOutage = this.#backoff.failureCount === FAILURES_BEFORE_WARNING;
      logger[isOutage ? 'warn' : 'debug'](
        { err: failure, failureCount: this.#backoff.failureCount },
        'no metadata from any broker; trying again',
      );
      this.#request(waitMs);
    }
  }

  /**
   * Two, if some topics may be created and others not. A topic that was there at the last look needs no
   * leave: it would be created anew, empty, if it was deleted just now, and nobody would hear of it.
   */
  #requests(): RequestBody<MetadataRequest>[] {
    const { allowAutoTopicCreation, internalTopics } = this.#options;
    const mayBeCreated = (name: string): boolean =>
      allowAutoTopicCreation && !this.#topics.has(name) && internalTopics?.has(name) !== true;
    const known: { name: string }[] = [];
    const created: { name: string }[] = [];
    for (const name of this.#tracked) (mayBeCreated(name) ? created : known).push({ name });
    const requests: RequestBody<MetadataRequest>[] = [];
    if (known.length > 0 || created.length === 0) {
      requests.push({ topics: known, allowAutoTopicCreation: false });
    }
    if (created.length > 0) requests.push({ topics: created, allowAutoTopicCreation: true });
    return requests;
  }

  /** Somebody asked while the answer was awaited. */
  #wasAskedAgain(): boolean {
    return this.#refreshing === 'yes, and again';
  }

  #settle(waiters: readonly Waiter[], failure: Error | null): void {
    for (const waiter of waiters) {
      if (failure === null) waiter.resolve();
      else waiter.reject(failure);
    }
  }

  #apply(response: MetadataResponse): void {
    this.#options.transport.setNodes(response.brokers);
    this.controllerId = response.controllerId;
    for (const topic of response.topics) {
      const { name, errorCode } = topic;
      if (name === null || !this.#tracked.has(name)) continue;
      this.#errors.set(name, errorCode);
      if (topic.partitions.length > 0) {
        this.#topics.set(name, merge(this.#topics.get(name), topic));
        this.#missingSince.delete(name);
        this.#compareId(name, topic.topicId);
      } else if (errorCode === errorCodes.UNKNOWN_TOPIC_OR_PARTITION) {
        this.#topics.delete(name);
        if (!this.#missingSince.has(name)) {
          this.#missingSince.set(name, this.#options.clock.monotonicMs());
        }
      }
    }
  }

  #compareId(name: string, topicId: string): void {
    // Brokers before 2.8 have none.
    if (topicId === ZERO_UUID) return;
    const first = this.#firstIds.get(name);
    if (first === undefined) this.#firstIds.set(name, topicId);
    else if (first !== topicId) this.#replaced.add(name);
  }
}

/** A broker that lags behind may tell an older leader: the higher leader epoch is kept (KIP-320). */
function merge(
  known: TopicMetadata | undefined,
  topic: MetadataResponse['topics'][number],
): TopicMetadata {
  const isSameTopic = known !== undefined && known.topicId === topic.topicId;
  const partitions = topic.partitions.map(() => noLeader);
  for (const { partitionIndex, leaderId, leaderEpoch } of topic.partitions) {
    if (partitionIndex < 0 || partitionIndex >= partitions.length) continue;
    const before = isSameTopic ? known.partitions[partitionIndex] : undefined;
    partitions[partitionIndex] =
      before !== undefined && before.leaderEpoch > leaderEpoch && leaderEpoch >= 0
        ? before
        : { leader: leaderId, leaderEpoch };
  }
  return { topicId: topic.topicId, partitions };
}
