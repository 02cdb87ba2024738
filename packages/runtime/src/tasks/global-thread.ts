import type { Logger } from 'pino';
import { OffsetOutOfRangeError } from '../client/errors.ts';
import type { AdminPort, FetchedPartition, FetchPort, StreamsClient } from '../client/ports.ts';
import type { StreamsConfig } from '../config/streams-config.ts';
import { StreamsError, TaskCorruptedError } from '../errors.ts';
import {
  GLOBAL_COMMIT_BYTES,
  GLOBAL_SLICE_RECORDS,
  RESTORE_BUFFER_MAX_BYTES,
  RESTORE_SLICE_MAX_MS,
  RETRY_BACKOFF_MS,
} from '../limits.ts';
import { registerGlobalMetrics } from '../metrics/global-metrics.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';
import { BoundedSteps } from '../platform/bounded-steps.ts';
import type { Clock } from '../platform/clock.ts';
import type { YieldToEventLoop } from '../platform/event-loop.ts';
import type { RestoreListener } from '../restore/progress.ts';
import { StateMachine } from '../state-machine.ts';
import type { StateDirectory } from '../state/directory/state-directory.ts';
import type { StateStore } from '../state/store.ts';
import type { GlobalTopology } from '../topology/built-topology.ts';
import { GlobalRestoration } from './global-restoration.ts';
import type { GlobalState } from './global-state.ts';
import { GlobalStates } from './global-states.ts';
import { globalStoreView } from './global-store-view.ts';
import type { GlobalThreadEvent, GlobalThreadState } from './global-thread-states.ts';
import { globalThreadTransitions } from './global-thread-states.ts';
import { lookUpGlobalTopics, type GlobalPartition } from './global-topics.ts';
import type { RecordQueue } from './record-queue.ts';
import { LoopSleeper } from './sleeper.ts';
import type { StopReport } from './thread-options.ts';
import { openGlobalFetcher } from './thread-ports.ts';

export interface GlobalThreadOptions {
  /** `<client.id>-GlobalStreamThread`. */
  readonly name: string;
  readonly clientId: string;
  readonly topology: GlobalTopology;
  readonly config: StreamsConfig;
  readonly client: StreamsClient;
  readonly admin: AdminPort;
  /** Where stores on disk are kept; null if there are none. */
  readonly stateDirectory: StateDirectory | null;
  readonly clock: Clock;
  readonly yieldToEventLoop: YieldToEventLoop;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly onState: (state: GlobalThreadState) => void;
  readonly onRestore: RestoreListener;
  /** The thread has ended with this error. */
  readonly onFailed: (error: Error) => void;
}

/**
 * Keeps an instance's global stores: fills them from all partitions of their topics before any task
 * runs, then applies what arrives, on connections of its own, while tasks read the stores. It belongs
 * to no group; stores on disk keep the positions that they stand at, and a start goes on from there.
 *
 * A position that is out of range afterwards (the topic was created anew, or trimmed faster than it
 * was read) makes what is there untrustworthy, and so does damage on disk: a fresh state is filled from
 * the beginning, and takes the place of the old one once it is complete. Until then tasks read the old
 * one.
 */
export class GlobalThread {
  readonly name: string;
  readonly #options: GlobalThreadOptions;
  readonly #logger: Logger;
  readonly #states: StateMachine<GlobalThreadState, GlobalThreadEvent>;
  readonly #sleeper: LoopSleeper;
  readonly #fetcher: FetchPort;
  readonly #global: GlobalStates;
  /** What tasks read. */
  #serving: GlobalState;
  /** What records are applied to; the same unless a fresh one is being filled. */
  #filling: GlobalState;
  #restoration: GlobalRestoration | null = null;
  readonly #paused = new Set<RecordQueue>();
  #restoredTotal = 0;
  /** What was fetched and is not applied, or not committed. */
  #uncommittedBytes = 0;
  #committedMs: number;
  /** What a task that read the stores came upon. */
  #damage: TaskCorruptedError | null = null;
  /** The former state is closed in the background. */
  #replacing: Promise<void> = Promise.resolve();
  #isStopping = false;
  #failure: Error | null = null;
  #loop: Promise<void> = Promise.resolve();
  readonly #removeMetrics: () => void;
  /** As tasks may see them. */
  readonly stores: ReadonlyMap<string, StateStore>;

  constructor(options: GlobalThreadOptions) {
    this.name = options.name;
    this.#options = options;
    this.#logger = options.logger.child({ thread: options.name });
    this.#sleeper = new LoopSleeper(options.clock);
    this.#states = new StateMachine(
      options.name,
      globalThreadTransitions,
      'CREATED',
      (next, previous) => {
        this.#logger.debug({ from: previous, to: next }, 'thread state');
        options.onState(next);
      },
    );
    this.#fetcher = openGlobalFetcher(options.client, options.config, () => {
      this.#sleeper.wake();
    });
    this.#committedMs = options.clock.monotonicMs();
    this.#global = new GlobalStates({
      topology: options.topology,
      config: options.config,
      stateDirectory: options.stateDirectory,
      owner: options.name,
      clock: options.clock,
      logger: this.#logger,
      onSpilled: () => {
        this.#sleeper.wake();
      },
      onDamaged: (state, error) => {
        if (state !== this.#serving && state !== this.#filling) return;
        this.#damage = error;
        this.#sleeper.wake();
      },
    });
    this.#serving = this.#global.current();
    this.#filling = this.#serving;
    const current = (name: string): StateStore => this.#serving.stores.get(name) as StateStore;
    this.stores = new Map(
      [...this.#serving.stores.keys()].map((name) => [
        name,
        globalStoreView(name, () => current(name)),
      ]),
    );
    const measured = {
      name: options.name,
      state: () => this.state,
      processedCount: () => this.#filling.processedCount,
      droppedCount: () => this.#filling.droppedCount,
      restoredCount: () => this.#restoredTotal,
      remainingRecords: () => this.#restoration?.remainingRecords ?? 0n,
    };
    this.#removeMetrics = registerGlobalMetrics(options.metrics, measured);
  }

  get state(): GlobalThreadState {
    return this.#states.state;
  }

  /** Resolves when all stores are restored, or the thread is stopped before; rejects with what makes that impossible. */
  start(): Promise<void> {
    const filled = this.#fill();
    this.#loop = filled.then(
      () => this.#run(),
      (error: unknown) => {
        this.#failure = error as Error;
      },
    );
    return filled;
  }

  /** Finishes the record in hand, closes the stores, ends the connections. Never rejects. */
  async stop(timeoutMs: number): Promise<StopReport> {
    const steps = new BoundedSteps(this.#options.clock, timeoutMs, (step, error) => {
      this.#logger.debug({ err: error, step }, 'a step of the stop failed');
    });
    if (this.state === 'DEAD') return steps;
    this.#states.tryFire('shutdown');
    this.#isStopping = true;
    this.#sleeper.wake();
    await steps.run('end the loop of the global thread', () => this.#loop);
    this.#restoration?.suspend();
    await steps.run('close the global stores', async () => {
      await this.#replacing;
      await this.#filling.close();
      if (this.#serving !== this.#filling) await this.#serving.close();
    });
    await steps.run("close the global thread's connections", (leftMs) =>
      this.#fetcher.close(leftMs),
    );
    this.#removeMetrics();
    this.#states.tryFire('stopped');
    return steps;
  }

  // --------------------------------------------------------------------------------------- loop

  async #fill(): Promise<void> {
    try {
      await this.#restore();
      // No task has seen it: what took its place because it could not be used is the only one.
      this.#serving = this.#filling;
      while (this.#restoration !== null && !this.#isStopping) await this.#turn();
    } catch (error) {
      if (!this.#isStopping) throw error;
    }
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isStopping) await this.#turn();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** One bounded pass, then a turn for everybody else; or sleep until something arrives. */
  async #turn(): Promise<void> {
    this.#sleeper.clear();
    const worked = await this.#pass();
    if (this.#isStopping) return;
    if (worked) await this.#options.yieldToEventLoop();
    else await this.#sleeper.sleep(this.#dueMs - this.#options.clock.monotonicMs());
  }

  async #pass(): Promise<boolean> {
    try {
      if (this.#damage !== null) throw this.#damage;
      return await this.#work();
    } catch (error) {
      if (!(error instanceof TaskCorruptedError)) throw error;
      this.#logger.warn({ err: error }, 'the global stores are damaged: they are restored anew');
      await this.#beginAfresh();
      return true;
    }
  }

  async #work(): Promise<boolean> {
    const fetched = this.#fetcher.drain();
    const state = this.#filling;
    for (const part of fetched) {
      await this.#take(part);
      // What else was fetched was for the former state's positions.
      if (this.#filling !== state) break;
    }
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + RESTORE_SLICE_MAX_MS;
    let worked = fetched.length > 0;
    // What waits for the disk takes memory: it goes on when that has caught up.
    while (this.#filling.disk?.isBehind() !== true) {
      const before = this.#filling.processedCount;
      const outcome = this.#filling.process(GLOBAL_SLICE_RECORDS);
      if (outcome !== undefined) await outcome;
      const processed = this.#filling.processedCount - before;
      if (processed === 0) break;
      worked = true;
      if (this.#restoration !== null) this.#restoredTotal += processed;
      if (this.#isStopping || clock.monotonicMs() >= untilMs) break;
    }
    for (const queue of this.#filling.queues) this.#balance(queue);
    this.#commitIfDue();
    this.#lookAtRestoration();
    return worked;
  }

  /** When there is something to be done even if nothing arrives. */
  get #dueMs(): number {
    const spillMs = this.#filling.disk?.spillDueMs ?? Infinity;
    return this.#uncommittedBytes === 0
      ? spillMs
      : Math.min(spillMs, this.#committedMs + this.#commitIntervalMs);
  }

  get #commitIntervalMs(): number {
    return this.#options.config.get('commit.interval.ms');
  }

  #commitIfDue(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const isDue = nowMs - this.#committedMs >= this.#commitIntervalMs;
    if (this.#uncommittedBytes >= GLOBAL_COMMIT_BYTES || (isDue && this.#uncommittedBytes > 0)) {
      this.#commit(nowMs);
    }
    this.#filling.disk?.spillIfDue(nowMs);
  }

  #commit(nowMs: number): void {
    this.#filling.commit();
    this.#committedMs = nowMs;
    this.#uncommittedBytes = 0;
    for (const queue of this.#filling.queues) this.#uncommittedBytes += queue.bufferedBytes;
  }

  async #take(part: FetchedPartition): Promise<void> {
    if (part.error === null) {
      this.#filling.push(part);
      this.#uncommittedBytes += part.records.length;
    } else if (part.error instanceof OffsetOutOfRangeError) await this.#outOfRange(part);
    else throw part.error;
  }

  /** A partition whose bytes pile up is left out of fetches until they are applied. */
  #balance(queue: RecordQueue): void {
    const { topic, partition } = queue;
    const isFull = queue.bufferedBytes >= RESTORE_BUFFER_MAX_BYTES;
    if (isFull === this.#paused.has(queue)) return;
    if (isFull) {
      this.#paused.add(queue);
      this.#fetcher.pause(topic, partition);
    } else {
      this.#paused.delete(queue);
      this.#fetcher.resume(topic, partition);
    }
  }

  // ------------------------------------------------------------------------------------ restore

  /** Opens what is to be filled, and begins to fill it. */
  async #restore(): Promise<void> {
    const { clock, onRestore } = this.#options;
    const partitions = await this.#retrying(() => this.#lookUp());
    if (this.#isStopping) return;
    this.#filling = await this.#global.open(this.#filling, partitions);
    this.#paused.clear();
    this.#uncommittedBytes = 0;
    this.#restoration = new GlobalRestoration(this.#filling, clock, onRestore);
    this.#restoration.begin(partitions, this.#fetcher);
    this.#lookAtRestoration();
  }

  #lookUp(): Promise<readonly GlobalPartition[]> {
    const { topology, admin } = this.#options;
    return lookUpGlobalTopics(topology, admin, this.#fetcher, this.#isolationLevel);
  }

  get #isolationLevel(): 'read_committed' | 'read_uncommitted' {
    const level = this.#options.config.globalConsumer['isolation.level'];
    return level === 'read_committed' ? level : 'read_uncommitted';
  }

  #lookAtRestoration(): void {
    const restoration = this.#restoration;
    if (restoration === null) return;
    restoration.look();
    if (!restoration.isDone) return;
    this.#restoration = null;
    const old = this.#serving;
    this.#serving = this.#filling;
    if (old !== this.#filling) {
      if (this.state === 'RUNNING') this.#logger.info('the global stores are complete again');
      this.#replacing = this.#replaced(old, this.#filling);
    }
    this.#states.tryFire('restored');
  }

  async #replaced(old: GlobalState, next: GlobalState): Promise<void> {
    await this.#close(old);
    if (old.disk?.place === next.disk?.place) return;
    try {
      this.#global.adopt(next);
      this.#global.discard(old);
    } catch (error) {
      // The next start finds the former one, and that it cannot be used.
      this.#logger.warn({ err: error }, 'the former global state could not be removed');
    }
  }

  async #outOfRange(part: FetchedPartition): Promise<void> {
    const { topic, partition } = part;
    const from = this.#filling.queue(part)?.committableOffset.toString();
    const beginnings = await this.#retrying(() => this.#fetcher.beginningOffsets([part]));
    const beginning = [...beginnings.values()][0] ?? 0n;
    if (this.#restoration?.trimmed(part, beginning) === true) {
      this.#logger.info(
        { topic, partition, from, to: beginning.toString() },
        'the global topic was trimmed while it was restored; going on from its new start',
      );
      this.#fetcher.assign([{ topic, partition, offset: beginning }]);
      return;
    }
    this.#logger.warn(
      { topic, partition, from, start: beginning.toString() },
      'the position in the global topic is out of range: the global stores are restored from the beginning',
    );
    await this.#beginAfresh();
  }

  async #beginAfresh(): Promise<void> {
    this.#damage = null;
    this.#restoration?.suspend();
    this.#restoration = null;
    if (this.#filling !== this.#serving) {
      await this.#close(this.#filling);
      this.#global.discard(this.#filling);
    }
    this.#filling = this.#global.fresh();
    await this.#restore();
  }

  // ------------------------------------------------------------------------------------ private

  async #close(state: GlobalState): Promise<void> {
    try {
      await state.close();
    } catch (error) {
      this.#logger.warn({ err: error }, 'the former global state could not be closed');
    }
  }

  /** What may succeed later is tried again until `task.timeout.ms`. */
  async #retrying<T>(attempt: () => Promise<T>): Promise<T> {
    const { clock, config } = this.#options;
    const untilMs = clock.monotonicMs() + config.get('task.timeout.ms');
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        const isRetriable = error instanceof StreamsError && error.retriable;
        if (!isRetriable || this.#isStopping || clock.monotonicMs() >= untilMs) throw error;
        this.#logger.debug(
          { err: error },
          'the global topics could not be looked up; trying again',
        );
        this.#sleeper.clear();
        await this.#sleeper.sleep(RETRY_BACKOFF_MS);
      }
    }
  }

  #fail(error: Error): void {
    if (this.#failure !== null || this.#isStopping) return;
    this.#failure = error;
    this.#logger.error({ err: error }, 'the global thread failed');
    this.#options.onFailed(error);
  }
}
