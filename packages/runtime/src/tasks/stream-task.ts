import type { Logger } from 'pino';
import type {
  FetchedPartition,
  OffsetAndMetadata,
  ProducerPort,
  TopicPartition,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { CommittableTask, OffsetsToCommit } from '../commit/committer.ts';
import type { PartitionMetadata } from '../commit/offsets-metadata.ts';
import { encodePartitionMetadata } from '../commit/offsets-metadata.ts';
import type { CommittedOffset } from '../commit/purge.ts';
import { TaskRecordCollector } from '../commit/record-collector.ts';
import type { ErrorHandlerContext } from '../error-handlers.ts';
import { ProcessingError, StreamsError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { StateMachine } from '../state-machine.ts';
import type { SourceNode, Subtopology, TaskTopology } from '../topology/built-topology.ts';
import type { ErrorHandling } from './error-handling.ts';
import { decideOnDeserialization, decideOnProduction } from './error-handling.ts';
import { PartitionGroup } from './partition-group.ts';
import { RecordQueue } from './record-queue.ts';
import { StreamTaskContext } from './stream-task-context.ts';
import { StreamTime } from './stream-time.ts';
import type { TaskId } from '../operators/task-context.ts';
import { taskName } from './task-id.ts';
import type { TaskEvent, TaskState } from './task-states.ts';
import { taskTransitions } from './task-states.ts';
import { TaskStores } from './task-stores.ts';

export interface StreamTaskOptions {
  readonly applicationId: string;
  readonly id: TaskId;
  readonly subtopology: Subtopology;
  readonly topology: TaskTopology;
  /** Its partition of each source topic that has one. */
  readonly inputs: readonly TopicPartition[];
  readonly producer: ProducerPort;
  readonly handling: ErrorHandling;
  /** `max.task.idle.ms`. */
  readonly maxTaskIdleMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called when the record in hand is done, so that a sleeping loop goes on. */
  readonly onResumable: () => void;
}

/** Where a task's input starts, and what the last commit knew of it. */
export interface InputPosition extends TopicPartition {
  readonly offset: bigint;
  /** What was committed before; null if the position comes from the reset policy. */
  readonly committed: bigint | null;
  readonly metadata: PartitionMetadata;
}

/** One subtopology on one partition: its queues, nodes, stores and way out. */
export class StreamTask implements CommittableTask {
  readonly id: TaskId;
  readonly name: string;
  readonly inputs: readonly TopicPartition[];
  readonly stores: TaskStores;
  readonly subtopology: Subtopology;
  readonly #options: StreamTaskOptions;
  readonly #states: StateMachine<TaskState, TaskEvent>;
  readonly #streamTime = new StreamTime();
  readonly #collector: TaskRecordCollector;
  readonly #context: StreamTaskContext;
  readonly #repartitionTopics: ReadonlySet<string>;
  #group = new PartitionGroup([], 0);
  #committed = new Map<string, bigint>();
  #emittedWindowCloseTimes: ReadonlyMap<string, number> = new Map();
  #isTouched = false;
  #inHand: Promise<void> | null = null;
  #failure: unknown = null;
  #isInitialized = false;
  processedCount = 0;

  constructor(options: StreamTaskOptions) {
    this.#options = options;
    this.id = options.id;
    this.name = taskName(options.id);
    this.inputs = options.inputs;
    this.subtopology = options.subtopology;
    this.#states = new StateMachine(`task ${this.name}`, taskTransitions, 'CREATED', (next) => {
      options.logger.debug({ state: next }, 'task state');
    });
    this.#collector = new TaskRecordCollector({
      producer: options.producer,
      random: options.random,
      onFailure: (error) =>
        decideOnProduction(options.handling, this.#context, this.#errorContext(''), error),
    });
    this.#context = new StreamTaskContext({
      applicationId: options.applicationId,
      taskId: options.id,
      logger: options.logger,
      collector: this.#collector,
      stores: options.topology.stores,
      streamTime: this.#streamTime,
      clock: options.clock,
    });
    this.stores = new TaskStores(
      options.topology.stores,
      options.subtopology.changelogs,
      options.id.partition,
    );
    this.#repartitionTopics = new Set(
      options.subtopology.repartitionSourceTopics.map((topic) => topic.name),
    );
  }

  get state(): TaskState {
    return this.#states.state;
  }

  get queues(): readonly RecordQueue[] {
    return this.#group.queues;
  }

  get droppedCount(): number {
    return this.#context.dropped.count;
  }

  get enforcedProcessingCount(): number {
    return this.#group.enforcedCount;
  }

  get streamTimeMs(): number {
    return this.#streamTime.current;
  }

  get isCommitRequested(): boolean {
    return this.#context.isCommitRequested;
  }

  /** Opens the stores; what they hold of their changelogs is restored next. */
  initialize(): void {
    this.#states.fire('initialize');
    this.stores.open(this.#context, this.#options.producer);
  }

  /** The stores are restored: starts the nodes and learns where their output goes. */
  start(
    positions: readonly InputPosition[],
    ends: ReadonlyMap<string, bigint>,
  ): Promise<void> | undefined {
    this.#isInitialized = true;
    for (const node of this.#options.topology.nodes) node.init(this.#context);
    const prepared = this.#collector.prepare();
    if (prepared === undefined) {
      this.#run(positions, ends);
      return undefined;
    }
    return prepared.then(() => {
      this.#run(positions, ends);
    });
  }

  /**
   * Processes up to `maxRecords`, always the earliest head first, and returns how many. A node that
   * returns a promise ends the turn: the task goes on when it is settled. Throws what a node threw,
   * with the record's place.
   */
  process(maxRecords: number, systemTimeMs: number): number {
    if (this.#inHand !== null) return 0;
    if (this.#failure !== null) throw this.#failure as Error;
    const context = this.#context;
    const group = this.#group;
    context.systemTimeMs = systemTimeMs;
    let count = 0;
    try {
      while (count < maxRecords) {
        const queue = group.select(systemTimeMs);
        if (queue === null) break;
        context.queue = queue;
        count++;
        const outcome = queue.processHead();
        if (outcome instanceof Promise) {
          this.#waitFor(outcome, queue);
          return count;
        }
        queue.advance();
      }
    } catch (error) {
      throw this.#located(error);
    } finally {
      if (count > 0) {
        this.processedCount += count;
        this.#isTouched = true;
      }
      context.systemTimeMs = -1;
      if (!this.hasRecordInHand) context.queue = null;
    }
    return count;
  }

  /** Resolves when no record is in hand. Its failure is kept for the next `process`. */
  async finishRecordInHand(): Promise<void> {
    while (this.#inHand !== null) await this.#inHand;
  }

  get hasRecordInHand(): boolean {
    return this.#inHand !== null;
  }

  /** Whether `process` would find something, or fail. */
  isReady(systemTimeMs: number): boolean {
    if (this.#inHand !== null) return false;
    return this.#failure !== null || this.#group.select(systemTimeMs) !== null;
  }

  /** A response for one of the queues. Reading its first record may fail as processing does. */
  push(queue: RecordQueue, fetched: FetchedPartition, endOffset: bigint): void {
    this.#group.changed();
    try {
      queue.push(fetched, endOffset);
    } catch (error) {
      this.#failure ??= this.#located(error);
    }
  }

  /** The position was out of range: go on elsewhere. */
  seek(queue: RecordQueue, offset: bigint): void {
    this.#group.changed();
    queue.seek(offset);
  }

  /** Wall-clock time at which a wait for an idle partition ends; Infinity if there is none. */
  nextDeadlineMs(nowMs: number): number {
    return this.#group.nextDeadlineMs(nowMs);
  }

  // ------------------------------------------------------------------------------------- commit

  get isCommitNeeded(): boolean {
    if (this.state !== 'RUNNING') return false;
    if (this.#isTouched) return true;
    return this.#group.queues.some((queue) => this.#isAhead(queue));
  }

  prepareCommit(): Promise<void> | undefined {
    this.#context.isCommitRequested = false;
    return this.stores.flush();
  }

  offsetsToCommit(): OffsetsToCommit {
    const offsets = new Map<string, TopicPartition & OffsetAndMetadata>();
    for (const queue of this.#group.queues) {
      if (!this.#isAhead(queue)) continue;
      const { topic, partition } = queue;
      offsets.set(topicPartitionKey(topic, partition), {
        topic,
        partition,
        offset: queue.committableOffset,
        metadata: encodePartitionMetadata({
          partitionTime: queue.partitionTime,
          emittedWindowCloseTimes: this.#emittedWindowCloseTimes,
        }),
      });
    }
    return offsets;
  }

  postCommit(offsets: OffsetsToCommit): void {
    this.#isTouched = false;
    for (const [key, { offset }] of offsets) this.#committed.set(key, offset);
    this.stores.commit(
      (topic) => this.#committed.get(topicPartitionKey(topic, this.id.partition)) ?? null,
    );
  }

  *purgeableOffsets(offsets: OffsetsToCommit): Generator<CommittedOffset> {
    for (const { topic, partition, offset } of offsets.values()) {
      if (this.#repartitionTopics.has(topic)) yield { topic, partition, offset };
    }
  }

  #isAhead(queue: RecordQueue): boolean {
    const key = topicPartitionKey(queue.topic, queue.partition);
    return this.#committed.get(key) !== queue.committableOffset;
  }

  // -------------------------------------------------------------------------------------- close

  /** Processing has ended; stores stay open. Clean if what was processed is committed, else it is done again. */
  suspend(): void {
    this.#states.fire('suspend');
  }

  /** Closes nodes and stores. Never throws: a node that cannot close must not keep the others open. */
  close(): void {
    if (this.state === 'CLOSED') return;
    if (this.state !== 'SUSPENDED') this.suspend();
    if (this.#isInitialized) {
      for (const node of this.#options.topology.nodes) {
        this.#attempt(() => {
          node.close();
        });
      }
    }
    this.#attempt(() => {
      this.stores.close();
    });
    this.#states.fire('close');
  }

  #attempt(close: () => void): void {
    try {
      close();
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'a part of the task could not be closed');
    }
  }

  // ------------------------------------------------------------------------------------ private

  #run(positions: readonly InputPosition[], ends: ReadonlyMap<string, bigint>): void {
    // Closed while the partition counts were asked for.
    if (this.state !== 'RESTORING') return;
    this.#openQueues(positions, ends);
    this.#states.fire('restored');
  }

  #openQueues(positions: readonly InputPosition[], ends: ReadonlyMap<string, bigint>): void {
    const queues: RecordQueue[] = [];
    for (const { topic, partition, offset, committed, metadata } of positions) {
      const queue = new RecordQueue({
        topic,
        partition,
        source: this.#options.topology.sources.get(topic) as SourceNode,
        position: offset,
        partitionTime: metadata.partitionTime,
        streamTime: this.#streamTime,
        failures: {
          undecodable: (error, from) => this.#undecodable(error, from),
          invalidTimestamp: (from, timestamp) => {
            this.#invalidTimestamp(from, timestamp);
          },
        },
      });
      const end = ends.get(topicPartitionKey(topic, partition));
      if (end !== undefined) queue.learnEndOffset(end);
      queues.push(queue);
      this.#streamTime.advance(metadata.partitionTime);
      if (metadata.emittedWindowCloseTimes.size > 0) {
        this.#emittedWindowCloseTimes = metadata.emittedWindowCloseTimes;
      }
      // What is neither committed nor consumed yet needs no commit.
      this.#committed.set(topicPartitionKey(topic, partition), committed ?? offset);
    }
    this.#group = new PartitionGroup(queues, this.#options.maxTaskIdleMs);
  }

  #waitFor(outcome: Promise<void>, queue: RecordQueue): void {
    this.#inHand = outcome
      .then(() => {
        queue.advance();
      })
      .catch((error: unknown) => {
        this.#failure = this.#located(error);
      })
      .then(() => {
        this.#inHand = null;
        this.#context.queue = null;
        this.#isTouched = true;
        this.#options.onResumable();
      });
  }

  #undecodable(error: ErrorHandlerError, queue: RecordQueue): 'fail' | 'continue' {
    // Another queue's record may be in hand while this one reads its first.
    const inHand = this.#context.queue;
    this.#context.queue = queue;
    const context = this.#errorContext(queue.source.name);
    const answer = decideOnDeserialization(this.#options.handling, this.#context, context, error);
    this.#context.queue = inHand;
    this.#isTouched = true;
    return answer;
  }

  #invalidTimestamp(queue: RecordQueue, timestamp: number): void {
    const offset = queue.headOffset().toString();
    const { topic, partition } = queue;
    this.#isTouched = true;
    this.#context.dropped.record(queue.source.name, 'negative timestamp', {
      topic,
      partition,
      offset,
      timestamp,
    });
  }

  #errorContext(node: string): ErrorHandlerContext {
    const queue = this.#context.queue;
    const bytes = queue === null ? null : queue.headBytes();
    return {
      taskId: this.name,
      processorNodeId: node,
      topic: this.#context.topic,
      partition: this.#context.partition,
      offset: this.#context.offset(),
      timestamp: queue === null ? -1 : queue.headTimestamp,
      headers: queue === null ? null : queue.headHeaders(),
      sourceRawKey: bytes?.key ?? null,
      sourceRawValue: bytes?.value ?? null,
    };
  }

  /** Errors of ours say already what they are about; a user function's error gets the record's place. */
  #located(error: unknown): Error {
    if (error instanceof StreamsError) return error;
    const { topic, partition } = this.#context;
    const offset = this.#context.offset();
    const why = error instanceof Error ? error.message : String(error);
    return new ProcessingError(
      `Task ${this.name} failed on the record of ${String(topic)}-${String(partition)} at offset ${offset.toString()}: ${why}`,
      { cause: error, context: { task: this.name, topic, partition, offset } },
    );
  }
}

type ErrorHandlerError = Parameters<typeof decideOnDeserialization>[3];
