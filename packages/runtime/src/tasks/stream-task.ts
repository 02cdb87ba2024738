import type { Logger } from 'pino';
import type {
  FetchedPartition,
  OffsetAndMetadata,
  OffsetsToCommit,
  ProducerPort,
  TopicPartition,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { CommittableTask } from '../commit/committer.ts';
import type { PartitionMetadata } from '../commit/offsets-metadata.ts';
import { encodePartitionMetadata } from '../commit/offsets-metadata.ts';
import type { CommittedOffset } from '../commit/purge.ts';
import type { SentRecords } from '../commit/record-collector.ts';
import { TaskRecordCollector } from '../commit/record-collector.ts';
import type { DeserializationError } from '../errors.ts';
import { StreamsError } from '../errors.ts';
import type { MeasuredTaskStore } from '../metrics/store-metrics.ts';
import { TaskMeasures } from '../metrics/task-measures.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import type { RecordCache } from '../state/cache/record-cache.ts';
import { StateMachine } from '../state-machine.ts';
import type { TaskDisk } from '../state/persistent/task-disk.ts';
import type { StateStore } from '../state/store.ts';
import type { SourceNode, Subtopology, TaskTopology } from '../topology/built-topology.ts';
import { BlockedLoop } from './blocked-loop.ts';
import { DeadLetters } from './dead-letters.ts';
import type { ErrorHandling } from './error-handling.ts';
import { asksForRawRecords, TaskErrors, processingError } from './error-handling.ts';
import { PartitionGroup } from './partition-group.ts';
import { Punctuations } from './punctuations.ts';
import { RecordQueue } from './record-queue.ts';
import { SliceLength } from './slice-length.ts';
import { StreamTaskContext } from './stream-task-context.ts';
import { StreamTime } from './stream-time.ts';
import type { TaskId } from '../operators/task-context.ts';
import { isPromise } from '../operators/outcome.ts';
import type { PunctuationType } from '../operators/punctuation.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import { taskName } from './task-id.ts';
import type { TaskEvent, TaskState } from './task-states.ts';
import { taskTransitions } from './task-states.ts';
import { TaskStores } from './task-stores.ts';

export interface StreamTaskOptions {
  readonly applicationId: string;
  readonly id: TaskId;
  readonly subtopology: Subtopology;
  readonly topology: TaskTopology;
  /** The application's global stores, as tasks may see them. */
  readonly globalStores?: ReadonlyMap<string, StateStore> | undefined;
  /** Its partition of each source topic that has one. */
  readonly inputs: readonly TopicPartition[];
  readonly producer: ProducerPort;
  readonly handling: ErrorHandling;
  /** `max.task.idle.ms`. */
  readonly maxTaskIdleMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Where its persistent stores are kept; null if it has none, or they only behave like it. */
  readonly disk?: TaskDisk | null;
  /** Where its cached stores keep their records; without one no store is cached. */
  readonly cache?: RecordCache | null;
  readonly logger: Logger;
  /** What processors are told of the configuration. */
  readonly appConfigs?: Readonly<Record<string, unknown>>;
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
  readonly measures: TaskMeasures;
  readonly #options: StreamTaskOptions;
  readonly #states: StateMachine<TaskState, TaskEvent>;
  readonly #streamTime = new StreamTime();
  readonly #collector: TaskRecordCollector;
  readonly #errors: TaskErrors;
  readonly #deadLetters = new DeadLetters((record) => {
    this.#isTouched = true;
    return this.#collector.deadLetter(record);
  });
  readonly #context: StreamTaskContext;
  readonly #punctuations: Punctuations;
  readonly #blockedLoop: BlockedLoop;
  readonly #repartitionTopics: ReadonlySet<string>;
  #group = new PartitionGroup([], 0);
  #committed = new Map<string, bigint>();
  readonly #startOffsets = new Map<string, bigint>();
  readonly #emittedWindowCloseTimes = new Map<string, number>();
  #isTouched = false;
  #inHand: Promise<void> | null = null;
  #failure: unknown = null;
  #isInitialized = false;
  processedCount = 0;
  readonly sliceLength = new SliceLength();
  /** Offsets of it were committed since it was made. */
  hasCommitted = false;

  constructor(options: StreamTaskOptions) {
    this.#options = options;
    this.id = options.id;
    this.name = taskName(options.id);
    this.inputs = options.inputs;
    this.subtopology = options.subtopology;
    this.measures = new TaskMeasures(this.sources, options.topology.nodes);
    this.#states = new StateMachine(`task ${this.name}`, taskTransitions, 'CREATED', (next) => {
      options.logger.debug({ state: next }, 'task state');
    });
    this.#collector = new TaskRecordCollector({
      producer: options.producer,
      random: options.random,
      onFailure: (node, record, error) => {
        this.#errors.unwritable(node, record, error);
      },
      onDropped: (node, topic) => {
        this.#context.recordDropped(node, `its partitioner chose no partition of ${topic}`);
      },
      now: () => this.#context.currentSystemTimeMs(),
    });
    this.#blockedLoop = new BlockedLoop({
      nodes: () => this.nodes,
      clock: options.clock,
      logger: options.logger,
    });
    this.#punctuations = new Punctuations(
      (node, error, timestamp) => this.#errors.punctuationFailed(node, error, timestamp),
      {
        clock: options.clock,
        measures: this.measures,
        onCalled: (node, tookMs) => {
          this.#blockedLoop.punctuated(node, tookMs);
        },
      },
    );
    this.#context = new StreamTaskContext({
      applicationId: options.applicationId,
      taskId: options.id,
      logger: options.logger,
      collector: this.#collector,
      stores: options.topology.stores,
      ...(options.globalStores === undefined ? {} : { globalStores: options.globalStores }),
      streamTime: this.#streamTime,
      clock: options.clock,
      punctuations: this.#punctuations,
      appConfigs: options.appConfigs ?? {},
      cache: options.cache ?? null,
      disk: options.disk ?? null,
      keepsRawRecords: asksForRawRecords(options.handling),
    });
    this.#errors = new TaskErrors({
      taskName: this.name,
      handling: options.handling,
      context: this.#context,
      deadLetters: this.#deadLetters,
    });
    this.stores = new TaskStores(
      options.topology.stores,
      options.subtopology.changelogs,
      options.id.partition,
      options.disk ?? null,
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

  /** The offsets that it is at, all together: how far it is. */
  get position(): bigint {
    return this.#group.queues.reduce((sum, queue) => sum + queue.committableOffset, 0n);
  }

  get droppedCount(): number {
    return this.#context.dropped.count;
  }

  get punctuatedCount(): number {
    return this.#punctuations.calledCount;
  }

  get enforcedProcessingCount(): number {
    return this.#group.enforcedCount;
  }

  get sources(): readonly SourceNode[] {
    return [...new Set(this.#options.topology.sources.values())];
  }

  get nodes(): readonly ProcessorNode[] {
    return this.#options.topology.nodes;
  }

  /** What was sent to other topics than changelogs, by topic and node. */
  sent(): Iterable<SentRecords> {
    return this.#collector.sent();
  }

  get measuredStores(): readonly MeasuredTaskStore[] {
    return this.stores.entries.map((entry) => ({
      store: entry.store,
      uncommittedBytes: () => this.stores.uncommittedBytesOf(entry),
    }));
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
    const started = this.#startNodes(0);
    if (started === undefined) return this.#prepare(positions, ends);
    return started.then(() => this.#prepare(positions, ends));
  }

  /** Parents first; a processor whose init is asynchronous holds up those below. */
  #startNodes(from: number): Promise<void> | undefined {
    const { nodes } = this.#options.topology;
    for (let i = from; i < nodes.length; i++) {
      const node = nodes[i] as ProcessorNode;
      node.attach(this.#errors);
      node.init(this.#context);
      const started = node.start();
      if (started !== undefined) return started.then(() => this.#startNodes(i + 1));
    }
    return undefined;
  }

  #prepare(
    positions: readonly InputPosition[],
    ends: ReadonlyMap<string, bigint>,
  ): Promise<void> | undefined {
    const { deadLetterTopic } = this.#options.handling;
    // A topic that does not exist is found out now, not when the first record fails.
    if (deadLetterTopic !== null) this.#collector.expectDeadLetters(deadLetterTopic);
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
    this.#blockedLoop.turnBegins();
    try {
      // Stream time may have come with the committed offsets.
      if (this.#isPunctuationDue && this.#punctuate('stream-time', this.#streamTime.current)) {
        return 0;
      }
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
        if (this.#isPunctuationDue && this.#punctuate('stream-time', this.#streamTime.current)) {
          return count;
        }
      }
    } catch (error) {
      throw this.#located(error);
    } finally {
      if (count > 0) {
        this.processedCount += count;
        this.#isTouched = true;
        this.measures.lookAtNodes(systemTimeMs);
        this.#blockedLoop.turnEnds(count, context.queue);
      }
      context.systemTimeMs = -1;
      if (!this.#isHeld) context.queue = null;
    }
    return count;
  }

  /**
   * Calls the wall-clock punctuators that are due, and returns whether there were any. One that
   * returns a promise holds the task up as a record does. Throws what a punctuator threw.
   */
  punctuateWallClock(systemTimeMs: number): boolean {
    if (systemTimeMs < this.#punctuations.nextWallClockMs) return false;
    if (this.#inHand !== null || this.#failure !== null) return false;
    const context = this.#context;
    context.systemTimeMs = systemTimeMs;
    try {
      this.#punctuate('wall-clock-time', systemTimeMs);
    } catch (error) {
      throw this.#located(error);
    } finally {
      context.systemTimeMs = -1;
    }
    return true;
  }

  /** Resolves when no record is in hand, and no timestamp waited for. A failure is kept for the next `process`. */
  async finishRecordInHand(): Promise<void> {
    for (let pending = this.#waitsFor; pending !== null; pending = this.#waitsFor) await pending;
  }

  get #waitsFor(): Promise<void> | null {
    if (this.#inHand !== null) return this.#inHand;
    return this.#group.queues.find((queue) => queue.extraction !== null)?.extraction ?? null;
  }

  /** Whether there is something to be waited for before the task goes on. */
  get hasRecordInHand(): boolean {
    return this.#waitsFor !== null;
  }

  /** Whether `process` would find something, wait or fail. */
  isReady(systemTimeMs: number): boolean {
    if (this.#inHand !== null) return false;
    if (this.#waitsFor !== null) return true;
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
  reset(queue: RecordQueue, offset: bigint): void {
    this.#group.changed();
    queue.reset(offset);
  }

  /** Wall-clock time at which a wait for an idle partition ends or a punctuator is due; Infinity if neither. */
  nextDeadlineMs(nowMs: number): number {
    const idleMs = this.#group.nextDeadlineMs(nowMs);
    // With a record in hand nothing is called; the end of the record wakes the loop.
    return this.#inHand === null ? Math.min(idleMs, this.#punctuations.nextWallClockMs) : idleMs;
  }

  // ------------------------------------------------------------------------------------- commit

  get isCommitNeeded(): boolean {
    if (this.state !== 'RUNNING') return false;
    // A disk that has failed is found out at a commit, even without input.
    if (this.#isTouched || this.stores.disk?.hasFailed === true) return true;
    return this.#group.queues.some((queue) => this.#isAhead(queue));
  }

  /** @throws what a record that was in hand failed with: what it has written is not to be committed */
  prepareCommit(): Promise<void> | undefined {
    if (this.#failure !== null) throw this.#failure as Error;
    this.#context.isCommitRequested = false;
    const room = this.stores.disk?.room();
    return room === undefined ? this.#flush() : room.then(() => this.#flush());
  }

  #flush(): Promise<void> | undefined {
    const flushed = this.stores.flush();
    if (flushed === undefined) return this.#deadLetters.finish();
    return flushed.then(() => this.#deadLetters.finish());
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
    // What record caches have let go.
    this.measures.lookAtNodes(this.#options.clock.now());
    // Given up while the offsets were under way: whoever has the task now finds them.
    if (this.state === 'CLOSED') return;
    this.#isTouched = false;
    this.hasCommitted ||= offsets.size > 0;
    for (const [key, { offset }] of offsets) this.#committed.set(key, offset);
    this.stores.commit(
      (topic) => this.#committed.get(topicPartitionKey(topic, this.id.partition)) ?? null,
    );
    this.spill(this.#options.clock.monotonicMs());
  }

  /** When committed rows must be written to disk at the latest, on the monotonic clock; Infinity if none wait. */
  get spillDueMs(): number {
    return this.stores.disk?.spillDueMs ?? Infinity;
  }

  /** Begins to write committed rows to disk, if it is time. Throws what the last write failed with. */
  spill(nowMs: number): void {
    this.stores.disk?.spillIfDue(nowMs);
  }

  *purgeableOffsets(offsets: OffsetsToCommit): Generator<CommittedOffset> {
    for (const { topic, partition, offset } of offsets.values()) {
      if (!this.#repartitionTopics.has(topic)) continue;
      const startOffset = this.#startOffsets.get(topicPartitionKey(topic, partition)) ?? offset;
      yield { topic, partition, offset, startOffset };
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

  /**
   * Closes nodes and stores, once a record in hand is done: it must not write beside the task that takes
   * over. Never throws: a node that cannot close must not keep the others open. A promise, of a record in
   * hand or of processors which close asynchronously, never rejects.
   */
  close(): Promise<unknown> | undefined {
    if (this.state === 'CLOSED') return undefined;
    if (this.state !== 'SUSPENDED') this.suspend();
    this.#punctuations.clear();
    this.#states.fire('close');
    if (this.#waitsFor === null) return this.#closeParts();
    return this.finishRecordInHand().then(() => this.#closeParts());
  }

  #closeParts(): Promise<unknown> | undefined {
    const pending: PromiseLike<unknown>[] = [];
    if (this.#isInitialized) {
      for (const node of this.#options.topology.nodes) {
        this.#attempt(() => {
          const closed = node.close();
          if (isPromise(closed)) pending.push(closed);
        });
      }
    }
    this.#attempt(() => {
      const closed = this.stores.close();
      if (closed !== undefined) pending.push(closed);
    });
    if (pending.length === 0) return undefined;
    return Promise.all(pending.map((closed) => this.#attemptLater(closed)));
  }

  async #attemptLater(closed: PromiseLike<unknown>): Promise<void> {
    try {
      await closed;
    } catch (error) {
      this.#warnNotClosed(error);
    }
  }

  #attempt(close: () => void): void {
    try {
      close();
    } catch (error) {
      this.#warnNotClosed(error);
    }
  }

  #warnNotClosed(error: unknown): void {
    this.#options.logger.warn({ err: error }, 'a part of the task could not be closed');
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
          undecodable: (error, from, hasRecord) => this.#undecodable(error, from, hasRecord),
          invalidTimestamp: (from, timestamp) => {
            this.#invalidTimestamp(from, timestamp);
          },
        },
        now: () => this.#context.currentSystemTimeMs(),
        lateness: this.measures.lateness,
        onExtracted: (error) => {
          if (error !== null) this.#failure ??= error;
          this.#group.changed();
          this.#options.onResumable();
        },
      });
      const end = ends.get(topicPartitionKey(topic, partition));
      if (end !== undefined) queue.learnEndOffset(end);
      queues.push(queue);
      this.#streamTime.advance(metadata.partitionTime);
      for (const [store, time] of metadata.emittedWindowCloseTimes) {
        const known = this.#emittedWindowCloseTimes.get(store) ?? time;
        this.#emittedWindowCloseTimes.set(store, Math.max(known, time));
      }
      this.#startOffsets.set(topicPartitionKey(topic, partition), committed ?? offset);
      // What is neither committed nor consumed yet needs no commit.
      this.#committed.set(topicPartitionKey(topic, partition), committed ?? offset);
    }
    this.#group = new PartitionGroup(queues, this.#options.maxTaskIdleMs);
  }

  #waitFor(outcome: Promise<void>, queue: RecordQueue): void {
    const done = outcome.then(() => {
      queue.advance();
      if (!this.#isPunctuationDue) return undefined;
      this.#context.queue = null;
      return this.#punctuations.run('stream-time', this.#streamTime.current);
    });
    this.#hold(done);
  }

  get #isPunctuationDue(): boolean {
    return this.#streamTime.current >= this.#punctuations.nextStreamTimeMs;
  }

  /** True if a punctuator is asynchronous: the task waits for it. */
  #punctuate(type: PunctuationType, nowMs: number): boolean {
    this.#context.queue = null;
    this.#isTouched = true;
    const outcome = this.#punctuations.run(type, nowMs);
    if (outcome === undefined) return false;
    this.#hold(outcome);
    return true;
  }

  get #isHeld(): boolean {
    return this.#inHand !== null;
  }

  /** Nothing else is processed until the promise is settled. */
  #hold(outcome: Promise<void>): void {
    this.#inHand = outcome
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

  #undecodable(
    error: DeserializationError,
    queue: RecordQueue,
    hasRecord: boolean,
  ): 'fail' | 'continue' {
    this.#isTouched = true;
    return this.#errors.undecodable(error, queue, hasRecord);
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

  /** Errors of ours say already what they are about; a user function's error gets the record's place. */
  #located(error: unknown): Error {
    if (error instanceof StreamsError) return error;
    const { topic, partition, queue } = this.#context;
    const processorNodeId = queue?.source.name ?? '';
    const place = { taskId: this.name, processorNodeId, topic, partition };
    return processingError({ ...place, offset: this.#context.offset() }, error, 'record');
  }
}
