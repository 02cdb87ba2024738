import { murmur2, toPositive, type RecordHeaders } from '@millrace/protocol';
import type { Logger } from 'pino';
import { bindOptions } from '../bind-options.ts';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { loadConfig } from '../config/load-config.ts';
import { durationMs, type Duration } from '../dsl/duration.ts';
import { silentLogger } from '../logging/logger.ts';
import type { Outcome } from '../operators/processor-node.ts';
import { systemClock } from '../platform/clock.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import type { StateStore } from '../state/store.ts';
import type { WindowStore } from '../state/window-store.ts';
import { createTask, recordCacheFor } from '../tasks/create-task.ts';
import type { StreamTask } from '../tasks/stream-task.ts';
import { bindTopology, type Topology } from '../topology/topology.ts';
import { DriverClock } from './driver-clock.ts';
import { DriverPartitions } from './driver-partitions.ts';
import { DriverProducer } from './driver-producer.ts';
import {
  andThen,
  closeTask,
  commitTask,
  inTurn,
  processOne,
  punctuateWallClock,
  startTask,
  storeOf,
} from './driver-tasks.ts';
import { partitioned, singleTask, type DriverLayout } from './driver-topology.ts';
import { TestDriverError } from './test-driver-error.ts';
import { TestInputTopic } from './test-input-topic.ts';
import { TestOutputTopic, type Unread } from './test-output-topic.ts';
import { epochMs, type InputTopicOptions, type TopicSerdes } from './test-record.ts';

export interface TopologyTestDriverOptions {
  /** Where the wall clock stands, epoch ms or a Date; it moves by `advanceWallClockTime` only. Default: now. */
  readonly startTime?: number | Date | undefined;
  /**
   * Partitions of the topics that the topology reads: one number for all, or by topic (1 where none is
   * named). With it, the driver has the tasks that a cluster would have. Without it there is one
   * partition a topic and one task, `0_0`, for the whole topology.
   */
  readonly partitions?: number | Readonly<Record<string, number>> | undefined;
  /** Default: silent. */
  readonly logger?: Logger | undefined;
}

/**
 * Runs a topology in memory, without a broker, on the code that runs it in production: tasks, record
 * queues, stores, caches and error handlers. Time stands still until the test moves it.
 *
 * ```ts
 * const driver = new TopologyTestDriver(topology);
 * const words = driver.createInputTopic('words', { key: serdes.string(), value: serdes.string() });
 * const counts = driver.createOutputTopic('counts', { key: serdes.string(), value: serdes.long() });
 * await words.pipe('a', 'hello');
 * expect(counts.readKeyValues()).toEqual([['hello', 1]]);
 * await driver.close();
 * ```
 *
 * After every record the driver does what a stream thread does from time to time: stream-time
 * punctuation, cache flush and commit. What a record puts on internal topics, or on topics that the
 * topology reads, is processed before the call ends; where several records wait in a task, the lowest
 * timestamp goes first.
 */
export class TopologyTestDriver {
  readonly #layout: DriverLayout;
  readonly #clock: DriverClock;
  readonly #producer: DriverProducer;
  readonly #partitions = new DriverPartitions();
  readonly #tasks: readonly StreamTask[];
  readonly #unread = new Map<string, Unread>();
  readonly #written = new Set<string>();
  readonly #nextWithoutKey = new Map<string, number>();
  /** The call in progress; the next one waits for it. */
  #busy: Promise<void> | null = null;
  #failure: unknown = null;
  #isClosed = false;

  /**
   * `application.id` is `test` unless it is given; environment variables do not count. Throws what
   * KafkaStreams throws for a configuration or topology that cannot work, and what nodes throw when
   * they start.
   */
  constructor(
    topology: Topology,
    config: StreamsConfigInput = {},
    options: TopologyTestDriverOptions = {},
  ) {
    const loaded = loadConfig({
      config: { 'application.id': 'test', ...config },
      notRequired: ['bootstrap.servers'],
    });
    const built = bindTopology(topology, bindOptions(loaded));
    this.#layout =
      options.partitions === undefined ? singleTask(built) : partitioned(built, options.partitions);
    const { startTime } = options;
    this.#clock = new DriverClock(startTime === undefined ? systemClock.now() : epochMs(startTime));
    const { partitionCounts } = this.#layout;
    this.#producer = new DriverProducer((topic) => partitionCounts.get(topic) ?? 1);
    const environment = {
      topology: this.#layout.topology,
      config: loaded,
      producer: this.#producer,
      clock: this.#clock,
      random: () => 0,
      // One thread has it all.
      cache: recordCacheFor(loaded, built, 1),
      logger: options.logger ?? silentLogger(),
      onResumable: () => undefined,
    };
    this.#tasks = this.#layout.tasks.map(({ id, inputs }) => createTask(environment, id, inputs));
    const started = this.#start();
    // A failure is told by the first call.
    if (started !== undefined) this.#holdFor(started).catch(() => undefined);
  }

  // --------------------------------------------------------------------------------- topics

  /** The topology must read the topic, or piping throws. */
  createInputTopic<K, V>(topic: string, options: InputTopicOptions<K, V>): TestInputTopic<K, V> {
    return new TestInputTopic(
      topic,
      options,
      this.#clock.now(),
      (key, value, timestamp, headers, partition) =>
        this.#do(() => this.#pipe(topic, key, value, timestamp, headers, partition)),
    );
  }

  /** Any topic: also changelog and repartition topics, under their full names. */
  createOutputTopic<K, V>(topic: string, serdes: TopicSerdes<K, V>): TestOutputTopic<K, V> {
    return new TestOutputTopic(topic, serdes, this.#unreadOf(topic));
  }

  /** Names of all topics that were written to so far, sorted. */
  producedTopicNames(): string[] {
    return [...this.#written].sort();
  }

  // ----------------------------------------------------------------------------------- time

  /** The wall clock, epoch ms. */
  get wallClockTimeMs(): number {
    return this.#clock.now();
  }

  /** The highest timestamp that any task has processed, epoch ms; -1 before the first record. */
  get streamTimeMs(): number {
    return Math.max(-1, ...this.#tasks.map((task) => task.streamTimeMs));
  }

  /** Moves the wall clock on; then wall-clock punctuation, which happens once at most, and a commit. */
  advanceWallClockTime(by: Duration): Promise<void> {
    return this.#do(() => {
      this.#clock.advance(durationMs(by, 'the time to advance'));
      const now = this.#clock.now();
      const done = inTurn(this.#tasks, (task) =>
        andThen(punctuateWallClock(task, now), () => commitTask(task)),
      );
      return andThen(done, () => {
        this.#capture();
        return this.#work();
      });
    });
  }

  // --------------------------------------------------------------------------------- stores

  /** All stores of the task of that partition, by name. */
  getAllStateStores(partition = 0): ReadonlyMap<string, StateStore> {
    const stores = new Map<string, StateStore>();
    for (const task of this.#tasksOf(partition)) {
      for (const { store } of task.stores.entries) stores.set(store.name, store);
    }
    return stores;
  }

  /** Throws TestDriverError if there is none of that name. */
  getStateStore(name: string, partition = 0): StateStore {
    for (const task of this.#tasksOf(partition)) {
      const store = storeOf(task, name);
      if (store !== undefined) return store;
    }
    const known = [...this.getAllStateStores(partition).keys()].sort().join(', ') || 'none';
    throw new TestDriverError(
      `There is no store ${name} on partition ${String(partition)}; there are: ${known}.`,
      { context: { store: name, partition } },
    );
  }

  /** What is put into it goes to its changelog, too, with the next call. */
  getKeyValueStore<K, V>(name: string, partition = 0): KeyValueStore<K, V> {
    return this.#typed(name, partition, 'range', 'key-value store') as KeyValueStore<K, V>;
  }

  getWindowStore<K, V>(name: string, partition = 0): WindowStore<K, V> {
    return this.#typed(name, partition, 'fetchAll', 'window store') as WindowStore<K, V>;
  }

  // -------------------------------------------------------------------------------- metrics

  /** Records that were skipped: by rule, by handlers, or because they came too late. */
  get droppedRecordCount(): number {
    return this.#tasks.reduce((sum, task) => sum + task.droppedCount, 0);
  }

  // ---------------------------------------------------------------------------------- close

  /**
   * Flushes caches and commits, then closes nodes and stores; what was written can still be read.
   * After a failure nothing is flushed. A second call does nothing.
   */
  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return this.#do(() => {
      this.#isClosed = true;
      const flushed = this.#failure === null ? this.#flush() : undefined;
      return andThen(flushed, () => inTurn(this.#tasks, closeTask));
    }, true);
  }

  // -------------------------------------------------------------------------------- private

  #start(): Outcome {
    return inTurn(this.#tasks, (task) =>
      andThen(startTask(task), () => {
        this.#partitions.add(task);
        return undefined;
      }),
    );
  }

  /** One call after the other; a call that fails leaves nothing to go on with. */
  #do(work: () => Outcome, isClose = false): Promise<void> {
    const guarded = (): Outcome => {
      if (!isClose) this.#checkUsable();
      return work();
    };
    if (this.#busy !== null) return this.#holdFor(this.#busy.then(guarded));
    let outcome: Outcome;
    try {
      outcome = guarded();
    } catch (error) {
      return Promise.reject(this.#failed(error));
    }
    return outcome === undefined ? Promise.resolve() : this.#holdFor(outcome);
  }

  /** Whoever called is told of a failure; the calls after it find out by themselves. */
  #holdFor(outcome: Promise<void>): Promise<void> {
    const done = outcome.catch((error: unknown) => {
      throw this.#failed(error);
    });
    const settled: Promise<void> = done.then(
      () => undefined,
      () => undefined,
    );
    this.#busy = settled;
    void settled.then(() => {
      if (this.#busy === settled) this.#busy = null;
    });
    return done;
  }

  #failed(error: unknown): Error {
    if (!(error instanceof TestDriverError)) this.#failure ??= error;
    return error as Error;
  }

  #checkUsable(): void {
    if (this.#isClosed) throw new TestDriverError('The driver is closed.');
    if (this.#failure === null) return;
    throw new TestDriverError(
      'The driver has failed before, as a stream thread would have; make a new one to go on.',
      { cause: this.#failure },
    );
  }

  #pipe(
    topic: string,
    key: Uint8Array | null,
    value: Uint8Array | null,
    timestamp: number,
    headers: RecordHeaders | null,
    partition: number | undefined,
  ): Outcome {
    const to = partition ?? this.#choosePartition(topic, key);
    if (!this.#partitions.has(topic, to)) throw this.#unknownTopic(topic, to);
    this.#partitions.append(topic, to, { key, value, timestamp, headers });
    return this.#work();
  }

  #choosePartition(topic: string, key: Uint8Array | null): number {
    const count = this.#layout.partitionCounts.get(topic) ?? 1;
    if (count === 1) return 0;
    if (key !== null) return toPositive(murmur2(Buffer.from(key), 0, key.length)) % count;
    const next = this.#nextWithoutKey.get(topic) ?? 0;
    this.#nextWithoutKey.set(topic, (next + 1) % count);
    return next;
  }

  #unknownTopic(topic: string, partition: number): TestDriverError {
    const count = this.#layout.partitionCounts.get(topic);
    const topics = this.#layout.topology.subtopologies.flatMap((part) => part.sourceTopics);
    const known = [...new Set(topics)].sort().join(', ') || 'none';
    return new TestDriverError(
      count === undefined
        ? `Unknown topic: ${topic}. The topology reads: ${known}.`
        : `The topic ${topic} has no partition ${String(partition)}: it has ${String(count)}.`,
      { context: { topic, partition } },
    );
  }

  /** Until no task has anything left to do. */
  #work(): Outcome {
    for (;;) {
      const now = this.#clock.now();
      const task = this.#tasks.find((one) => one.isReady(now));
      if (task === undefined) return undefined;
      const outcome = this.#step(task, now);
      if (outcome !== undefined) return outcome.then(() => this.#work());
    }
  }

  #step(task: StreamTask, now: number): Outcome {
    return andThen(processOne(task, now), () =>
      andThen(commitTask(task), () => {
        this.#capture();
        return undefined;
      }),
    );
  }

  /** Caches let go what they hold, and the tasks process what follows from it. */
  #flush(): Outcome {
    return andThen(inTurn(this.#tasks, commitTask), () => {
      this.#capture();
      return this.#work();
    });
  }

  /** What was sent can be read now, and goes to the tasks that read its topic. */
  #capture(): void {
    for (const record of this.#producer.take()) {
      this.#written.add(record.topic);
      this.#unreadOf(record.topic).records.push(record);
      this.#partitions.append(record.topic, record.partition, record);
    }
  }

  #unreadOf(topic: string): Unread {
    let unread = this.#unread.get(topic);
    if (unread === undefined) {
      unread = { records: [] };
      this.#unread.set(topic, unread);
    }
    return unread;
  }

  #tasksOf(partition: number): readonly StreamTask[] {
    return this.#tasks.filter((task) => task.id.partition === partition);
  }

  #typed(name: string, partition: number, method: string, kind: string): StateStore {
    const store = this.getStateStore(name, partition);
    if (method in store) return store;
    throw new TestDriverError(`The store ${name} is no ${kind}.`, { context: { store: name } });
  }
}
