import type { Logger } from 'pino';
import { parseDurationMs, type Duration } from '../duration.ts';
import { TopologyError } from '../errors.ts';
import type { StateStore, StoreBuilder } from '../state/store.ts';
import type { ProcessingContext, RecordMetadata } from './processor-api.ts';
import type { Outcome } from './processor-node.ts';
import { ProcessorUsageError } from './processor-usage-error.ts';
import type { Cancellable, PunctuationType, Punctuator, ScheduleOptions } from './punctuation.ts';
import type { TaskContext } from './task-context.ts';
import type { RecordInHand } from './user-store.ts';
import { userStore } from './user-stores.ts';

/** A node that runs user code with a context of its own. */
export interface UserNode extends RecordInHand {
  readonly name: string;
  /** Whether it has a record or a punctuation in hand. */
  readonly isActive: boolean;
  punctuate(punctuator: Punctuator, timestamp: number): Outcome;
}

/** A node that is told which stores the topology connects to it, before `init`. */
export interface StoreUser {
  connect(stores: ReadonlySet<string>): void;
}

export function isStoreUser(node: object): node is StoreUser {
  return 'connect' in node;
}

/** What the user's processor sees of its node and task. */
export class UserContext implements ProcessingContext {
  readonly #node: UserNode;
  readonly #task: TaskContext;
  readonly #stores: ReadonlySet<string>;

  constructor(node: UserNode, task: TaskContext, stores: ReadonlySet<string>) {
    this.#node = node;
    this.#task = task;
    this.#stores = stores;
  }

  get applicationId(): string {
    return this.#task.applicationId;
  }

  get taskId(): string {
    const { subtopology, partition } = this.#task.taskId;
    return `${String(subtopology)}_${String(partition)}`;
  }

  get logger(): Logger {
    return this.#task.logger;
  }

  get appConfigs(): Readonly<Record<string, unknown>> {
    return this.#task.appConfigs;
  }

  get recordMetadata(): RecordMetadata | null {
    if (!this.#node.isActive) return null;
    const task = this.#task;
    return { topic: task.topic, partition: task.partition, offset: task.offset() };
  }

  currentStreamTimeMs(): number {
    return this.#task.currentStreamTimeMs();
  }

  currentSystemTimeMs(): number {
    return this.#task.currentSystemTimeMs();
  }

  getStateStore<S extends StateStore>(store: string | StoreBuilder<S>): S {
    const name = typeof store === 'string' ? store : store.name;
    if (this.#stores.has(name) || this.#task.hasGlobalStore?.(name) === true) {
      return userStore(this.#task.store(name), this.#node) as S;
    }
    const known = [...this.#stores].join(', ') || 'none';
    throw new TopologyError(
      `The processor ${this.#node.name} has no access to the store ${name}, because it is not connected to it. ` +
        `Name the store in the options of the operator that made it, let its supplier bring it, or use ` +
        `connectProcessorAndStateStores(). Connected are: ${known}.`,
      { context: { node: this.#node.name, store: name } },
    );
  }

  schedule(
    interval: Duration,
    type: PunctuationType,
    punctuator: Punctuator,
    options: ScheduleOptions = {},
  ): Cancellable {
    const intervalMs = parseDurationMs(interval);
    if (intervalMs === null || !Number.isSafeInteger(intervalMs) || intervalMs < 1) {
      throw this.#invalid(`every "${String(interval)}"`, 'the least is 1 ms');
    }
    const { startTime = null } = options;
    if (startTime !== null && !(Number.isSafeInteger(startTime) && startTime >= 0)) {
      throw this.#invalid(`from ${String(startTime)}`, 'a start time is in ms since 1970');
    }
    const node = this.#node;
    return this.#task.schedule(node, type, startTime, intervalMs, (timestamp) =>
      node.punctuate(punctuator, timestamp),
    );
  }

  commit(): void {
    this.#task.requestCommit();
  }

  #invalid(what: string, rule: string): ProcessorUsageError {
    return new ProcessorUsageError(
      `The processor ${this.#node.name} cannot schedule a punctuation ${what}: ${rule}.`,
      { context: { node: this.#node.name } },
    );
  }
}
