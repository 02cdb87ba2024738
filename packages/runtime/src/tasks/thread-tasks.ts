import type { Logger } from 'pino';
import type { FetchPort, GroupPort, ProducerPort } from '../client/ports.ts';
import { parseAutoOffsetReset } from '../config/auto-offset-reset.ts';
import { registerTaskMetrics } from '../metrics/task-metrics.ts';
import type { ThreadTimings } from '../metrics/thread-timings.ts';
import type { Restorer } from '../restore/restorer.ts';
import type { OffsetReset } from '../topology/built-topology.ts';
import { createTask } from './create-task.ts';
import { FlowControl } from './flow-control.ts';
import { findInputPositions, resetOffsets, type Resets } from './input-positions.ts';
import { LocalState } from './local-state.ts';
import type { TaskName } from './task-id.ts';
import { TaskManager } from './task-manager.ts';
import type { StreamThreadOptions } from './thread-options.ts';

export interface ThreadTaskParts {
  readonly group: GroupPort;
  readonly fetcher: FetchPort;
  readonly output: { readonly producer: ProducerPort };
  readonly restorer: Restorer;
  readonly timings: ThreadTimings;
  readonly logger: Logger;
  readonly onFailure: (error: Error, task: TaskName | null) => void;
  readonly onRunning: () => void;
  readonly wake: () => void;
}

/** The task manager of a stream thread, as its configuration wants tasks to be. */
export function createTaskManager(
  options: StreamThreadOptions,
  parts: ThreadTaskParts,
): TaskManager {
  const { name, matcher, globalStores, stateDirectory, config, clock, random } = options;
  const { group, fetcher, restorer, logger } = parts;
  const environment = {
    get topology() {
      return matcher.topology;
    },
    globalStores,
    stateDirectory: stateDirectory ?? null,
    owner: name,
    config,
    get producer() {
      return parts.output.producer;
    },
    clock,
    random,
    cache: options.shares.cache(),
    logger,
    onResumable: parts.wake,
  };
  const defaultReset = parseAutoOffsetReset(
    config.mainConsumer['auto.offset.reset'],
  ) as OffsetReset;
  const resets: Resets = {
    policy: (topic) => matcher.topology.offsetReset(topic) ?? defaultReset,
    nowMs: () => clock.now(),
  };
  return new TaskManager({
    fetcher,
    restorer,
    flow: new FlowControl(config.get('buffered.records.per.partition')),
    logger,
    readsCommitted: config.mainConsumer['isolation.level'] === 'read_committed',
    createTask: (id, inputs) => createTask(environment, id, inputs),
    measure: (task) => registerTaskMetrics(options.metrics, name, task, restorer, parts.timings),
    findPositions: (partitions) =>
      findInputPositions(partitions, group, fetcher, resets, config.isExactlyOnce),
    resetPosition: async (partition) => {
      const offsets = await resetOffsets([partition], fetcher, resets);
      return [...offsets.values()][0] as bigint;
    },
    ...(stateDirectory === undefined || stateDirectory === null
      ? {}
      : { localState: new LocalState({ directory: stateDirectory, clock, owner: name }) }),
    onFailure: parts.onFailure,
    onRunning: parts.onRunning,
  });
}
