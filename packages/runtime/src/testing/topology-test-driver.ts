import { murmur2, toPositive } from '@millrace/protocol';
import type { Logger } from 'pino';
import { bindOptions } from '../bind-options.ts';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { loadConfig } from '../config/load-config.ts';
import { durationMs, type Duration } from '../dsl/duration.ts';
import { silentLogger } from '../logging/logger.ts';
import type { Outcome } from '../operators/outcome.ts';
import { systemClock } from '../platform/clock.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import type { SessionStore } from '../state/session-store.ts';
import type { StateStore } from '../state/store.ts';
import { isVersionedStore, type VersionedKeyValueStore } from '../state/versioned-store.ts';
import type { WindowStore } from '../state/window-store.ts';
import type { BuiltTopology } from '../topology/built-topology.ts';
import { matchesTopic } from '../topology/topic-pattern.ts';
import { bindTopology, type Topology } from '../topology/topology.ts';
import { DriverClock } from './driver-clock.ts';
import { DriverEngine, type EngineOptions } from './driver-engine.ts';
import type { ProducedBytes } from './driver-producer.ts';
import { andThen } from './driver-tasks.ts';
import type { PartitionsOption } from './driver-topology.ts';
import { TestDriverError } from './test-driver-error.ts';
import { TestInputTopic, type PipedBytes } from './test-input-topic.ts';
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
  readonly partitions?: PartitionsOption | undefined;
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
  readonly #built: BuiltTopology;
  readonly #clock: DriverClock;
  readonly #engineOptions: Omit<EngineOptions, 'built'>;
  readonly #unread = new Map<string, Unread>();
  readonly #written = new Set<string>();
  readonly #inputTopics = new Set<string>();
  readonly #nextWithoutKey = new Map<string, number>();
  /** null: not started, because of sources by pattern. */
  #engine: DriverEngine | null = null;
  /** The call in progress; the next one waits for it. */
  #busy: Promise<void> | null = null;
  #failure: unknown = null;
  #isClosed = false;

  /**
   * `application.id` is `test` unless it is given; environment variables do not count. Throws what
   * KafkaStreams throws for a configuration or topology that cannot work, and what nodes throw when
   * they start; if they start asynchronously, the first call rejects instead.
   *
   * A topology with sources by pattern starts with the first call that needs it: they read those of
   * the input topics that were created by then.
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
    this.#built = bindTopology(topology, bindOptions(loaded));
    const { startTime } = options;
    this.#clock = new DriverClock(startTime === undefined ? systemClock.now() : epochMs(startTime));
    this.#engineOptions = {
      config: loaded,
      partitions: options.partitions,
      clock: this.#clock,
      logger: options.logger ?? silentLogger(),
      onProduced: (record) => {
        this.#produced(record);
      },
    };
    if (this.#built.patterns.length === 0) this.#started();
  }

  // --------------------------------------------------------------------------------- topics

  /** The topology must read the topic, or piping throws. */
  createInputTopic<K, V>(topic: string, options: InputTopicOptions<K, V>): TestInputTopic<K, V> {
    this.#inputTopics.add(topic);
    return new TestInputTopic(topic, options, this.#clock.now(), (piped) =>
      this.#do((engine) => this.#pipe(engine, topic, piped)),
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
    return this.#started().streamTimeMs;
  }

  /** Moves the wall clock on; then wall-clock punctuation, which happens once at most, and a commit. */
  advanceWallClockTime(by: Duration): Promise<void> {
    return this.#do((engine) => {
      this.#clock.advance(durationMs(by, 'the time to advance'));
      return engine.punctuate();
    });
  }

  // --------------------------------------------------------------------------------- stores

  /** All stores of the tasks of that partition and the global ones, by name. */
  getAllStateStores(partition = 0): ReadonlyMap<string, StateStore> {
    return this.#started().stores(partition);
  }

  /** Throws TestDriverError if there is none of that name. */
  getStateStore(name: string, partition = 0): StateStore {
    const stores = this.getAllStateStores(partition);
    const store = stores.get(name);
    if (store !== undefined) return store;
    const known = [...stores.keys()].sort().join(', ') || 'none';
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

  getSessionStore<K, V>(name: string, partition = 0): SessionStore<K, V> {
    return this.#typed(name, partition, 'findSessions', 'session store') as SessionStore<K, V>;
  }

  getVersionedKeyValueStore<K, V>(name: string, partition = 0): VersionedKeyValueStore<K, V> {
    const store = this.getStateStore(name, partition);
    if (isVersionedStore(store)) return store as unknown as VersionedKeyValueStore<K, V>;
    throw new TestDriverError(`The store ${name} is not versioned.`, { context: { store: name } });
  }

  // -------------------------------------------------------------------------------- metrics

  /** Records that were skipped: by rule, by handlers, or because they came too late. */
  get droppedRecordCount(): number {
    return this.#started().droppedCount;
  }

  // ---------------------------------------------------------------------------------- close

  /**
   * Flushes caches and commits, then closes nodes and stores; what was written can still be read.
   * After a failure nothing is flushed. A second call does nothing.
   */
  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return this.#do((engine) => {
      this.#isClosed = true;
      const flushed = this.#failure === null ? engine.flush() : undefined;
      return andThen(flushed, () => engine.close());
    }, true);
  }

  // -------------------------------------------------------------------------------- private

  #started(): DriverEngine {
    if (this.#engine !== null) return this.#engine;
    const built = this.#built.matching(this.#inputTopics);
    const engine = new DriverEngine({ ...this.#engineOptions, built });
    this.#engine = engine;
    const started = engine.start();
    // A failure is told by the first call.
    if (started !== undefined) this.#holdFor(started).catch(() => undefined);
    return engine;
  }

  /** One call after the other; a call that fails leaves nothing to go on with. */
  #do(work: (engine: DriverEngine) => Outcome, isClose = false): Promise<void> {
    const guarded = (): Outcome => {
      if (!isClose) this.#checkUsable();
      return work(this.#started());
    };
    let outcome: Outcome;
    try {
      this.#started();
      if (this.#busy !== null) return this.#holdFor(this.#busy.then(guarded));
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

  #pipe(engine: DriverEngine, topic: string, piped: PipedBytes): Outcome {
    const partition = piped.partition ?? this.#choosePartition(engine, topic, piped);
    if (!engine.reads(topic, partition)) throw this.#notRead(engine, topic, partition);
    return engine.pipe(topic, partition, piped);
  }

  #choosePartition(engine: DriverEngine, topic: string, { key, hashedBytes }: PipedBytes): number {
    const count = engine.layout.partitionCounts.get(topic) ?? 1;
    if (count === 1) return 0;
    if (key !== null) return toPositive(murmur2(Buffer.from(key), 0, hashedBytes)) % count;
    const next = this.#nextWithoutKey.get(topic) ?? 0;
    this.#nextWithoutKey.set(topic, (next + 1) % count);
    return next;
  }

  #notRead(engine: DriverEngine, topic: string, partition: number): TestDriverError {
    const { partitionCounts, topology } = engine.layout;
    const context = { topic, partition };
    const count = partitionCounts.get(topic);
    if (count !== undefined) {
      return new TestDriverError(
        `The topic ${topic} has no partition ${String(partition)}: it has ${String(count)}.`,
        { context },
      );
    }
    if (this.#built.patterns.some((pattern) => matchesTopic(pattern, topic))) {
      return new TestDriverError(
        `The topic ${topic} matches a pattern, but was not there when the topology started: create its input topic ` +
          'before the first record is piped.',
        { context },
      );
    }
    const topics = topology.subtopologies.flatMap((part) => part.sourceTopics);
    const global = topology.global?.storeOfTopic.keys() ?? [];
    const known = [...new Set([...topics, ...global])].sort().join(', ') || 'none';
    return new TestDriverError(`Unknown topic: ${topic}. The topology reads: ${known}.`, {
      context,
    });
  }

  #produced(record: ProducedBytes): void {
    this.#written.add(record.topic);
    this.#unreadOf(record.topic).records.push(record);
  }

  #unreadOf(topic: string): Unread {
    let unread = this.#unread.get(topic);
    if (unread === undefined) {
      unread = { records: [] };
      this.#unread.set(topic, unread);
    }
    return unread;
  }

  #typed(name: string, partition: number, method: string, kind: string): StateStore {
    const store = this.getStateStore(name, partition);
    if (method in store) return store;
    throw new TestDriverError(`The store ${name} is no ${kind}.`, { context: { store: name } });
  }
}
