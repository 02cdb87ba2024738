import { BehaviorSubject, Subject } from 'rxjs';
import type { Observable } from 'rxjs';
import type { Logger } from 'pino';
import { InternalTopics } from './assignment/internal-topics.ts';
import type { TopicsReady } from './assignment/leader.ts';
import { isInternalTopicLost } from './assignment/partition-counts.ts';
import { TopicMatcher } from './assignment/topic-matcher.ts';
import { bindOptions } from './bind-options.ts';
import type { AdminPort, StreamsClient } from './client/ports.ts';
import type { StreamsConfigInput } from './config/config-input.ts';
import { loadConfig } from './config/load-config.ts';
import type { StreamsConfig } from './config/streams-config.ts';
import { InvariantError, TopologyError } from './errors.ts';
import { healthOf, type StreamsHealth } from './health.ts';
import { openClient } from './open-client.ts';
import type { UncaughtExceptionAnswer } from './error-handlers.ts';
import type {
  CloseOptions,
  KafkaStreamsOptions,
  RemoveStreamThreadOptions,
  StreamThreadMetadata,
} from './kafka-streams-options.ts';
import {
  CLEAN_UP_INTERVAL_MIN_MS,
  CLOSE_TIMEOUT_DEFAULT_MS,
  EVENT_LOOP_LOOK_INTERVAL_MS,
} from './limits.ts';
import { createLogger } from './logging/logger.ts';
import { registerClientMetrics } from './metrics/client-metrics.ts';
import type { Metric } from './metrics/registry.ts';
import { MetricsRegistry } from './metrics/registry.ts';
import type { RecordingLevel } from './metrics/definition.ts';
import { WindowedValues } from './metrics/windows.ts';
import type { Clock, Timer } from './platform/clock.ts';
import { systemClock } from './platform/clock.ts';
import { BoundedSteps } from './platform/bounded-steps.ts';
import { yieldToEventLoop } from './platform/event-loop.ts';
import { watchEventLoop, type EventLoopWatch } from './platform/watch-event-loop.ts';
import type { Random } from './platform/random.ts';
import { systemRandom } from './platform/random.ts';
import type { RestoreProgress } from './restore/progress.ts';
import { processIdentity } from './state/directory/process-identity.ts';
import { StateDirectory } from './state/directory/state-directory.ts';
import { StateMachine } from './state-machine.ts';
import type { StateChange, StreamsEvent, StreamsState } from './states.ts';
import { streamsStates, streamsTransitions } from './states.ts';
import { GlobalThread } from './tasks/global-thread.ts';
import { StreamThread } from './tasks/stream-thread.ts';
import { ThreadPool } from './tasks/thread-pool.ts';
import { ThreadShares } from './tasks/thread-shares.ts';
import type { BuiltTopology } from './topology/built-topology.ts';
import type { Topology } from './topology/topology.ts';
import { bindTopology } from './topology/topology.ts';
import { uuidFrom } from './platform/uuid.ts';

/**
 * Runs a topology against a Kafka cluster: joins the group, restores state, processes, commits and
 * purges, until it is closed.
 *
 * The constructor does no I/O, and throws one ConfigError or TopologyError for all that is wrong.
 * Nothing dies silently: a stream thread that fails brings the client to ERROR (unless the uncaught
 * exception handler replaces it), `run()` rejects, and `close()` settles in every state.
 */
export class KafkaStreams {
  readonly #config: StreamsConfig;
  readonly #topology: BuiltTopology;
  readonly #hints: readonly string[];
  readonly #options: KafkaStreamsOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #metrics: MetricsRegistry;
  readonly #states: StateMachine<StreamsState, StreamsEvent>;
  readonly #stateChanges: BehaviorSubject<StateChange>;
  readonly #restoration = new Subject<RestoreProgress>();
  /** With stores on disk it is the one of the former runs there, once the client has started. */
  #processId: string;
  readonly #clientId: string;
  #client: StreamsClient | null = null;
  #admin: AdminPort | null = null;
  readonly #threads: ThreadPool<StreamThread>;
  readonly #shares: ThreadShares;
  /** Keeps the global stores; null if the topology has none. */
  #globalThread: GlobalThread | null = null;
  #matcher: TopicMatcher | null = null;
  #internalTopics: InternalTopics | null = null;
  /** Held while the client runs; null if no store is on disk. */
  #stateDirectory: StateDirectory | null = null;
  #cleanUpTimer: Timer | null = null;
  readonly #eventLoopLag = new WindowedValues();
  #eventLoopWatch: EventLoopWatch | null = null;
  #failedGlobalThreadCount = 0;
  #isPaused = false;
  #failure: Error | null = null;
  #closing: Promise<boolean> | null = null;
  readonly #ended: Promise<void>;
  #end: () => void = () => undefined;

  constructor(topology: Topology, config: StreamsConfigInput, options: KafkaStreamsOptions = {}) {
    this.#options = options;
    const isGivenClient = options.kafka !== undefined || options.client !== undefined;
    this.#config = loadConfig({
      config,
      environment: options.environment ?? process.env,
      notRequired: isGivenClient ? ['bootstrap.servers'] : [],
      ...(options.configFile === undefined ? {} : { file: options.configFile }),
    });
    this.#topology = bindTopology(topology, { ...bindOptions(this.#config), isOnDisk: true });
    this.#hints = topology.describe().hints;
    this.#refuseEmpty();
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#processId = uuidFrom(this.#random);
    const applicationId = this.#config.get('application.id');
    this.#clientId = this.#config.get('client.id') || `${applicationId}-${this.#processId}`;
    this.#logger = (options.logger ?? createLogger()).child({ application: applicationId });
    this.#stateChanges = new BehaviorSubject<StateChange>({
      state: 'CREATED',
      previous: 'CREATED',
    });
    this.#states = new StateMachine('client', streamsTransitions, 'CREATED', (state, previous) => {
      this.#logger.info({ from: previous, to: state }, 'state');
      this.#stateChanges.next({ state, previous });
    });
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#metrics = new MetricsRegistry({
      level: this.#config.get('metrics.recording.level') as RecordingLevel,
      windowMs: this.#config.get('metrics.sample.window.ms'),
      sampleCount: this.#config.get('metrics.num.samples'),
      clock: this.#clock,
    });
    this.#shares = new ThreadShares(this.#config, this.#topology.global !== null);
    this.#threads = this.#createThreadPool();
    const description = topology.describe().toString();
    this.#measure(applicationId, description);
  }

  get state(): StreamsState {
    return this.#states.state;
  }

  /** The state now and every change of it; completes with NOT_RUNNING or ERROR. */
  get state$(): Observable<StateChange> {
    return this.#stateChanges.asObservable();
  }

  /** Progress of each store's restoration; completes when the client has ended. */
  get restore$(): Observable<RestoreProgress> {
    return this.#restoration.asObservable();
  }

  /** What made the client end in ERROR; null otherwise. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** For probes: whether the client still does its work, and whether all of it is up. */
  health(): StreamsHealth {
    const { state } = this;
    const global = this.#globalThread === null ? [] : [this.#globalThread];
    return healthOf(state, this.#failure, [...this.#threads.threads, ...global]);
  }

  /**
   * Everything that is measured at this moment, under Kafka Streams' names; docs/metrics.md lists it. Read
   * them here, or export them with `registerPrometheusMetrics` or `registerOpenTelemetryMetrics`.
   */
  metrics(): readonly Metric[] {
    return this.#metrics.list();
  }

  /**
   * Connects, restores the global stores if there are any, and joins the group. Rejects, and ends in
   * ERROR, if not even that is possible; only once.
   */
  async start(): Promise<void> {
    this.#states.fire('start');
    this.#metrics.start();
    this.#eventLoopWatch = watchEventLoop(EVENT_LOOP_LOOK_INTERVAL_MS, (lateMs) => {
      this.#eventLoopLag.record(lateMs);
    });
    if (this.#config.withoutEffect.length > 0) {
      this.#logger.info({ keys: this.#config.withoutEffect }, 'these settings have no effect');
    }
    for (const hint of this.#hints)
      this.#logger.info({ hint }, 'the topology may not be what was meant');
    try {
      await this.#openState();
      this.#client = openClient(this.#config, this.#options, {
        clientId: this.#clientId,
        clock: this.#clock,
        random: this.#random,
        logger: this.#logger,
      });
      this.#admin = this.#client.admin();
      this.#matcher = this.#createMatcher(this.#admin);
      const topicOptions = {
        replicationFactor: this.#config.get('replication.factor'),
        topicDefaults: this.#config.topicDefaults,
      };
      this.#internalTopics = new InternalTopics(
        this.#admin,
        topicOptions,
        this.#clock,
        this.#logger,
      );
      await this.#matcher.refresh();
      await this.#startGlobalThread();
      if (this.#closing !== null) return;
      // With global stores only, nothing is left to be done by stream threads.
      const threadCount =
        this.#topology.subtopologies.length === 0 ? 0 : this.#config.get('num.stream.threads');
      this.#threads.start(threadCount);
      if (threadCount === 0) this.#onThreadState();
      this.#matcher.start();
    } catch (error) {
      await this.#shutDownWith(error as Error);
      throw error;
    }
  }

  /**
   * One more stream thread, which takes part in the next rebalance (KIP-663). Returns its name, or null
   * unless the client is RUNNING or REBALANCING.
   */
  addStreamThread(): string | null {
    if (!this.#isUp || this.#topology.subtopologies.length === 0) return null;
    return this.#threads.add();
  }

  /**
   * One stream thread less (KIP-663): it finishes the records in hand, commits and leaves the group, as
   * a static member, too; its tasks go to the others. Resolves with its name, or with null if there is
   * none, or unless the client is RUNNING or REBALANCING. With no thread left nothing is processed here.
   * Not to be awaited by a user function, for which the thread waits.
   */
  removeStreamThread(options: RemoveStreamThreadOptions = {}): Promise<string | null> {
    if (!this.#isUp) return Promise.resolve(null);
    return this.#threads.remove(options.timeoutMs ?? CLOSE_TIMEOUT_DEFAULT_MS);
  }

  /**
   * Stops processing, punctuating and restoring, but not fetching, until `resume()` (KIP-834). The client
   * stays in its group with its tasks, and commits what is done. Before `start()`, too. Global stores are
   * kept up to date meanwhile.
   */
  pause(): void {
    this.#isPaused = true;
  }

  /** Goes on after `pause()`. */
  resume(): void {
    this.#isPaused = false;
    for (const thread of this.#threads.threads) thread.resumed();
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** The stream threads of this client now, with their states and tasks. */
  threads(): readonly StreamThreadMetadata[] {
    return this.#threads.threads.map(({ name, state, tasks }) => ({
      name,
      state,
      tasks: tasks.map((task) => ({ taskId: task.name, state: task.state, inputs: task.inputs })),
    }));
  }

  /**
   * Removes all local state of the application on this machine, so that the next start restores it.
   * Only while the client is not running: before `start()`, or after `close()`.
   *
   * @throws StateDirLockedError when another process uses the state directory
   */
  async cleanUp(): Promise<void> {
    if (this.state !== 'CREATED' && this.state !== 'NOT_RUNNING' && this.state !== 'ERROR') {
      throw new InvariantError('cleanUp() was called while the client runs: close it first');
    }
    const directory = await this.#lockState();
    directory.removeAll();
    await directory.close(true);
  }

  /** Starts and stays until the client has ended; rejects with what made it end in ERROR. */
  async run(): Promise<void> {
    await this.start();
    await this.#ended;
    if (this.#failure !== null) throw this.#failure;
  }

  /**
   * Finishes the records in hand, commits, leaves the group, ends every connection. Always settles, by
   * `timeoutMs` at the latest; false if something had to be left undone (at worst records are
   * processed again). May be called at any time, more than once, and from a user function.
   */
  close(options: CloseOptions = {}): Promise<boolean> {
    this.#closing ??= this.#close('shutdown', options.timeoutMs ?? CLOSE_TIMEOUT_DEFAULT_MS);
    return this.#closing;
  }

  async #close(event: 'shutdown' | 'fail', timeoutMs: number): Promise<boolean> {
    this.#states.tryFire(event);
    const steps = new BoundedSteps(this.#clock, timeoutMs, (step, error) => {
      this.#logger.debug({ err: error, step }, 'a step of the stop failed');
    });
    this.#matcher?.stop();
    this.#internalTopics?.close();
    const reports = [...(await this.#threads.stop(steps.leftMs))];
    await steps.run('end the threads that were removed', () => this.#threads.left());
    // After those that read its stores.
    if (this.#globalThread !== null) reports.push(await this.#globalThread.stop(steps.leftMs));
    const client = this.#client;
    if (client !== null) await steps.run('close the client', (leftMs) => client.close(leftMs));
    this.#cleanUpTimer?.cancel();
    this.#eventLoopWatch?.stop();
    this.#metrics.close();
    const isClean = reports.every((report) => report.leftUndone.length === 0);
    await steps.run('release the state directory', () => this.#releaseState(isClean));
    const leftUndone = [...reports.flatMap((report) => report.leftUndone), ...steps.leftUndone];
    if (leftUndone.length > 0) {
      this.#logger.warn({ leftUndone, timeoutMs }, 'the stop could not finish everything in time');
    }
    this.#states.tryFire('stopped');
    this.#stateChanges.complete();
    this.#restoration.complete();
    this.#end();
    return leftUndone.length === 0;
  }

  // ----------------------------------------------------------------------------------- threads

  get #isUp(): boolean {
    return this.state === 'RUNNING' || this.state === 'REBALANCING';
  }

  #createThreadPool(): ThreadPool<StreamThread> {
    return new ThreadPool({
      create: (index, onFailed) => this.#createThread(index, onFailed),
      clock: this.#clock,
      logger: this.#logger,
      stopTimeoutMs: this.#config.get('task.timeout.ms'),
      ask: (error, threadName) => {
        const answer = this.#askUncaughtHandler(error, threadName);
        return isInternalTopicLost(error, this.#topology) ? 'shutdown-application' : answer;
      },
      onChanged: (isReplacing) => {
        this.#shares.shareAmong(this.#threads.threads.length);
        if (isReplacing) this.#states.tryFire('rebalance');
        this.#onThreadState();
      },
      onGivenUp: (error) => {
        void this.#shutDownWith(error);
      },
    });
  }

  #lockState(): Promise<StateDirectory> {
    return StateDirectory.open({
      stateDir: this.#config.get('state.dir'),
      applicationId: this.#config.get('application.id'),
      logger: this.#logger,
    });
  }

  async #openState(): Promise<void> {
    if (!this.#topology.isOnDisk) return;
    const directory = await this.#lockState();
    this.#stateDirectory = directory;
    this.#processId = processIdentity(directory.path, this.#random, this.#logger);
    const maxAgeMs = this.#config.get('state.cleanup.dir.max.age.ms');
    if (maxAgeMs >= 0) directory.cleanUp(() => false, this.#clock.now(), maxAgeMs);
    this.#cleanUpLater(directory);
  }

  /** The state of tasks that have gone elsewhere is kept for a while, in case they come back. */
  #cleanUpLater(directory: StateDirectory): void {
    const delayMs = this.#config.get('state.cleanup.delay.ms');
    this.#cleanUpTimer = this.#clock.setTimer(Math.max(delayMs, CLEAN_UP_INTERVAL_MIN_MS), () => {
      directory.cleanUp((task) => this.#ownsTask(task), this.#clock.now(), delayMs);
      this.#cleanUpLater(directory);
    });
  }

  #ownsTask(task: string): boolean {
    return this.#threads.threads.some((thread) => thread.hasTask(task));
  }

  async #releaseState(isClean: boolean): Promise<void> {
    const directory = this.#stateDirectory;
    this.#stateDirectory = null;
    await directory?.close(isClean);
  }

  #refuseEmpty(): void {
    if (this.#topology.subtopologies.length > 0 || this.#topology.global !== null) return;
    throw new TopologyError(
      'The topology reads no topic: begin with stream(), table() or globalTable() of a StreamsBuilder, or with addSource().',
    );
  }

  #createMatcher(admin: AdminPort): TopicMatcher {
    return new TopicMatcher({
      topology: this.#topology,
      admin,
      clock: this.#clock,
      intervalMs: this.#config.get('metadata.max.age.ms'),
      logger: this.#logger,
      onChanged: () => {
        for (const thread of this.#threads.threads) thread.topicsChanged();
      },
    });
  }

  async #startGlobalThread(): Promise<void> {
    const { global } = this.#topology;
    if (global === null) return;
    this.#globalThread = new GlobalThread({
      name: `${this.#clientId}-GlobalStreamThread`,
      clientId: this.#clientId,
      topology: global,
      config: this.#config,
      client: this.#client as StreamsClient,
      admin: this.#admin as AdminPort,
      stateDirectory: this.#stateDirectory,
      clock: this.#clock,
      yieldToEventLoop: this.#options.yieldToEventLoop ?? yieldToEventLoop,
      logger: this.#logger,
      metrics: this.#metrics,
      onState: () => {
        this.#onThreadState();
      },
      onRestore: (progress) => {
        this.#onRestore(progress);
      },
      // It has no replacement: what tasks join with would be out of date from here on.
      onFailed: (error) => {
        this.#failedGlobalThreadCount++;
        const answer = this.#askUncaughtHandler(error, `${this.#clientId}-GlobalStreamThread`);
        if (answer === 'shutdown-application') this.#threads.shutDownApplication(error);
        else void this.#shutDownWith(error);
      },
    });
    await this.#globalThread.start();
  }

  #createThread(index: number, onFailed: (error: Error) => void): StreamThread {
    const client = this.#client as StreamsClient;
    const admin = this.#admin as AdminPort;
    const matcher = this.#matcher as TopicMatcher;
    const name = `${this.#clientId}-StreamThread-${String(index)}`;
    return new StreamThread({
      index,
      name,
      clientId: this.#clientId,
      processId: this.#processId,
      matcher,
      globalStores: this.#globalThread?.stores,
      stateDirectory: this.#stateDirectory,
      config: this.#config,
      client,
      admin,
      ensureTopics: () => this.#ensureTopics(matcher),
      onAssigned: (subtopologies) => this.#internalTopics?.assigned(subtopologies),
      clock: this.#clock,
      random: this.#random,
      yieldToEventLoop: this.#options.yieldToEventLoop ?? yieldToEventLoop,
      logger: this.#logger,
      metrics: this.#metrics,
      shares: this.#shares,
      isPaused: () => this.#isPaused,
      onState: () => {
        this.#onThreadState();
      },
      onRestore: (progress) => {
        this.#onRestore(progress);
      },
      onFailed,
    });
  }

  async #ensureTopics(matcher: TopicMatcher): Promise<TopicsReady> {
    await matcher.refresh();
    const { topology } = matcher;
    const counts = await (this.#internalTopics as InternalTopics).ensure(topology);
    return { topology, counts };
  }

  #onThreadState(): void {
    const isGlobalReady = this.#globalThread === null || this.#globalThread.state === 'RUNNING';
    const { threads } = this.#threads;
    const areThreadsReady = threads.every((thread) => thread.state === 'RUNNING');
    const areThreadsThere = threads.length > 0 || this.#topology.subtopologies.length === 0;
    if (isGlobalReady && areThreadsThere && areThreadsReady) {
      if (this.state === 'REBALANCING') this.#states.tryFire('allRunning');
    } else if (
      this.state === 'RUNNING' &&
      threads.some(({ state }) => state === 'PARTITIONS_REVOKED' || state === 'PARTITIONS_ASSIGNED')
    ) {
      this.#states.tryFire('rebalance');
    }
  }

  #askUncaughtHandler(error: Error, threadName: string): UncaughtExceptionAnswer {
    const handler = this.#options.uncaughtExceptionHandler;
    if (handler === undefined) return 'shutdown-client';
    try {
      return handler(error, threadName);
    } catch (failure) {
      this.#logger.error({ err: failure }, 'the uncaught exception handler failed');
      return 'shutdown-client';
    }
  }

  /** To ERROR, once; a close that is under way goes on as it is. */
  async #shutDownWith(error: Error): Promise<void> {
    this.#failure ??= error;
    this.#closing ??= this.#close('fail', CLOSE_TIMEOUT_DEFAULT_MS);
    await this.#closing;
  }

  #onRestore(progress: RestoreProgress): void {
    const { kind, storeName, topic, partition, restoredRecords } = progress;
    const fields = {
      store: storeName,
      topic,
      partition,
      offset: progress.currentOffset.toString(),
      endOffset: progress.endOffset.toString(),
      restoredRecords,
    };
    if (progress.startOffset < progress.endOffset) {
      if (kind === 'batch') this.#logger.debug(fields, 'restoring');
      else this.#logger.info(fields, `restoration: ${kind}`);
    }
    this.#restoration.next(progress);
  }

  #measure(applicationId: string, topologyDescription: string): void {
    registerClientMetrics(this.#metrics, {
      clientId: this.#clientId,
      applicationId,
      processId: this.#processId,
      topologyDescription,
      state: () => this.state,
      stateIndex: () => streamsStates.indexOf(this.state),
      aliveThreadCount: () => this.#threads.threads.filter(({ state }) => state !== 'DEAD').length,
      failedThreadCount: () => this.#threads.failedCount + this.#failedGlobalThreadCount,
      eventLoopLag: this.#eventLoopLag,
    });
  }
}
