import type { Logger } from 'pino';
import { OffsetOutOfRangeError } from '../client/errors.ts';
import type {
  AdminPort,
  FetchedPartition,
  FetchPort,
  StreamsClient,
  TopicPartition,
} from '../client/ports.ts';
import type { StreamsConfig } from '../config/streams-config.ts';
import { MissingSourceTopicError, StreamsError } from '../errors.ts';
import {
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
import type { StateStore } from '../state/store.ts';
import type { GlobalTopology } from '../topology/built-topology.ts';
import { GlobalRestoration } from './global-restoration.ts';
import { GlobalState } from './global-state.ts';
import { globalStoreView } from './global-store-view.ts';
import type { GlobalThreadEvent, GlobalThreadState } from './global-thread-states.ts';
import { globalThreadTransitions } from './global-thread-states.ts';
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
 * runs, then applies what arrives, on connections of its own, while tasks read the stores. It commits
 * nothing and belongs to no group.
 *
 * A position that is out of range afterwards (the topic was created anew, or trimmed faster than it
 * was read) makes what is there untrustworthy: a fresh state is filled from the beginning, and takes
 * the place of the old one once it is complete. Until then tasks read the old one.
 */
export class GlobalThread {
  readonly name: string;
  readonly #options: GlobalThreadOptions;
  readonly #logger: Logger;
  readonly #states: StateMachine<GlobalThreadState, GlobalThreadEvent>;
  readonly #sleeper: LoopSleeper;
  readonly #fetcher: FetchPort;
  /** What tasks read. */
  #serving: GlobalState;
  /** What records are applied to; the same unless a fresh one is being filled. */
  #filling: GlobalState;
  #restoration: GlobalRestoration | null = null;
  readonly #paused = new Set<RecordQueue>();
  #restoredTotal = 0;
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
    this.#serving = this.#createState();
    this.#filling = this.#serving;
    const current = (name: string): StateStore => this.#serving.stores.get(name) as StateStore;
    this.stores = new Map(
      [...this.#serving.stores.keys()].map((name) => [
        name,
        globalStoreView(name, () => current(name)),
      ]),
    );
    const measured = {
      clientId: options.clientId,
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
      await this.#filling.start();
      await this.#restore();
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
    else await this.#sleeper.sleep(Infinity);
  }

  async #pass(): Promise<boolean> {
    const fetched = this.#fetcher.drain();
    for (const part of fetched) await this.#take(part);
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + RESTORE_SLICE_MAX_MS;
    let worked = fetched.length > 0;
    let processed: number;
    do {
      const before = this.#filling.processedCount;
      const outcome = this.#filling.process(GLOBAL_SLICE_RECORDS);
      if (outcome !== undefined) await outcome;
      processed = this.#filling.processedCount - before;
      if (this.#restoration !== null) this.#restoredTotal += processed;
      if (processed > 0) worked = true;
    } while (processed > 0 && !this.#isStopping && clock.monotonicMs() < untilMs);
    for (const queue of this.#filling.queues) this.#balance(queue);
    this.#lookAtRestoration();
    return worked;
  }

  async #take(part: FetchedPartition): Promise<void> {
    if (part.error === null) this.#filling.push(part);
    else if (part.error instanceof OffsetOutOfRangeError) await this.#outOfRange(part);
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

  async #restore(): Promise<void> {
    const { clock, onRestore } = this.#options;
    const partitions = await this.#retrying(() => this.#partitions());
    const [beginnings, ends] = await this.#retrying(() =>
      Promise.all([
        this.#fetcher.beginningOffsets(partitions),
        this.#fetcher.endOffsets(partitions, this.#isolationLevel),
      ]),
    );
    if (this.#isStopping) return;
    this.#paused.clear();
    this.#restoration = new GlobalRestoration(this.#filling, clock, onRestore);
    this.#restoration.begin(partitions, beginnings, ends, this.#fetcher);
    this.#lookAtRestoration();
  }

  get #isolationLevel(): 'read_committed' | 'read_uncommitted' {
    const level = this.#options.config.globalConsumer['isolation.level'];
    return level === 'read_committed' ? level : 'read_uncommitted';
  }

  async #partitions(): Promise<(TopicPartition & { readonly storeName: string })[]> {
    const { admin, topology } = this.#options;
    const { storeOfTopic } = topology;
    const known = await admin.describeTopics([...storeOfTopic.keys()]);
    const missing = [...storeOfTopic].filter(([topic]) => !known.has(topic));
    if (missing.length > 0) {
      const names = missing.map(([topic, store]) => `${topic} (for the global store ${store})`);
      throw new MissingSourceTopicError(
        `These topics of global stores do not exist: ${names.join(', ')}. Create them before the application starts`,
        { context: { topics: missing.map(([topic]) => topic).join(',') } },
      );
    }
    return [...known.values()].flatMap(({ topic, partitionCount }) =>
      Array.from({ length: partitionCount }, (_, partition) => ({
        topic,
        partition,
        storeName: storeOfTopic.get(topic) as string,
      })),
    );
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
      this.#logger.info('the global stores are complete again');
      void this.#close(old);
    }
    this.#states.tryFire('restored');
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
    this.#restoration?.suspend();
    this.#restoration = null;
    if (this.#filling !== this.#serving) await this.#close(this.#filling);
    this.#filling = this.#createState();
    await this.#filling.start();
    await this.#restore();
  }

  // ------------------------------------------------------------------------------------ private

  #createState(): GlobalState {
    const { topology, config, clock } = this.#options;
    return new GlobalState({
      applicationId: config.get('application.id'),
      topology,
      handling: {
        deserialization: config.get('deserialization.exception.handler'),
        processing: config.get('processing.exception.handler'),
        production: config.get('production.exception.handler'),
        // Kafka Streams writes none for global stores either.
        deadLetterTopic: null,
      },
      asksProcessingHandler: config.get('processing.exception.handler.global.enabled'),
      appConfigs: config.all,
      clock,
      logger: this.#logger,
    });
  }

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
