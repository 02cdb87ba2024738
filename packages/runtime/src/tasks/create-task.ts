import type { Logger } from 'pino';
import type { ProducerPort, TopicPartition } from '../client/ports.ts';
import type { StreamsConfig } from '../config/streams-config.ts';
import { InvariantError } from '../errors.ts';
import type { TaskId } from '../operators/task-context.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import type { BuiltTopology, Subtopology } from '../topology/built-topology.ts';
import type { StateStore } from '../state/store.ts';
import type { StateDirectory } from '../state/directory/state-directory.ts';
import { STATE_TABLES_PER_STORE } from '../state/limits.ts';
import { TaskDisk } from '../state/persistent/task-disk.ts';
import type { RecordCache } from '../state/cache/record-cache.ts';
import { StreamTask } from './stream-task.ts';
import { taskName } from './task-id.ts';

/** What the tasks of a stream thread, or of a test driver, have in common. */
export interface TaskEnvironment {
  readonly topology: BuiltTopology;
  readonly globalStores?: ReadonlyMap<string, StateStore> | undefined;
  readonly config: StreamsConfig;
  readonly producer: ProducerPort;
  readonly clock: Clock;
  readonly random: Random;
  /** Where persistent stores are kept; null if there are none. */
  readonly stateDirectory?: StateDirectory | null;
  /** Whose tasks they are: the name of the thread. */
  readonly owner?: string;
  /** The record cache of the thread; null if no store is cached. */
  readonly cache: RecordCache | null;
  readonly logger: Logger;
  /** Called when the record in hand is done, so that a sleeping loop goes on. */
  readonly onResumable: () => void;
}

/** A task as the configuration wants it. */
export function createTask(
  environment: TaskEnvironment,
  id: TaskId,
  inputs: readonly TopicPartition[],
): StreamTask {
  const { topology, config, producer, clock, random, cache, logger, onResumable } = environment;
  const task = topology.instantiate(id.subtopology, id.partition);
  const subtopology = subtopologyOf(topology, id);
  const taskLogger = logger.child({ task: taskName(id) });
  return new StreamTask({
    applicationId: config.get('application.id'),
    id,
    subtopology,
    topology: task,
    globalStores: environment.globalStores,
    inputs,
    producer,
    handling: {
      deserialization: config.get('deserialization.exception.handler'),
      processing: config.get('processing.exception.handler'),
      production: config.get('production.exception.handler'),
      deadLetterTopic: config.get('errors.dead.letter.queue.topic.name'),
    },
    maxTaskIdleMs: config.get('max.task.idle.ms'),
    appConfigs: config.all,
    clock,
    random,
    cache,
    disk: diskOf(environment, id, subtopology, task.stores.size, taskLogger),
    logger: taskLogger,
    onResumable,
  });
}

function diskOf(
  { stateDirectory, owner = '', clock, onResumable }: TaskEnvironment,
  id: TaskId,
  { changelogs }: Subtopology,
  storeCount: number,
  logger: Logger,
): TaskDisk | null {
  if (stateDirectory === undefined || stateDirectory === null) return null;
  return new TaskDisk({
    directory: stateDirectory,
    taskName: taskName(id),
    owner,
    loggedStores: new Set(changelogs.map(({ storeName }) => storeName)),
    tableCount: storeCount * STATE_TABLES_PER_STORE,
    clock,
    logger,
    onSpilled: onResumable,
  });
}

function subtopologyOf(topology: BuiltTopology, id: TaskId): Subtopology {
  const found = topology.subtopologies.find((subtopology) => subtopology.id === id.subtopology);
  if (found !== undefined) return found;
  throw new InvariantError(
    `The assignment names subtopology ${String(id.subtopology)}, which this topology does not have: ` +
      'every member of the group must run the same topology',
  );
}
