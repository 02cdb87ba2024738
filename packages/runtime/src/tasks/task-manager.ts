import type { Logger } from 'pino';
import { OffsetOutOfRangeError } from '../client/errors.ts';
import type { FetchedPartition, FetchPort, TopicPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { RestoreTarget } from '../restore/changelog-reader.ts';
import type { TaskCorruptedError } from '../errors.ts';
import type { Restorer } from '../restore/restorer.ts';
import type { FlowControl } from './flow-control.ts';
import type { LocalState } from './local-state.ts';
import type { RecordQueue } from './record-queue.ts';
import type { InputPosition, StreamTask } from './stream-task.ts';
import type { TaskId } from '../operators/task-context.ts';
import type { TaskName } from './task-id.ts';

export interface TaskManagerOptions {
  readonly fetcher: FetchPort;
  readonly restorer: Restorer;
  readonly flow: FlowControl;
  readonly logger: Logger;
  readonly createTask: (id: TaskId, inputs: readonly TopicPartition[]) => StreamTask;
  /** Makes the task's metrics known; returns how to take them away. */
  readonly measure?: (task: StreamTask) => () => void;
  readonly findPositions: (partitions: readonly TopicPartition[]) => Promise<InputPosition[]>;
  readonly resetPosition: (partition: TopicPartition) => Promise<bigint>;
  /** Under read_committed a partition ends at its last stable offset. */
  readonly readsCommitted: boolean;
  /** What its tasks have on disk; none if they have nothing there. */
  readonly localState?: LocalState;
  readonly onFailure: (error: Error, task: TaskName | null) => void;
  /** A task came to RUNNING. */
  readonly onRunning: () => void;
}

interface InputRoute {
  readonly task: StreamTask;
  readonly queue: RecordQueue;
  isPaused: boolean;
}

/** The tasks of one stream thread, from assignment to close, and the way of fetched batches to their queues. */
export class TaskManager {
  readonly #options: TaskManagerOptions;
  readonly #tasks = new Map<TaskName, StreamTask>();
  readonly #unmeasure = new Map<TaskName, () => void>();
  readonly #positions = new Map<TaskName, readonly InputPosition[]>();
  readonly #routes = new Map<string, InputRoute>();
  /** Tasks in RUNNING, in the order in which they take turns. */
  #running: StreamTask[] = [];
  /** Tasks whose processors or stores close asynchronously. */
  readonly #closing = new Map<TaskName, Promise<void>>();
  #createdCount = 0;
  #closedCount = 0;
  #processedByClosed = 0;
  #droppedByClosed = 0;
  #punctuatedByClosed = 0;

  constructor(options: TaskManagerOptions) {
    this.#options = options;
  }

  get tasks(): ReadonlyMap<TaskName, StreamTask> {
    return this.#tasks;
  }

  /** Whether the task is here, or still being closed. */
  has(name: TaskName): boolean {
    return this.#tasks.has(name) || this.#closing.has(name);
  }

  get running(): readonly StreamTask[] {
    return this.#running;
  }

  get areAllRunning(): boolean {
    return this.#running.length === this.#tasks.size;
  }

  get createdCount(): number {
    return this.#createdCount;
  }

  get closedCount(): number {
    return this.#closedCount;
  }

  get processedCount(): number {
    let sum = this.#processedByClosed;
    for (const task of this.#tasks.values()) sum += task.processedCount;
    return sum;
  }

  get droppedCount(): number {
    let sum = this.#droppedByClosed;
    for (const task of this.#tasks.values()) sum += task.droppedCount;
    return sum;
  }

  get punctuatedCount(): number {
    let sum = this.#punctuatedByClosed;
    for (const task of this.#tasks.values()) sum += task.punctuatedCount;
    return sum;
  }

  /**
   * Takes over an assignment: closes what is gone (committed before, or lost), keeps what stays as it
   * runs, creates the rest and begins to restore it.
   */
  async assign(
    assigned: ReadonlyMap<TaskName, { id: TaskId; inputs: readonly TopicPartition[] }>,
  ): Promise<void> {
    for (const task of [...this.#tasks.values()]) {
      // One that failed and was to be revived is begun anew with the others.
      // One whose source by pattern reads other topics is another task, though of the same name.
      const inputs = assigned.get(task.name)?.inputs;
      if (inputs === undefined || task.state === 'SUSPENDED' || !areSame(inputs, task.inputs)) {
        this.close(task);
      }
    }
    const created: StreamTask[] = [];
    for (const [name, { id, inputs }] of assigned) {
      if (!this.#tasks.has(name)) created.push(this.#create(id, inputs));
    }
    await this.#open(created);
  }

  /** What the task has on disk, or one of its stores, is of no use: it is removed before the task begins anew. */
  corrupted(name: TaskName, error: TaskCorruptedError): void {
    this.#options.localState?.corrupted(name, error);
  }

  /** Drops the state in memory of the tasks that are suspended, and begins them anew from what is committed. */
  async revive(): Promise<void> {
    const suspended = [...this.#tasks.values()].filter(({ state }) => state === 'SUSPENDED');
    for (const task of suspended) this.close(task);
    await this.#open(suspended.map(({ id, inputs }) => this.#create(id, inputs)));
  }

  /** The task failed: it processes and commits nothing more, until it is revived or closed. */
  suspend(name: TaskName): void {
    const task = this.#tasks.get(name);
    if (task === undefined) return;
    this.#running = this.#running.filter((other) => other !== task);
    task.suspend();
  }

  suspendAll(): void {
    for (const name of this.#tasks.keys()) this.suspend(name);
  }

  close(task: StreamTask): void {
    this.#options.restorer.cancel(task.name);
    this.#options.fetcher.unassign(task.inputs);
    for (const { topic, partition } of task.inputs) {
      this.#routes.delete(topicPartitionKey(topic, partition));
    }
    this.#share();
    this.#running = this.#running.filter((other) => other !== task);
    this.#tasks.delete(task.name);
    this.#unmeasure.get(task.name)?.();
    this.#unmeasure.delete(task.name);
    this.#positions.delete(task.name);
    this.#processedByClosed += task.processedCount;
    this.#droppedByClosed += task.droppedCount;
    this.#punctuatedByClosed += task.punctuatedCount;
    this.#closedCount++;
    const closing = task.close();
    if (closing === undefined) return;
    const { name } = task;
    const done = closing.then(() => {
      if (this.#closing.get(name) === done) this.#closing.delete(name);
    });
    this.#closing.set(name, done);
  }

  /** Tasks that were closed, and whose processors or records in hand are not done with it. */
  get closing(): TaskName[] {
    return [...this.#closing.keys()];
  }

  /** Resolves when the processors of all tasks that were closed are done with it. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing.values());
  }

  closeAll(): void {
    for (const task of [...this.#tasks.values()]) this.close(task);
  }

  /** Hands fetched batches to their queues, and returns how many records; what belongs to no task any more is dropped. */
  route(fetched: readonly FetchedPartition[]): number {
    let records = 0;
    for (const part of fetched) {
      const route = this.#routes.get(topicPartitionKey(part.topic, part.partition));
      if (route === undefined) continue;
      if (part.error !== null) {
        this.#failedFetch(route, part, part.error);
        continue;
      }
      const end = this.#options.readsCommitted ? part.lastStableOffset : part.highWatermark;
      const before = route.queue.bufferedRecords;
      route.task.push(route.queue, part, end);
      records += route.queue.bufferedRecords - before;
      this.#balance(route);
    }
    return records;
  }

  /** Lets the partitions of a task be fetched again once their queues have room. */
  balance(task: StreamTask): void {
    for (const { topic, partition } of task.queues) {
      const route = this.#routes.get(topicPartitionKey(topic, partition));
      if (route?.isPaused === true) this.#balance(route);
    }
  }

  /** The restorer has restored all stores of the task: start it. */
  restored(name: TaskName, ends: ReadonlyMap<string, bigint>): void {
    const task = this.#tasks.get(name);
    if (task === undefined) return;
    for (const [store, end] of ends) task.stores.restoredTo(store, end);
    this.#start(task).catch((error: unknown) => {
      this.#options.onFailure(error as Error, name);
    });
  }

  #create(id: TaskId, inputs: readonly TopicPartition[]): StreamTask {
    const task = this.#options.createTask(id, inputs);
    this.#tasks.set(task.name, task);
    const unmeasure = this.#options.measure?.(task);
    if (unmeasure !== undefined) this.#unmeasure.set(task.name, unmeasure);
    this.#createdCount++;
    return task;
  }

  /** Never rejects: what fails is the tasks' failure, which says whether it is tried again. */
  async #open(created: readonly StreamTask[]): Promise<void> {
    if (created.length === 0) return;
    let positions: readonly InputPosition[];
    try {
      positions = await this.#options.findPositions(created.flatMap((task) => task.inputs));
    } catch (error) {
      for (const task of created) this.#options.onFailure(error as Error, task.name);
      return;
    }
    const byKey = new Map(positions.map((p) => [topicPartitionKey(p.topic, p.partition), p]));
    for (const task of created) {
      // Closed while the offsets were asked for.
      if (this.#tasks.get(task.name) !== task) continue;
      this.#positions.set(
        task.name,
        task.inputs.map(
          ({ topic, partition }) => byKey.get(topicPartitionKey(topic, partition)) as InputPosition,
        ),
      );
      try {
        await this.#closing.get(task.name);
        if (this.#tasks.get(task.name) !== task) continue;
        await this.#options.localState?.prepare(task.name);
        if (this.#tasks.get(task.name) !== task) continue;
        task.initialize();
        this.#restore(task, byKey);
      } catch (error) {
        this.#options.onFailure(error as Error, task.name);
      }
    }
  }

  #restore(task: StreamTask, positions: ReadonlyMap<string, InputPosition>): void {
    const targets: RestoreTarget[] = [];
    const partition = task.id.partition;
    for (const { store, changelog } of task.stores.entries) {
      if (changelog === null) continue;
      const key = topicPartitionKey(changelog.name, partition);
      // A source topic may have fewer partitions than there are tasks.
      if (changelog.isSourceTopic && !positions.has(key)) continue;
      // A source topic is restored as far as it is committed; the rest is processed.
      const limit = changelog.isSourceTopic ? (positions.get(key)?.committed ?? 0n) : null;
      const { disk } = task.stores;
      targets.push({ taskId: task.name, store, topic: changelog.name, partition, limit, disk });
    }
    this.#options.restorer.start(task.name, targets).catch((error: unknown) => {
      this.#options.onFailure(error as Error, task.name);
    });
  }

  async #start(task: StreamTask): Promise<void> {
    const { fetcher } = this.#options;
    const positions = this.#positions.get(task.name) ?? [];
    if (positions.length > 1) await task.start(positions, await this.#ends(positions));
    else await task.start(positions, new Map());
    if (this.#tasks.get(task.name) !== task || task.state !== 'RUNNING') return;
    for (const queue of task.queues) {
      this.#routes.set(topicPartitionKey(queue.topic, queue.partition), {
        task,
        queue,
        isPaused: false,
      });
    }
    this.#running.push(task);
    this.#share();
    fetcher.assign(positions);
    this.#options.onRunning();
  }

  #share(): void {
    const { flow, fetcher } = this.#options;
    flow.share(this.#routes.size);
    fetcher.limitPartitions(flow.fetchBytes);
  }

  /** With several inputs, an empty one must be known as empty before the others may go on. */
  #ends(positions: readonly InputPosition[]): Promise<ReadonlyMap<string, bigint>> {
    const isolation = this.#options.readsCommitted ? 'read_committed' : 'read_uncommitted';
    return this.#options.fetcher.endOffsets(positions, isolation);
  }

  #balance(route: InputRoute): void {
    const isFull = this.#options.flow.isFull(route.queue);
    if (isFull === route.isPaused) return;
    route.isPaused = isFull;
    const { topic, partition } = route.queue;
    if (isFull) this.#options.fetcher.pause(topic, partition);
    else this.#options.fetcher.resume(topic, partition);
  }

  #failedFetch(route: InputRoute, part: FetchedPartition, error: Error): void {
    if (error instanceof OffsetOutOfRangeError) {
      this.#reset(route, part).catch((failure: unknown) => {
        this.#options.onFailure(failure as Error, route.task.name);
      });
      return;
    }
    this.#options.onFailure(error, null);
  }

  /** What lies between was deleted before it was read: loud, because those records are lost to the application. */
  async #reset(route: InputRoute, part: FetchedPartition): Promise<void> {
    const { topic, partition } = part;
    const offset = await this.#options.resetPosition(part);
    if (this.#routes.get(topicPartitionKey(topic, partition)) !== route) return;
    this.#options.logger.warn(
      { topic, partition, from: part.nextOffset.toString(), to: offset.toString() },
      'the position is out of range; going on where the reset policy says',
    );
    route.task.reset(route.queue, offset);
    this.#options.fetcher.assign([{ topic, partition, offset }]);
    this.#balance(route);
  }
}

function areSame(some: readonly TopicPartition[], others: readonly TopicPartition[]): boolean {
  const keys = new Set(some.map(({ topic, partition }) => topicPartitionKey(topic, partition)));
  return (
    keys.size === others.length &&
    others.every(({ topic, partition }) => keys.has(topicPartitionKey(topic, partition)))
  );
}
