import type { Logger } from 'pino';
import { ASSIGNMENT_PROTOCOL } from '../assignment/assignor.ts';
import { readAssignment } from '../assignment/follower.ts';
import { assignAsLeader } from '../assignment/leader.ts';
import { externalSourceTopics, repartitionTopics } from '../assignment/partition-counts.ts';
import { encodeSubscription } from '../assignment/subscription.ts';
import type {
  FetchPort,
  GroupMetadata,
  GroupPort,
  MemberAssignment,
  ProducerPort,
} from '../client/ports.ts';
import { Committer } from '../commit/committer.ts';
import { Purger } from '../commit/purge.ts';
import type { ErrorHandlerContext, HandlerAnswer } from '../error-handlers.ts';
import type { ProductionError } from '../errors.ts';
import { InvariantError } from '../errors.ts';
import {
  PROCESS_SLICE_MAX_MS,
  RESTORE_SLICE_MAX_MS,
  RETRY_BACKOFF_MS,
  TASK_SLICE_MAX_RECORDS,
} from '../limits.ts';
import type { MeasuredThread } from '../metrics/thread-metrics.ts';
import { registerThreadMetrics } from '../metrics/thread-metrics.ts';
import { Mutex } from '../platform/mutex.ts';
import { within } from '../platform/within.ts';
import { Restorer } from '../restore/restorer.ts';
import { StateMachine } from '../state-machine.ts';
import type { OffsetReset } from '../topology/built-topology.ts';
import { actionFor } from './failure-actions.ts';
import { FlowControl } from './flow-control.ts';
import { findInputPositions, resetOffsets } from './input-positions.ts';
import { LoopSleeper } from './sleeper.ts';
import { StreamTask } from './stream-task.ts';
import type { TaskId } from './task-context.ts';
import type { TaskName } from './task-id.ts';
import { taskName } from './task-id.ts';
import { TaskManager } from './task-manager.ts';
import type { StopReport, StreamThreadOptions } from './thread-options.ts';
import { openFetcher, openGroup, openProducer, openRestoreFetcher } from './thread-ports.ts';
import type { ThreadEvent, ThreadState } from './thread-states.ts';
import { threadTransitions } from './thread-states.ts';

/**
 * One member of the group with a loop of its own. A pass of the loop is synchronous and bounded:
 *
 *   what was fetched → record queues → process, slice by slice → restore → commit → purge → yield
 *
 * so heartbeats, sockets and timers never wait for it. With nothing to do it sleeps until something
 * arrives or is due. Commits, assignments and the stop exclude each other (`#sections`); while the
 * group rebalances the gate is closed, and nothing is processed.
 */
export class StreamThread {
  readonly name: string;
  readonly #options: StreamThreadOptions;
  readonly #logger: Logger;
  readonly #states: StateMachine<ThreadState, ThreadEvent>;
  readonly #sleeper: LoopSleeper;
  readonly #sections = new Mutex();
  readonly #group: GroupPort;
  readonly #fetcher: FetchPort;
  readonly #restoreFetcher: FetchPort;
  readonly #producer: ProducerPort;
  readonly #purger: Purger;
  readonly #committer: Committer;
  readonly #restorer: Restorer;
  readonly #tasks: TaskManager;
  readonly #removeMetrics: () => void;
  #isGateOpen = false;
  #isStopping = false;
  #generation = -1;
  #loop: Promise<void> = Promise.resolve();
  #failure: Error | null = null;
  /** When what is retried failed first, and when it is tried again; monotonic. */
  #commitFailingSinceMs: number | null = null;
  #commitRetryAtMs = 0;
  readonly #taskFailingSinceMs = new Map<TaskName, number>();
  #startedAtMs = -1;

  constructor(options: StreamThreadOptions) {
    const { client, config, clock, name } = options;
    this.name = name;
    this.#options = options;
    this.#logger = options.logger.child({ thread: name });
    this.#sleeper = new LoopSleeper(clock);
    const wake = (): void => {
      this.#sleeper.wake();
    };
    this.#states = new StateMachine(name, threadTransitions, 'CREATED', (next, previous) => {
      this.#logger.debug({ from: previous, to: next }, 'thread state');
      options.onState(next);
    });
    this.#group = openGroup(client, config, options.index, ASSIGNMENT_PROTOCOL);
    this.#fetcher = openFetcher(client, config, wake);
    this.#restoreFetcher = openRestoreFetcher(client, config, wake);
    this.#producer = openProducer(client, config, wake);
    this.#purger = new Purger({
      admin: options.admin,
      clock,
      logger: this.#logger,
      intervalMs: config.get('delete.interval.ms'),
    });
    this.#committer = new Committer({
      group: this.#group,
      producer: this.#producer,
      purger: this.#purger,
      clock,
      logger: this.#logger,
      intervalMs: config.get('commit.interval.ms'),
      onDeliveryFailure: (error) => this.#decideOnDelivery(error),
    });
    this.#restorer = new Restorer({
      fetcher: this.#restoreFetcher,
      clock,
      logger: this.#logger,
      listener: options.onRestore,
      onRestored: (task, ends) => {
        this.#tasks.restored(task, ends);
      },
      onFailed: (task, error) => {
        this.#onTaskFailure(error, task);
      },
      onWork: wake,
    });
    this.#tasks = this.#createTaskManager(wake);
    this.#removeMetrics = registerThreadMetrics(options.metrics, this.#measured());
  }

  get state(): ThreadState {
    return this.#states.state;
  }

  get processedCount(): number {
    return this.#tasks.processedCount;
  }

  /** Joins the group and begins to run. */
  start(): void {
    this.#states.fire('start');
    this.#startedAtMs = this.#options.clock.now();
    this.#group.join({
      subscription: () => this.#subscription(),
      assign: (members) =>
        assignAsLeader(this.#options.topology, members, this.#options.ensureTopics),
      onRebalance: () => this.#onRebalance(),
      onAssigned: (assignment, metadata) => this.#onAssigned(assignment, metadata),
      onLost: (error) => this.#onLost(error),
      onFatal: (error) => {
        this.#fail(error);
      },
    });
    this.#loop = this.#run();
  }

  /**
   * Finishes the record in hand, commits, closes the tasks, leaves the group and ends every connection;
   * whatever is not done by the deadline is left undone and reported. Never rejects.
   */
  async stop(timeoutMs: number): Promise<StopReport> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    const left = (): number => Math.max(deadlineMs - clock.monotonicMs(), 0);
    const leftUndone: string[] = [];
    const step = async (what: string, action: () => Promise<unknown>): Promise<void> => {
      try {
        if (!(await within(clock, left(), action()))) leftUndone.push(what);
      } catch (error) {
        this.#logger.debug({ err: error, step: what }, 'a step of the stop failed');
        leftUndone.push(what);
      }
    };
    if (this.state === 'DEAD') return { leftUndone };
    this.#states.tryFire('shutdown');
    this.#isGateOpen = false;
    this.#isStopping = true;
    // Also if the loop is just about to sleep: it looks whether it was woken first.
    this.#sleeper.wake();
    if (this.#failure === null && this.#generation >= 0) {
      await step('commit', () => this.#sections.run(() => this.#finishAndCommit()));
    }
    this.#tasks.closeAll();
    await step('leave the group', () => this.#group.leave(left()));
    await step('end the loop', () => this.#loop);
    await step('close the connections', () =>
      Promise.all([
        this.#fetcher.close(left()),
        this.#restoreFetcher.close(left()),
        this.#producer.close(left()),
      ]),
    );
    this.#removeMetrics();
    this.#states.tryFire('stopped');
    return { leftUndone };
  }

  // --------------------------------------------------------------------------------------- loop

  async #run(): Promise<void> {
    try {
      while (!this.#isStopping) {
        this.#sleeper.clear();
        const worked = this.#pass();
        if (this.#isCommitDue()) await this.#sections.run(() => this.#commit());
        if (worked) await this.#options.yieldToEventLoop();
        else await this.#sleeper.sleep(this.#msUntilDue());
      }
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** One bounded, synchronous pass. True if there may be more to do at once. */
  #pass(): boolean {
    const fetched = this.#fetcher.drain();
    this.#tasks.route(fetched);
    let worked = fetched.length > 0;
    if (this.#isGateOpen && this.#process()) worked = true;
    if (this.#restorer.pass(RESTORE_SLICE_MAX_MS)) worked = true;
    return worked;
  }

  #process(): boolean {
    const { clock } = this.#options;
    const nowMs = clock.now();
    const untilMs = clock.monotonicMs() + PROCESS_SLICE_MAX_MS;
    let worked = false;
    let count: number;
    do {
      count = 0;
      for (const task of this.#tasks.running) {
        // What is produced must be sent before more is produced.
        if (this.#producer.isFull) return worked;
        const processed = this.#processTask(task, nowMs);
        if (processed > 0) this.#tasks.balance(task);
        count += processed;
      }
      if (count > 0) worked = true;
    } while (count > 0 && clock.monotonicMs() < untilMs);
    return worked;
  }

  #processTask(task: StreamTask, nowMs: number): number {
    try {
      return task.process(TASK_SLICE_MAX_RECORDS, nowMs);
    } catch (error) {
      this.#onTaskFailure(error as Error, task.name);
      return 0;
    }
  }

  #isCommitDue(): boolean {
    if (!this.#isGateOpen) return false;
    const now = this.#options.clock.monotonicMs();
    if (now < this.#commitRetryAtMs) return false;
    return now >= this.#committer.dueMs || this.#tasks.running.some((t) => t.isCommitRequested);
  }

  /** Until the next commit that has something to do, or a wait for an idle partition ends. */
  #msUntilDue(): number {
    const { clock } = this.#options;
    let dueMs = Infinity;
    if (this.#isGateOpen) {
      const isNeeded = this.#tasks.running.some((task) => task.isCommitNeeded);
      const purgeMs = this.#purger.nextDueMs;
      const commitMs = Math.max(this.#committer.dueMs, this.#commitRetryAtMs);
      if (isNeeded) dueMs = commitMs;
      else if (purgeMs !== Infinity) dueMs = Math.max(commitMs, purgeMs);
    }
    const monotonic = dueMs - clock.monotonicMs();
    const nowMs = clock.now();
    const idle = Math.min(...this.#tasks.running.map((task) => task.nextDeadlineMs() - nowMs));
    return Math.max(Math.min(monotonic, idle), 0);
  }

  // ------------------------------------------------------------------------------------- commit

  async #commit(): Promise<void> {
    // The gate may have closed while this waited for its turn.
    if (!this.#isGateOpen || this.#isStopping) return;
    try {
      await this.#committer.commit(this.#tasks.running, { purge: true });
      this.#committer.ticked();
      this.#commitFailingSinceMs = null;
      this.#commitRetryAtMs = 0;
    } catch (error) {
      this.#onCommitFailure(error as Error);
    }
  }

  async #finishAndCommit(): Promise<void> {
    const running = this.#tasks.running;
    await Promise.all(running.map((task) => task.finishRecordInHand()));
    await this.#committer.commit(running, { purge: false });
    this.#committer.ticked();
  }

  #onCommitFailure(error: Error): void {
    const now = this.#options.clock.monotonicMs();
    const action = actionFor(error);
    if (action === 'wait') {
      this.#logger.debug({ err: error }, 'no commit while the group rebalances');
      this.#commitRetryAtMs = now + RETRY_BACKOFF_MS;
    } else if (action === 'rejoin') {
      this.#giveUpTasks(error);
    } else if (action === 'retry') {
      this.#commitFailingSinceMs ??= now;
      this.#commitRetryAtMs = now + RETRY_BACKOFF_MS;
      if (now - this.#commitFailingSinceMs > this.#taskTimeoutMs) this.#fail(error);
      else this.#logger.info({ err: error }, 'the commit failed and is tried again');
    } else {
      this.#fail(error);
    }
  }

  get #taskTimeoutMs(): number {
    return this.#options.config.get('task.timeout.ms');
  }

  /** A record that the brokers refused: which one it came from is no longer known. */
  #decideOnDelivery(error: ProductionError): HandlerAnswer {
    const handler = this.#options.config.get('production.exception.handler');
    const answer = typeof handler === 'function' ? handler(noRecordContext, error) : handler;
    if (answer !== 'continue') return 'fail';
    this.#logger.warn({ err: error }, 'records were refused by the broker and are dropped');
    return 'continue';
  }

  // -------------------------------------------------------------------------------------- group

  #subscription(): { topics: readonly string[]; userData: Buffer } {
    const { topology, processId } = this.#options;
    return {
      topics: [...externalSourceTopics(topology), ...repartitionTopics(topology).keys()].sort(),
      userData: encodeSubscription({
        processId,
        generation: this.#generation,
        activeTasks: [...this.#tasks.tasks.values()].map((task) => task.id),
      }),
    };
  }

  /** Nothing is processed from here until `onAssigned`; what is done is committed. */
  async #onRebalance(): Promise<void> {
    this.#isGateOpen = false;
    this.#states.tryFire('revoked');
    await this.#sections.run(async () => {
      try {
        await this.#finishAndCommit();
      } catch (error) {
        if (actionFor(error) === 'fail') this.#fail(error as Error);
        else if (actionFor(error) === 'rejoin') this.#tasks.closeAll();
        else this.#logger.debug({ err: error }, 'no commit before the rebalance');
      }
    });
  }

  async #onAssigned(assignment: MemberAssignment, metadata: GroupMetadata): Promise<void> {
    await this.#sections.run(async () => {
      if (this.#isStopping) return;
      try {
        const tasks = readAssignment(this.#options.topology, assignment);
        this.#logger.info(
          { generation: metadata.generation, tasks: [...tasks.keys()] },
          'assigned',
        );
        this.#generation = metadata.generation;
        this.#purger.newGeneration();
        this.#states.tryFire('assigned');
        await this.#tasks.assign(tasks);
        this.#isGateOpen = true;
        this.#onTaskRunning();
      } catch (error) {
        this.#fail(error as Error);
      }
    });
    this.#sleeper.wake();
  }

  async #onLost(error: Error): Promise<void> {
    this.#isGateOpen = false;
    this.#logger.info({ err: error }, 'this member lost its tasks');
    await this.#sections.run(() => {
      this.#dropTasks();
      return Promise.resolve();
    });
  }

  /** A commit was refused: others own the tasks. */
  #giveUpTasks(error: Error): void {
    this.#logger.info({ err: error }, 'the tasks of this thread belong to others; joining again');
    this.#dropTasks();
    this.#group.rejoin(error.message);
  }

  #dropTasks(): void {
    this.#isGateOpen = false;
    this.#tasks.closeAll();
    this.#purger.newGeneration();
    this.#states.tryFire('revoked');
  }

  // -------------------------------------------------------------------------------------- tasks

  #createTaskManager(wake: () => void): TaskManager {
    const { topology, config, clock, random } = this.#options;
    const flow = new FlowControl(config.get('buffered.records.per.partition'));
    const defaultReset = config.mainConsumer['auto.offset.reset'] as OffsetReset;
    const resetPolicy = (topic: string): OffsetReset => topology.offsetReset(topic) ?? defaultReset;
    return new TaskManager({
      fetcher: this.#fetcher,
      restorer: this.#restorer,
      flow,
      logger: this.#logger,
      readsCommitted: config.mainConsumer['isolation.level'] === 'read_committed',
      createTask: (id, inputs) =>
        new StreamTask({
          applicationId: config.get('application.id'),
          id,
          subtopology: topology.subtopologies.find((s) => s.id === id.subtopology) ?? missing(id),
          topology: topology.instantiate(id.subtopology, id.partition),
          inputs,
          producer: this.#producer,
          handling: {
            deserialization: config.get('deserialization.exception.handler'),
            production: config.get('production.exception.handler'),
          },
          maxTaskIdleMs: config.get('max.task.idle.ms'),
          clock,
          random,
          logger: this.#logger.child({ task: taskName(id) }),
          onResumable: wake,
        }),
      findPositions: (partitions) =>
        findInputPositions(partitions, this.#group, this.#fetcher, resetPolicy),
      resetPosition: async (partition) => {
        const offsets = await resetOffsets([partition], this.#fetcher, resetPolicy);
        return [...offsets.values()][0] as bigint;
      },
      onFailure: (error, task) => {
        if (task === null) this.#fail(error);
        else this.#onTaskFailure(error, task);
      },
      onRunning: () => {
        this.#onTaskRunning();
        wake();
      },
    });
  }

  #onTaskRunning(): void {
    for (const task of this.#tasks.running) this.#taskFailingSinceMs.delete(task.name);
    if (this.#isGateOpen && this.#tasks.areAllRunning) this.#states.tryFire('restored');
  }

  /** The loop goes on for the other tasks where the error allows it. */
  #onTaskFailure(error: Error, task: TaskName): void {
    this.#tasks.suspend(task);
    const action = actionFor(error);
    if (action === 'rejoin') {
      this.#giveUpTasks(error);
      return;
    }
    const now = this.#options.clock.monotonicMs();
    const sinceMs = this.#taskFailingSinceMs.get(task) ?? now;
    this.#taskFailingSinceMs.set(task, sinceMs);
    const isOverdue = now - sinceMs > this.#taskTimeoutMs;
    if (isOverdue || (action !== 'revive' && action !== 'retry')) {
      this.#fail(error);
      return;
    }
    this.#logger.warn({ err: error, task }, 'the task is closed and begun anew');
    this.#reviveLater(task);
  }

  #reviveLater(task: TaskName): void {
    this.#options.clock.setTimer(RETRY_BACKOFF_MS, () => {
      this.#sections
        .run(() => (this.#isGateOpen ? this.#tasks.revive(task) : Promise.resolve()))
        .catch((error: unknown) => {
          this.#onTaskFailure(error as Error, task);
        });
    });
  }

  /** The first failure counts. Whoever is told stops this thread; it commits nothing any more. */
  #fail(error: Error): void {
    if (this.#failure !== null || this.#isStopping) return;
    this.#failure = error;
    this.#isGateOpen = false;
    this.#logger.error({ err: error }, 'the stream thread failed');
    this.#options.onFailed(error);
  }

  #measured(): MeasuredThread {
    const { clientId } = this.#options;
    const tasks = this.#tasks;
    const state = (): string => this.state;
    const startedAt = (): number => this.#startedAtMs;
    return {
      clientId,
      name: this.name,
      committer: this.#committer,
      purger: this.#purger,
      restorer: this.#restorer,
      get state() {
        return state();
      },
      get startedAtMs() {
        return startedAt();
      },
      get processedCount() {
        return tasks.processedCount;
      },
      get droppedCount() {
        return tasks.droppedCount;
      },
      get createdTaskCount() {
        return tasks.createdCount;
      },
      get closedTaskCount() {
        return tasks.closedCount;
      },
    };
  }
}

const noRecordContext: ErrorHandlerContext = {
  taskId: '',
  processorNodeId: '',
  topic: null,
  partition: -1,
  offset: -1n,
  timestamp: -1,
  headers: null,
  sourceRawKey: null,
  sourceRawValue: null,
};

function missing(id: TaskId): never {
  throw new InvariantError(
    `The assignment names subtopology ${String(id.subtopology)}, which this topology does not have: ` +
      'every member of the group must run the same topology',
  );
}
