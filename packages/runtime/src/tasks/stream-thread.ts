import type { Logger } from 'pino';
import { ASSIGNMENT_PROTOCOL } from '../assignment/assignor.ts';
import { readAssignment } from '../assignment/follower.ts';
import type { AssignedTasks } from '../assignment/follower.ts';
import { assignAsLeader } from '../assignment/leader.ts';
import {
  externalSourceTopics,
  internalTopicNames,
  isInternalTopicLost,
  repartitionTopics,
} from '../assignment/partition-counts.ts';
import { encodeSubscription } from '../assignment/subscription.ts';
import { MissingTopicError } from '../client/errors.ts';
import { ApplicationShutdownError, TaskCorruptedError } from '../errors.ts';
import type { FetchPort, GroupMetadata, GroupPort, MemberAssignment } from '../client/ports.ts';
import { Committer } from '../commit/committer.ts';
import { Purger } from '../commit/purge.ts';
import {
  PROCESS_SLICE_MAX_MS,
  RESTORE_SLICE_MAX_MS,
  SHUTDOWN_REASON_MAX_CHARS,
  TASK_TURN_MAX_RECORDS,
} from '../limits.ts';
import { registerThreadMetrics } from '../metrics/thread-metrics.ts';
import { ThreadTimings } from '../metrics/thread-timings.ts';
import { BoundedSteps } from '../platform/bounded-steps.ts';
import { Mutex } from '../platform/mutex.ts';
import { Restorer } from '../restore/restorer.ts';
import { StateMachine } from '../state-machine.ts';
import type { BuiltTopology } from '../topology/built-topology.ts';
import { CommitSchedule } from './commit-schedule.ts';
import { actionFor } from './failure-actions.ts';
import { LoopSleeper } from './sleeper.ts';
import type { StreamTask } from './stream-task.ts';
import { TaskFailures } from './task-failures.ts';
import type { TaskName } from './task-id.ts';
import type { TaskManager } from './task-manager.ts';
import type { StopReport, StreamThreadOptions } from './thread-options.ts';
import { ThreadOutput } from './thread-output.ts';
import { openFetcher, openGroup, openRestoreFetcher } from './thread-ports.ts';
import type { ThreadEvent, ThreadState } from './thread-states.ts';
import { threadStates, threadTransitions } from './thread-states.ts';
import { ThreadSummary } from './thread-summary.ts';
import { createTaskManager } from './thread-tasks.ts';

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
  readonly #output: ThreadOutput;
  readonly #purger: Purger;
  readonly #commits: CommitSchedule;
  readonly #failures: TaskFailures;
  readonly #restorer: Restorer;
  readonly #tasks: TaskManager;
  readonly #summary: ThreadSummary;
  readonly #timings: ThreadTimings;
  readonly #removeMetrics: () => void;
  #isGateOpen = false;
  /** Counts turns, so that every task has its own however short the time is. */
  #turn = 0;
  #isStopping = false;
  #generation = -1;
  #loop: Promise<void> = Promise.resolve();
  #failure: Error | null = null;
  /** Why all instances of the application are to stop, if this member tells the group so. */
  #shutdownReason: string | null = null;
  /** The last assignment was an error. */
  #isRefused = false;
  #startedAtMs = -1;

  constructor(options: StreamThreadOptions) {
    const { client, config, clock, name } = options;
    this.name = name;
    this.#options = options;
    this.#logger = options.logger.child({ thread: name });
    this.#sleeper = new LoopSleeper(clock);
    this.#timings = new ThreadTimings(clock);
    const wake = (): void => {
      this.#sleeper.wake();
    };
    this.#states = new StateMachine(name, threadTransitions, 'CREATED', (next, previous) => {
      this.#logger.debug({ from: previous, to: next }, 'thread state');
      options.onState(next);
    });
    this.#group = openGroup(client, config, options.index, ASSIGNMENT_PROTOCOL);
    // The same whatever matches the patterns of the topology.
    const internalTopics = internalTopicNames(options.matcher.topology);
    this.#fetcher = openFetcher(client, config, internalTopics, wake);
    this.#restoreFetcher = openRestoreFetcher(client, config, internalTopics, wake);
    this.#output = new ThreadOutput(options, this.#group, this.#logger, wake);
    this.#purger = new Purger({
      admin: options.admin,
      clock,
      logger: this.#logger,
      intervalMs: config.get('delete.interval.ms'),
      onSettled: wake,
    });
    const committer = new Committer({
      output: this.#output,
      purger: this.#purger,
      clock,
      logger: this.#logger,
      intervalMs: config.get('commit.interval.ms'),
    });
    const taskTimeoutMs = config.get('task.timeout.ms');
    this.#commits = new CommitSchedule({
      committer,
      purger: this.#purger,
      clock,
      logger: this.#logger,
      taskTimeoutMs,
      maxRecordMs: config.mainConsumer['max.poll.interval.ms'],
      isExactlyOnce: config.isExactlyOnce,
      get uncommittedMaxBytes() {
        return options.shares.uncommittedMaxBytes;
      },
    });
    this.#failures = new TaskFailures(clock, taskTimeoutMs, (task) => this.#tasks.tasks.get(task));
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
    this.#tasks = createTaskManager(options, {
      group: this.#group,
      fetcher: this.#fetcher,
      output: this.#output,
      restorer: this.#restorer,
      timings: this.#timings,
      logger: this.#logger,
      onFailure: (error, task) => {
        if (task === null && this.#isMatchedTopicGone(error)) return;
        if (task === null) this.#fail(error);
        else this.#onTaskFailure(error, task);
      },
      onRunning: () => {
        this.#onTaskRunning();
        wake();
      },
      wake,
    });
    const measured = {
      tasks: this.#tasks,
      committer,
      purger: this.#purger,
      restorer: this.#restorer,
    };
    this.#removeMetrics = registerThreadMetrics(options.metrics, {
      processId: options.processId,
      name,
      state: () => this.state,
      stateIndex: () => threadStates.indexOf(this.state),
      startedAtMs: () => this.#startedAtMs,
      timings: this.#timings,
      ...measured,
    });
    this.#summary = new ThreadSummary({
      thread: measured,
      clock,
      logger: this.#logger,
      intervalMs: config.get('log.summary.interval.ms'),
    });
  }

  get state(): ThreadState {
    return this.#states.state;
  }

  get processedCount(): number {
    return this.#tasks.processedCount;
  }

  get tasks(): readonly StreamTask[] {
    return [...this.#tasks.tasks.values()];
  }

  /** Whether it has the task, or had it and is still closing it. */
  hasTask(name: TaskName): boolean {
    return this.#tasks.has(name);
  }

  /** Joins the group and begins to run. */
  start(): void {
    this.#states.fire('start');
    this.#startedAtMs = this.#options.clock.now();
    this.#loop = this.#run();
    if (this.#output.isTransactional) void this.#joinOnceBegun();
    else this.#join();
  }

  /** What an earlier run of this thread left open is ended first: its offsets are not stable before. */
  async #joinOnceBegun(): Promise<void> {
    try {
      if (await this.#retrying(() => this.#output.begin())) this.#join();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Tries again what may be over the next time, for `task.timeout.ms`; false if the thread stops before it is done. */
  async #retrying(action: () => Promise<void>): Promise<boolean> {
    const { clock, config } = this.#options;
    const untilMs = clock.monotonicMs() + config.get('task.timeout.ms');
    for (;;) {
      try {
        await action();
        return !this.#isStopping;
      } catch (error) {
        if (this.#isStopping) return false;
        if (actionFor(error) !== 'retry' || clock.monotonicMs() >= untilMs) throw error;
        this.#logger.debug({ err: error }, 'trying again');
        await this.#failures.pause();
      }
    }
  }

  #join(): void {
    this.#group.join({
      subscription: () => this.#subscription(),
      assign: (members) => assignAsLeader(members, this.#options.ensureTopics),
      onRebalance: () => this.#onRebalance(),
      onAssigned: (assignment, metadata) => this.#onAssigned(assignment, metadata),
      onLost: (error) => this.#onLost(error),
      onFatal: (error) => {
        this.#fail(error);
      },
    });
  }

  /** Other topics match the patterns of the topology than before. */
  topicsChanged(): void {
    if (!this.#isStopping) this.#group.rejoin('the topics that match the patterns have changed');
  }

  /** The client is not paused any more. */
  resumed(): void {
    this.#sleeper.wake();
  }

  /**
   * Processes nothing from here on, and has the next rebalance tell all members to stop, this one, too (KIP-671).
   * False if it is not in the group. Whether all are told depends on the leader: one of an older version cannot.
   */
  tellApplication(reason: string): boolean {
    if (this.#isStopping || !this.#group.rejoin(reason)) return false;
    this.#shutdownReason = reason.slice(0, SHUTDOWN_REASON_MAX_CHARS);
    return true;
  }

  /**
   * Finishes the record in hand, commits, closes the tasks, leaves the group and ends every connection;
   * whatever is not done by the deadline is left undone and reported. Never rejects.
   */
  async stop(timeoutMs: number, isForGood = false): Promise<StopReport> {
    const steps = new BoundedSteps(this.#options.clock, timeoutMs, (step, error) => {
      this.#logger.debug({ err: error, step }, 'a step of the stop failed');
    });
    if (this.state === 'DEAD') return steps;
    this.#states.tryFire('shutdown');
    this.#isGateOpen = false;
    this.#isStopping = true;
    // Also if the loop is just about to sleep: it looks whether it was woken first.
    this.#sleeper.wake();
    this.#failures.close();
    if (this.#failure === null && this.#generation >= 0) {
      const { running } = this.#tasks;
      await steps.run('commit', () =>
        this.#sections.run(() => this.#commits.finishAndCommit(running)),
      );
    }
    this.#commits.close();
    this.#tasks.closeAll();
    // The broker keeps the assignment of a static member, and would hand an error to its next run.
    const leavesForGood = isForGood || this.#isRefused;
    await steps.run('leave the group', (leftMs) => this.#group.leave(leftMs, leavesForGood));
    await steps.run('end the loop', () => this.#loop);
    await steps.run('close the processors', () => this.#tasks.closed());
    await steps.run('close the connections', (leftMs) =>
      Promise.all([
        this.#fetcher.close(leftMs),
        this.#restoreFetcher.close(leftMs),
        this.#output.close(leftMs),
      ]),
    );
    this.#removeMetrics();
    this.#states.tryFire('stopped');
    return steps;
  }

  /** A topic that a pattern matched may be deleted: the next assignment leaves it out. */
  #isMatchedTopicGone(error: Error): boolean {
    const { matcher } = this.#options;
    if (!(error instanceof MissingTopicError) || !matcher.hasPatterns) return false;
    const { topic } = error.context;
    if (typeof topic !== 'string' || !matcher.hasMatched(topic)) return false;
    this.#logger.warn({ topic }, 'a topic that matched a pattern is gone');
    void matcher.look();
    return true;
  }

  // --------------------------------------------------------------------------------------- loop

  async #run(): Promise<void> {
    try {
      while (!this.#isStopping) await this.#runOnce();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** What has arrived, a pass, and a commit if one is due; then a turn for everybody else, or sleep. */
  async #runOnce(): Promise<void> {
    this.#sleeper.clear();
    const hasFetched = await this.#poll();
    if (this.#isStopping) return;
    const worked = this.#pass() || hasFetched;
    if (this.#mayProcess && this.#commits.isDue(this.#tasks.running)) {
      await this.#sections.run(() => this.#commit());
      this.#timings.committed();
    }
    this.#summary.logIfDue();
    const sleepMs = worked ? 0 : Math.min(this.#msUntilDue(), this.#summary.msUntilDue());
    // Never on without a turn of the event loop: what is waited for may come from there.
    if (sleepMs <= 0) await this.#options.yieldToEventLoop();
    else await this.#sleeper.sleep(sleepMs);
  }

  /**
   * Takes over what has arrived; false if that was nothing. With the turn of the event loop that follows, the
   * request for what comes next leaves: it is answered while this is processed.
   */
  async #poll(): Promise<boolean> {
    const fetched = this.#fetcher.drain();
    const records = this.#tasks.route(fetched);
    if (fetched.length > 0) await this.#options.yieldToEventLoop();
    this.#timings.polled(records);
    return fetched.length > 0;
  }

  /** One bounded, synchronous pass. True if there may be more to do at once. */
  #pass(): boolean {
    let worked = false;
    const isPaused = this.#options.isPaused();
    if (this.#mayProcess && !isPaused) {
      if (this.#process()) worked = true;
      this.#timings.processed(this.#output.producer.isFull);
    }
    const hasRestored = !isPaused && this.#restorer.pass(RESTORE_SLICE_MAX_MS);
    this.#timings.restored(hasRestored);
    if (hasRestored) worked = true;
    this.#spill();
    return worked;
  }

  /** What was committed last may have to wait for the disk longer than for the next commit, which may never come. */
  #spill(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const task of [...this.#tasks.running]) {
      if (nowMs < task.spillDueMs) continue;
      try {
        task.spill(nowMs);
      } catch (error) {
        this.#onTaskFailure(error as Error, task.name);
      }
    }
  }

  /** Task after task, in turns that are long enough for a task's state to stay in the processor's cache. */
  #process(): boolean {
    const { clock } = this.#options;
    const nowMs = clock.now();
    const untilMs = clock.monotonicMs() + PROCESS_SLICE_MAX_MS;
    let worked = this.#punctuate(nowMs);
    this.#timings.punctuated(worked);
    let idleCount = 0;
    while (idleCount < this.#tasks.running.length) {
      // What is produced must be sent before more is produced.
      if (this.#output.producer.isFull) return worked;
      const { running } = this.#tasks;
      const task = running[this.#turn++ % running.length] as StreamTask;
      const count = this.#takeTurn(task, nowMs, untilMs);
      const turnEndMs = this.#timings.tookTurn(task, count);
      if (count > 0) {
        worked = true;
        idleCount = 0;
      } else {
        idleCount++;
      }
      if (turnEndMs >= untilMs) return worked;
    }
    return worked;
  }

  /** How many records the task processed until its turn, the time, its input or the room for output ended. */
  #takeTurn(task: StreamTask, nowMs: number, untilMs: number): number {
    const { clock } = this.#options;
    const { sliceLength } = task;
    let count = 0;
    let wanted: number;
    let processed: number;
    let sliceStartMs = clock.monotonicMs();
    let sliceEndMs: number;
    do {
      wanted = sliceLength.records;
      processed = this.#processTask(task, wanted, nowMs);
      if (processed > 0) this.#tasks.balance(task);
      count += processed;
      sliceEndMs = clock.monotonicMs();
      sliceLength.took(processed, sliceEndMs - sliceStartMs);
      sliceStartMs = sliceEndMs;
    } while (
      processed === wanted &&
      count < TASK_TURN_MAX_RECORDS &&
      !this.#output.producer.isFull &&
      sliceEndMs < untilMs
    );
    return count;
  }

  /** Wall-clock punctuators, of every task that has one that is due. */
  #punctuate(nowMs: number): boolean {
    let worked = false;
    for (const task of [...this.#tasks.running]) {
      if (this.#output.producer.isFull) return worked;
      try {
        if (task.punctuateWallClock(nowMs)) worked = true;
      } catch (error) {
        this.#onTaskFailure(error as Error, task.name);
      }
    }
    return worked;
  }

  #processTask(task: StreamTask, maxRecords: number, nowMs: number): number {
    try {
      return task.process(maxRecords, nowMs);
    } catch (error) {
      this.#onTaskFailure(error as Error, task.name);
      return 0;
    }
  }

  /**
   * Until the next commit that has something to do, a wait for an idle partition ends, a punctuator is due, or
   * something is to be written to disk.
   */
  #msUntilDue(): number {
    if (!this.#mayProcess) return Infinity;
    const nowMs = this.#options.clock.now();
    const { running } = this.#tasks;
    // Nothing is processed until the producer has room, or the client goes on, which wakes the loop.
    const idleMs =
      this.#output.producer.isFull || this.#options.isPaused()
        ? Infinity
        : Math.min(...running.map((task) => task.nextDeadlineMs(nowMs) - nowMs));
    const spillMs =
      Math.min(...running.map((task) => task.spillDueMs)) - this.#options.clock.monotonicMs();
    return Math.min(this.#commits.msUntilDue(running), idleMs, spillMs);
  }

  get #mayProcess(): boolean {
    return this.#isGateOpen && !this.#output.isSpoiled && this.#shutdownReason === null;
  }

  async #commit(): Promise<void> {
    // The gate may have closed while this waited for its turn.
    if (!this.#mayProcess || this.#isStopping) return;
    const outcome = await this.#commits.commit(this.#tasks.running);
    if (outcome.kind === 'rejoin') this.#giveUpTasks(outcome.error);
    else if (outcome.kind === 'revive') this.#reviveAll(outcome.error);
    else if (outcome.kind === 'fail' && !this.#isMatchedTopicGone(outcome.error)) {
      this.#fail(outcome.error);
    }
  }

  // -------------------------------------------------------------------------------------- group

  #subscription(): { topics: readonly string[]; userData: Buffer } {
    const { matcher, processId } = this.#options;
    const { topology } = matcher;
    return {
      topics: [...externalSourceTopics(topology), ...repartitionTopics(topology).keys()].sort(),
      userData: encodeSubscription({
        processId,
        generation: this.#generation,
        activeTasks: [...this.#tasks.tasks.values()].map((task) => task.id),
        shutdownReason: this.#shutdownReason,
      }),
    };
  }

  /** Nothing is processed from here until `onAssigned`; what is done is committed. */
  async #onRebalance(): Promise<void> {
    this.#isGateOpen = false;
    this.#states.tryFire('revoked');
    await this.#sections.run(async () => {
      if (this.#output.isSpoiled || this.#failure !== null) {
        this.#tasks.closeAll();
        return;
      }
      try {
        await this.#commits.finishAndCommit(this.#tasks.running);
      } catch (error) {
        const action = actionFor(error);
        // That a topic is gone which a pattern matched is no failure.
        const isFatal =
          action === 'fail' &&
          (!(error instanceof MissingTopicError) ||
            isInternalTopicLost(error, this.#options.matcher.topology));
        if (isFatal) this.#fail(error as Error);
        else if (action === 'rejoin' || action === 'revive' || this.#output.isTransactional) {
          this.#closeTasks();
        } else this.#logger.debug({ err: error }, 'no commit before the rebalance');
      }
    });
  }

  async #onAssigned(assignment: MemberAssignment, metadata: GroupMetadata): Promise<void> {
    await this.#sections.run(async () => {
      if (this.#isStopping) return;
      try {
        const { matcher } = this.#options;
        matcher.learn(assignment.partitions.map(({ topic }) => topic));
        const { topology } = matcher;
        const tasks = this.#readAssignment(topology, assignment);
        // Who joined before there was a reason to tell does so again; else the leader cannot tell the group.
        if (this.#shutdownReason !== null || this.#failure !== null) return;
        const assigned = new Set([...tasks.values()].map(({ id }) => id.subtopology));
        this.#options.onAssigned(topology.subtopologies.filter(({ id }) => assigned.has(id)));
        this.#logger.info(
          { generation: metadata.generation, tasks: [...tasks.keys()] },
          'assigned',
        );
        if (!(await this.#abortIfSpoiled())) return;
        this.#generation = metadata.generation;
        this.#output.assigned(metadata);
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

  #readAssignment(topology: BuiltTopology, assignment: MemberAssignment): AssignedTasks {
    this.#isRefused = true;
    const tasks = readAssignment(topology, assignment);
    this.#isRefused = false;
    return tasks;
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
    this.#closeTasks();
    this.#purger.newGeneration();
    this.#states.tryFire('revoked');
  }

  /** Without a commit: exactly once, what they have written is undone before anything else is written. */
  #closeTasks(): void {
    this.#output.spoil();
    this.#tasks.closeAll();
  }

  /** Once nobody writes any more. False if the thread stops before it is done. */
  async #abortIfSpoiled(): Promise<boolean> {
    if (!this.#output.isSpoiled) return true;
    return this.#retrying(async () => {
      await this.#commits.finishRecords([...this.#tasks.tasks.values()]);
      await this.#commits.within(this.#tasks.closing, this.#tasks.closed());
      const isReplaced = await this.#output.abort();
      // Also those that were being restored, and have written nothing, stand on the former producer.
      if (isReplaced) this.#tasks.suspendAll();
    });
  }

  // -------------------------------------------------------------------------------------- tasks

  #onTaskRunning(): void {
    for (const task of this.#tasks.running) this.#failures.runs(task.name);
    if (this.#isGateOpen && this.#tasks.areAllRunning) this.#states.tryFire('restored');
  }

  /** The loop goes on for the other tasks where the error allows it. */
  #onTaskFailure(error: Error, task: TaskName): void {
    // One that is being restored has written nothing.
    if (this.#tasks.running.some(({ name }) => name === task)) this.#spoil();
    this.#tasks.suspend(task);
    if (error instanceof TaskCorruptedError && error.wipesState) {
      this.#tasks.corrupted(task, error);
    }
    const action = this.#failures.decide(error, task);
    if (action === 'rejoin') {
      this.#giveUpTasks(error);
    } else if (action === 'fail') {
      this.#fail(error);
    } else {
      this.#logger.warn({ err: error, task }, 'the task is closed and begun anew');
      this.#failures.later(() => {
        this.#sections
          .run(() => this.#revive())
          .catch((failure: unknown) => {
            this.#fail(failure as Error);
          });
      });
    }
  }

  /**
   * Exactly once, what one task wrote is in the same transaction as what the others did: all go back to
   * the last commit.
   */
  #spoil(): void {
    if (!this.#output.isTransactional) return;
    this.#output.spoil();
    for (const { name } of [...this.#tasks.running]) this.#tasks.suspend(name);
  }

  /** Something of what the tasks put out is lost: all go back to where the last commit was. */
  #reviveAll(error: Error): void {
    for (const task of [...this.#tasks.running]) this.#onTaskFailure(error, task.name);
  }

  /** All that were suspended begin anew. After a rebalance in between, the assignment has done it. */
  async #revive(): Promise<void> {
    if (!this.#isGateOpen || this.#isStopping) return;
    if (!(await this.#abortIfSpoiled())) return;
    await this.#tasks.revive();
    this.#sleeper.wake();
  }

  /** Whoever is told stops this thread; it commits nothing any more. The first failure counts, and the group's word. */
  #fail(error: Error): void {
    const isTold = error instanceof ApplicationShutdownError;
    if (this.#isStopping || (this.#failure !== null && !isTold)) return;
    this.#failure ??= error;
    // Should the group rebalance again before all members have been told, this one knows why as well.
    if (isTold) this.#shutdownReason ??= error.reason;
    this.#isGateOpen = false;
    this.#output.spoil();
    this.#logger.error({ err: error }, 'the stream thread failed');
    this.#options.onFailed(error);
  }
}
