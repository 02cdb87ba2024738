import type { Logger } from 'pino';
import { errorCodes } from '@millrace/protocol';
import type { FetchResponse } from '@millrace/protocol';
import { InvariantError, StreamsError } from '../errors.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { apiUses } from './apis.ts';
import { Backoff, backoffMs } from './backoff.ts';
import { brokerError, topicOf } from './broker-errors.ts';
import { isLeadershipError } from './error-codes.ts';
import { CorruptFetchError, MissingTopicError, OffsetOutOfRangeError } from './errors.ts';
import { FetchPartition } from './fetch-partition.ts';
import { FetchWatchdog } from './fetch-watchdog.ts';
import { unpinned, wholeBatches } from './fetched-records.ts';
import {
  FAILURES_BEFORE_WARNING,
  FETCHED_BATCH_BYTES_MAX,
  FETCH_WITH_PAUSED_MAX_WAIT_MS,
  MISSING_TOPIC_GRACE_MS,
  OUTAGE_WARNING_INTERVAL_MS,
  SIDE_FETCH_MAX_WAIT_MS,
} from './limits.ts';
import {
  EARLIEST_TIMESTAMP,
  LATEST_TIMESTAMP,
  isolationLevels,
  listOffsets,
} from './list-offsets.ts';
import type { OffsetQuery } from './list-offsets.ts';
import { lostTopicError } from './lost-topic.ts';
import { Metadata } from './metadata.ts';
import { topicPartitionKey } from './ports.ts';
import type {
  FetchPort,
  FetchedPartition,
  FetcherOptions,
  IsolationLevel,
  TopicPartition,
  TopicPartitionKey,
} from './ports.ts';
import { SharedMemory } from './response-memory.ts';
import { Sleeper } from './sleeper.ts';
import type { Transport } from './transport.ts';

export interface FetcherContext {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly requestTimeoutMs: number;
}

/** What goes on with one broker. */
interface NodeFetches {
  readonly nodeId: number;
  readonly backoff: Backoff;
  /** The parked fetch, over all partitions that can be fetched. */
  isMainInFlight: boolean;
  /** A short fetch beside it, by the other connection, for partitions that came or were resumed later. */
  isSideInFlight: boolean;
  retryAt: number;
}

/** What one pass found for a broker. */
interface NodeWork {
  readonly ready: FetchPartition[];
  hasPaused: boolean;
  hasUndrained: boolean;
}

interface Arrived {
  readonly owner: FetchPartition;
  readonly fetched: FetchedPartition;
}

type PartitionAnswer = FetchResponse['responses'][number]['partitions'][number];

const noRecords = Buffer.alloc(0);

/**
 * Fetches raw batches, one fetch under way per broker, the next one only after the last was drained:
 * what is buffered here is never more than one response per broker.
 *
 * A partition that is assigned or resumed while a fetch is parked goes into a second, short fetch by
 * the other connection to that broker, so it waits for nothing; as soon as the parked one has come
 * back, both go together again.
 */
export class Fetcher implements FetchPort {
  readonly #context: FetcherContext;
  readonly #options: FetcherOptions;
  readonly #metadata: Metadata;
  readonly #sleeper: Sleeper;
  /** Questions for offsets that are not answered yet. */
  readonly #listing = new Set<readonly OffsetQuery[]>();
  /** In the order in which brokers are asked: who got data goes to the end. */
  readonly #partitions = new Map<TopicPartitionKey, FetchPartition>();
  readonly #nodes = new Map<number, NodeFetches>();
  readonly #watchdog: FetchWatchdog;
  #arrived: Arrived[] = [];
  #maxPartitionBytes: number;
  #timer: Timer | null = null;
  #isKicked = false;
  #warnedAt = -Infinity;
  #isClosed = false;

  constructor(context: FetcherContext, options: FetcherOptions) {
    this.#context = context;
    this.#options = options;
    this.#maxPartitionBytes = options.maxPartitionBytes;
    this.#sleeper = new Sleeper(context.clock);
    this.#watchdog = new FetchWatchdog({
      clock: context.clock,
      partitions: this.#partitions,
      longestFetchMs: context.requestTimeoutMs + options.maxWaitMs,
      onStalled: (state, forMs) => {
        this.#fetchAnew(state, forMs);
      },
    });
    this.#metadata = new Metadata({
      ...context,
      allowAutoTopicCreation: false,
      onUpdate: () => {
        this.#kick();
      },
      onFatal: (error) => {
        this.#failAll([...this.#partitions.values()], error);
      },
    });
  }

  assign(positions: readonly (TopicPartition & { readonly offset: bigint })[]): void {
    const now = this.#context.clock.monotonicMs();
    for (const { topic, partition, offset } of positions) {
      const key = topicPartitionKey(topic, partition);
      const isPaused = this.#partitions.get(key)?.isPaused ?? false;
      const state = new FetchPartition(key, topic, partition, offset, isPaused, now);
      this.#partitions.set(key, state);
    }
    this.#metadata.track(positions.map(topicOf));
    this.#watchdog.watch();
    this.#kick();
  }

  unassign(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) {
      this.#partitions.delete(topicPartitionKey(topic, partition));
    }
    this.#untrackUnused(partitions);
    this.#kick();
  }

  pause(topic: string, partition: number): void {
    this.#find(topic, partition).isPaused = true;
  }

  resume(topic: string, partition: number): void {
    const found = this.#find(topic, partition);
    if (!found.isPaused) return;
    found.isPaused = false;
    found.attendedAt = this.#context.clock.monotonicMs();
    this.#kick();
  }

  limitPartitions(maxBytes: number): void {
    this.#maxPartitionBytes = Math.min(maxBytes, this.#options.maxPartitionBytes);
  }

  drain(): FetchedPartition[] {
    if (this.#arrived.length === 0) return [];
    const drained: FetchedPartition[] = [];
    const now = this.#context.clock.monotonicMs();
    for (const { owner, fetched } of this.#arrived) {
      owner.isUndrained = false;
      owner.attendedAt = now;
      if (this.#partitions.get(owner.key) !== owner) continue;
      if (fetched.error === null) owner.position = fetched.nextOffset;
      drained.push(fetched);
    }
    this.#arrived = [];
    this.#kick();
    return drained;
  }

  position(topic: string, partition: number): bigint {
    return this.#find(topic, partition).position;
  }

  beginningOffsets(
    partitions: readonly TopicPartition[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
    const queries = partitions.map((each) => ({ ...each, timestamp: EARLIEST_TIMESTAMP }));
    return this.#listOffsets(queries, 'read_uncommitted');
  }

  endOffsets(
    partitions: readonly TopicPartition[],
    isolationLevel: IsolationLevel,
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
    const queries = partitions.map((each) => ({ ...each, timestamp: LATEST_TIMESTAMP }));
    return this.#listOffsets(queries, isolationLevel);
  }

  async offsetsForTimestamps(
    partitions: readonly (TopicPartition & { readonly timestampMs: number })[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
    const queries = partitions.map(({ topic, partition, timestampMs }) => ({
      topic,
      partition,
      timestamp: BigInt(timestampMs),
    }));
    const offsets = await this.#listOffsets(queries, this.#options.isolationLevel);
    for (const [key, offset] of offsets) if (offset < 0n) offsets.delete(key);
    return offsets;
  }

  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#watchdog.close();
    this.#partitions.clear();
    this.#arrived = [];
    this.#metadata.close();
    this.#sleeper.close();
    await this.#context.transport.close(timeoutMs);
  }

  #find(topic: string, partition: number): FetchPartition {
    const found = this.#partitions.get(topicPartitionKey(topic, partition));
    if (found === undefined) {
      throw new InvariantError(`${topic}-${partition} is not assigned to this fetcher`, {
        context: { topic, partition },
      });
    }
    return found;
  }

  async #listOffsets(
    queries: readonly OffsetQuery[],
    isolationLevel: IsolationLevel,
  ): Promise<Map<TopicPartitionKey, bigint>> {
    const context = { ...this.#context, metadata: this.#metadata, sleeper: this.#sleeper };
    this.#listing.add(queries);
    try {
      return await listOffsets(context, queries, isolationLevel);
    } finally {
      this.#listing.delete(queries);
      this.#untrackUnused(queries);
    }
  }

  /** A topic is also in use while somebody asks for its offsets: one partition may be done before another. */
  #untrackUnused(partitions: readonly TopicPartition[]): void {
    const inUse = new Set([...this.#partitions.values()].map(topicOf));
    for (const queries of this.#listing) for (const { topic } of queries) inUse.add(topic);
    for (const { topic } of partitions) {
      if (!inUse.has(topic)) this.#metadata.untrack(topic);
    }
  }

  /** Several changes of one turn make one pass. */
  #kick(): void {
    if (this.#isKicked || this.#isClosed) return;
    this.#isKicked = true;
    queueMicrotask(() => {
      this.#isKicked = false;
      this.#pass();
    });
  }

  /** Looks at all partitions and sends whatever can be sent now. */
  #pass(): void {
    if (this.#isClosed) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#metadata.refreshIfOld();
    const now = this.#context.clock.monotonicMs();
    const works = new Map<number, NodeWork>();
    let wakeAt = Infinity;

    for (const state of this.#partitions.values()) {
      if (state.isHalted) continue;
      this.#lookUpLeader(state);
      if (state.leader < 0) {
        state.attendedAt = now;
        wakeAt = Math.min(wakeAt, this.#checkMissing(state, now));
        continue;
      }
      let work = works.get(state.leader);
      if (work === undefined) {
        work = { ready: [], hasPaused: false, hasUndrained: false };
        works.set(state.leader, work);
      }
      if (state.isUndrained) work.hasUndrained = true;
      else if (state.isPaused) work.hasPaused = true;
      else if (state.isInFlight) continue;
      else if (state.retryAt > now) wakeAt = Math.min(wakeAt, state.retryAt);
      else work.ready.push(state);
    }

    for (const [nodeId, work] of works) {
      const node = this.#node(nodeId);
      if (work.ready.length === 0) continue;
      if (node.retryAt > now) {
        wakeAt = Math.min(wakeAt, node.retryAt);
      } else if (node.isMainInFlight) {
        if (!node.isSideInFlight) void this.#fetch(node, work, 'side');
      } else if (!node.isSideInFlight && !work.hasUndrained) {
        void this.#fetch(node, work, 'main');
      }
    }

    if (wakeAt < Infinity) {
      this.#timer = this.#context.clock.setTimer(Math.max(1, wakeAt - now), () => {
        this.#timer = null;
        this.#pass();
      });
    }
  }

  #lookUpLeader(state: FetchPartition): void {
    if (state.metadataVersion === this.#metadata.version) return;
    state.metadataVersion = this.#metadata.version;
    const isLost = this.#isInternal(state) && this.#metadata.isReplaced(state.topic);
    const found = isLost ? undefined : this.#metadata.leader(state.topic, state.partition);
    state.leader = found?.leader ?? -1;
    state.leaderEpoch = found?.leaderEpoch ?? -1;
  }

  #isInternal({ topic }: FetchPartition): boolean {
    return this.#options.internalTopics?.has(topic) === true;
  }

  /** A partition without a leader: asks again; gives up on one that no broker has known for long. Returns when to look again. */
  #checkMissing(state: FetchPartition, now: number): number {
    if (this.#metadata.version === 0) return Infinity;
    const lost = this.#isInternal(state) ? lostTopicError(this.#metadata, state.topic, now) : null;
    if (lost !== null) {
      this.#halt(state, lost);
      this.#options.onReady();
      return Infinity;
    }
    this.#metadata.requestUpdate();
    const known = this.#metadata.topic(state.topic);
    if (known !== undefined && state.partition < known.partitions.length) return Infinity;
    const code = this.#metadata.topicError(state.topic);
    if (code !== errorCodes.NONE && !brokerError(code, '', {}).retriable) {
      const { topic, partition } = state;
      const text = `${topic}-${partition} cannot be fetched`;
      this.#halt(state, brokerError(code, text, { topic, partition }));
      this.#options.onReady();
      return Infinity;
    }
    return this.#haltIfMissing(state, now);
  }

  #haltIfMissing(state: FetchPartition, now: number): number {
    if (state.missingSince < 0) state.missingSince = now;
    const givenUpAt = state.missingSince + MISSING_TOPIC_GRACE_MS;
    if (now < givenUpAt) return givenUpAt;
    const { topic, partition } = state;
    this.#halt(
      state,
      new MissingTopicError(
        `No broker has known ${topic}-${partition} for ${MISSING_TOPIC_GRACE_MS} ms; was the topic deleted?`,
        { context: { topic, partition } },
      ),
    );
    this.#options.onReady();
    return Infinity;
  }

  #node(nodeId: number): NodeFetches {
    let node = this.#nodes.get(nodeId);
    if (node === undefined) {
      node = {
        nodeId,
        backoff: new Backoff(this.#context.random),
        isMainInFlight: false,
        isSideInFlight: false,
        retryAt: -Infinity,
      };
      this.#nodes.set(nodeId, node);
    }
    return node;
  }

  async #fetch(node: NodeFetches, work: NodeWork, kind: 'main' | 'side'): Promise<void> {
    const { ready } = work;
    const { clock, transport, requestTimeoutMs } = this.#context;
    const isMain = kind === 'main';
    const maxWaitMs = isMain
      ? work.hasPaused
        ? Math.min(this.#options.maxWaitMs, FETCH_WITH_PAUSED_MAX_WAIT_MS)
        : this.#options.maxWaitMs
      : Math.min(this.#options.maxWaitMs, SIDE_FETCH_MAX_WAIT_MS);
    if (isMain) node.isMainInFlight = true;
    else node.isSideInFlight = true;
    for (const state of ready) state.isInFlight = true;
    try {
      const response = await transport.send(
        node.nodeId,
        apiUses.fetch,
        {
          replicaId: -1,
          maxWaitMs,
          minBytes: this.#options.minBytes,
          maxBytes: this.#options.maxBytes,
          isolationLevel: isolationLevels[this.#options.isolationLevel],
          topics: requestTopics(ready, this.#maxPartitionBytes),
        },
        { timeoutMs: requestTimeoutMs + maxWaitMs, lane: isMain ? 'parked' : 'main' },
      );
      node.backoff.reset();
      this.#done(node, isMain, ready);
      this.#take(response, ready);
    } catch (error) {
      this.#done(node, isMain, ready);
      if (this.#isClosed) return;
      if (error instanceof StreamsError && error.retriable) {
        const now = clock.monotonicMs();
        for (const state of ready) state.attendedAt = now;
        node.retryAt = now + node.backoff.next();
        const isOutage = node.backoff.failureCount === FAILURES_BEFORE_WARNING;
        this.#context.logger[isOutage ? 'warn' : 'debug'](
          { err: error, node: node.nodeId, failureCount: node.backoff.failureCount },
          'fetch failed; trying again',
        );
        this.#metadata.requestUpdate();
      } else {
        this.#failAll(ready, error instanceof Error ? error : new InvariantError(String(error)));
      }
    }
    this.#kick();
  }

  #done(node: NodeFetches, isMain: boolean, ready: readonly FetchPartition[]): void {
    if (isMain) node.isMainInFlight = false;
    else node.isSideInFlight = false;
    for (const state of ready) state.isInFlight = false;
  }

  #take(response: FetchResponse, requested: readonly FetchPartition[]): void {
    const arrivedBefore = this.#arrived.length;
    if (response.errorCode !== errorCodes.NONE) {
      const now = this.#context.clock.monotonicMs();
      for (const state of requested) this.#retryLater(state, response.errorCode, now);
      return;
    }
    const asked = new Map(requested.map((state) => [state.key, state]));
    const memory = this.#memoryOf(response);
    for (const { topic, partitions } of response.responses) {
      for (const answer of partitions) {
        const key = topicPartitionKey(topic, answer.partitionIndex);
        const state = asked.get(key);
        if (state === undefined || this.#partitions.get(key) !== state) continue;
        this.#takePartition(state, answer, memory);
      }
    }
    this.#takeEnds(response, asked);
    if (this.#arrived.length > arrivedBefore) this.#options.onReady();
  }

  /**
   * What partitions without records tell by their end. How far one is behind must be known before
   * others go on without it (KIP-695), so the first answer is handed over, whatever it says.
   *
   * Compaction may leave nothing between a position and the end of the log. A response without any
   * record, which no size limit can have emptied, says so: the position moves to the end. In any other
   * one there was no room for what the partition has, and whoever took it for caught up must know.
   */
  #takeEnds(response: FetchResponse, asked: ReadonlyMap<string, FetchPartition>): void {
    const hasNone = isWithoutRecords(response);
    const now = this.#context.clock.monotonicMs();
    for (const { topic, partitions } of response.responses) {
      for (const answer of partitions) {
        const key = topicPartitionKey(topic, answer.partitionIndex);
        const state = asked.get(key);
        if (state === undefined || this.#partitions.get(key) !== state) continue;
        if (state.isUndrained || answer.errorCode !== errorCodes.NONE) continue;
        const end = this.#endOf(answer);
        if (end < 0n) continue;
        const isBehind = end > state.fetchOffset;
        if (!isBehind) state.attendedAt = now;
        if (isBehind && hasNone) this.#arrive(state, answer, noRecords, end);
        else if (isBehind ? state.toldEnd <= state.fetchOffset : state.toldEnd < 0n) {
          this.#arrive(state, answer, noRecords, state.fetchOffset);
        }
      }
    }
  }

  /** All of its records lie in one piece of memory; null if there are none. */
  #memoryOf(response: FetchResponse): SharedMemory | null {
    for (const { partitions } of response.responses) {
      for (const { records } of partitions) {
        if (records === null || records.length === 0) continue;
        return new SharedMemory(records.buffer, (memory) => {
          this.#context.transport.recycle(memory);
        });
      }
    }
    return null;
  }

  #endOf(answer: PartitionAnswer): bigint {
    return this.#options.isolationLevel === 'read_committed'
      ? answer.lastStableOffset
      : answer.highWatermark;
  }

  #arrive(
    state: FetchPartition,
    answer: PartitionAnswer,
    records: Buffer,
    nextOffset: bigint,
    memory: SharedMemory | null = null,
  ): void {
    state.fetchOffset = nextOffset;
    state.toldEnd = this.#endOf(answer);
    state.isUndrained = true;
    this.#arrived.push({
      owner: state,
      fetched: {
        topic: state.topic,
        partition: state.partition,
        records,
        abortedTransactions: sortedByFirstOffset(answer.abortedTransactions),
        highWatermark: answer.highWatermark,
        lastStableOffset: answer.lastStableOffset,
        logStartOffset: answer.logStartOffset,
        nextOffset,
        memory,
        error: null,
      },
    });
  }

  #takePartition(
    state: FetchPartition,
    answer: PartitionAnswer,
    memory: SharedMemory | null,
  ): void {
    const { topic, partition } = state;
    const { errorCode } = answer;
    if (errorCode !== errorCodes.NONE) {
      const now = this.#context.clock.monotonicMs();
      if (errorCode === errorCodes.OFFSET_OUT_OF_RANGE) {
        if (this.#mayBeReplaced(state)) this.#retryLater(state, errorCode, now);
        else this.#halt(state, outOfRange(state));
      } else if (isLeadershipError(errorCode) || isWorthRetrying(errorCode)) {
        this.#retryLater(state, errorCode, now);
        if (errorCode !== errorCodes.UNKNOWN_TOPIC_OR_PARTITION) state.missingSince = -1;
        else this.#haltIfMissing(state, now);
      } else {
        const text = `${topic}-${partition} cannot be fetched at offset ${state.fetchOffset}`;
        const context = { topic, partition, offset: state.fetchOffset };
        this.#halt(state, brokerError(errorCode, text, context));
      }
      return;
    }
    state.missingSince = -1;
    if (answer.records === null || answer.records.length === 0) {
      state.failureCount = 0;
      return;
    }
    let whole;
    try {
      whole = wholeBatches(answer.records, state.fetchOffset);
    } catch (error) {
      this.#halt(state, unreadable(state, error));
      return;
    }
    if (whole.records.length === 0) {
      // The broker cut the first batch, which it may do when another partition came first: ask for
      // all of it, and stay ahead of those that got data.
      const neededBytes = Math.min(whole.cutBatchBytes, FETCHED_BATCH_BYTES_MAX);
      const askedBytes = Math.max(state.cutBatchBytes, this.#maxPartitionBytes);
      if (neededBytes > askedBytes) state.cutBatchBytes = neededBytes;
      else this.#retryLater(state, errorCodes.NONE, this.#context.clock.monotonicMs());
      return;
    }
    state.failureCount = 0;
    state.cutBatchBytes = 0;
    this.#partitions.delete(state.key);
    this.#partitions.set(state.key, state);
    const records = unpinned(whole.records);
    const isShared = records.buffer === whole.records.buffer;
    this.#arrive(state, answer, records, whole.nextOffset, isShared ? memory?.hold() : null);
  }

  /** Whether metadata has yet to tell if a position is out of range because the topic is another one. */
  #mayBeReplaced(state: FetchPartition): boolean {
    if (!this.#isInternal(state)) return false;
    if (state.outOfRangeVersion < 0) state.outOfRangeVersion = this.#metadata.version;
    return state.outOfRangeVersion === this.#metadata.version;
  }

  #retryLater(state: FetchPartition, errorCode: number, now: number): void {
    state.attendedAt = now;
    state.retryAt = now + backoffMs(state.failureCount, this.#context.random);
    state.failureCount++;
    this.#metadata.requestUpdate();
    const isOutage =
      state.failureCount === FAILURES_BEFORE_WARNING &&
      now - this.#warnedAt > OUTAGE_WARNING_INTERVAL_MS;
    if (isOutage) this.#warnedAt = now;
    this.#context.logger[isOutage ? 'warn' : 'debug'](
      { topic: state.topic, partition: state.partition, errorCode, count: state.failureCount },
      'partition not fetched; trying again',
    );
  }

  /** As if it had just been assigned: whatever held the former one up, nothing of it is left. */
  #fetchAnew(state: FetchPartition, forMs: number): void {
    const { key, topic, partition, fetchOffset } = state;
    const [position, end] = [fetchOffset.toString(), state.toldEnd.toString()];
    this.#context.logger.warn(
      { topic, partition, position, end, forMs },
      'nothing has been fetched from the partition for long; fetching it anew',
    );
    const now = this.#context.clock.monotonicMs();
    this.#partitions.delete(key);
    this.#partitions.set(key, new FetchPartition(key, topic, partition, fetchOffset, false, now));
    this.#metadata.requestUpdate();
    this.#kick();
  }

  #failAll(states: readonly FetchPartition[], error: Error): void {
    for (const state of states) {
      if (this.#partitions.get(state.key) === state && !state.isHalted) this.#halt(state, error);
    }
    if (this.#arrived.length > 0) this.#options.onReady();
  }

  /** Hands the error over; the partition is fetched again once it is assigned anew. */
  #halt(state: FetchPartition, error: Error): void {
    state.isHalted = true;
    this.#arrived.push({
      owner: state,
      fetched: {
        topic: state.topic,
        partition: state.partition,
        records: noRecords,
        abortedTransactions: [],
        highWatermark: -1n,
        lastStableOffset: -1n,
        logStartOffset: -1n,
        nextOffset: state.fetchOffset,
        error,
      },
    });
  }
}

function isWithoutRecords(response: FetchResponse): boolean {
  return response.responses.every(({ partitions }) =>
    partitions.every(({ records }) => records === null || records.length === 0),
  );
}

function requestTopics(states: readonly FetchPartition[], maxPartitionBytes: number) {
  const topics = new Map<string, RequestPartition[]>();
  for (const state of states) {
    const request = {
      partition: state.partition,
      currentLeaderEpoch: state.leaderEpoch,
      fetchOffset: state.fetchOffset,
      partitionMaxBytes: Math.max(state.cutBatchBytes, maxPartitionBytes),
    };
    const ofTopic = topics.get(state.topic);
    if (ofTopic === undefined) topics.set(state.topic, [request]);
    else ofTopic.push(request);
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

interface RequestPartition {
  readonly partition: number;
  readonly currentLeaderEpoch: number;
  readonly fetchOffset: bigint;
  readonly partitionMaxBytes: number;
}

/** Retried although no leadership is in question; as Kafka's own consumer does. */
function isWorthRetrying(errorCode: number): boolean {
  return (
    errorCode === errorCodes.UNKNOWN_SERVER_ERROR ||
    errorCode === errorCodes.REQUEST_TIMED_OUT ||
    errorCode === errorCodes.THROTTLING_QUOTA_EXCEEDED
  );
}

function outOfRange(state: FetchPartition): OffsetOutOfRangeError {
  const { topic, partition, fetchOffset } = state;
  return new OffsetOutOfRangeError(
    `Offset ${fetchOffset} of ${topic}-${partition} is out of range; retention, delete-records or a truncation moved the log`,
    { context: { topic, partition, offset: fetchOffset } },
  );
}

function unreadable(state: FetchPartition, cause: unknown): Error {
  const { topic, partition, fetchOffset } = state;
  return new CorruptFetchError(
    `What the broker sent for ${topic}-${partition} at offset ${fetchOffset} is no sequence of record batches: ${String(cause)}`,
    { cause, context: { topic, partition, offset: fetchOffset } },
  );
}

/** Brokers list aborted transactions in the order of their abort markers. */
function sortedByFirstOffset(aborted: PartitionAnswer['abortedTransactions']) {
  if (aborted === null || aborted.length === 0) return [];
  return aborted.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
}
