import type { Committer } from '../commit/committer.ts';
import type { Purger } from '../commit/purge.ts';
import type { Restorer } from '../restore/restorer.ts';
import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';

/** The tasks of a thread, those closed before included. */
interface MeasuredTasks {
  readonly processedCount: number;
  readonly droppedCount: number;
  readonly punctuatedCount: number;
  readonly createdCount: number;
  readonly closedCount: number;
}

/** What a stream thread lets be read. */
export interface MeasuredThread {
  readonly clientId: string;
  readonly name: string;
  readonly state: () => string;
  readonly startedAtMs: () => number;
  readonly tasks: MeasuredTasks;
  readonly committer: Committer;
  readonly purger: Purger;
  readonly restorer: Restorer;
}

/** Kafka Streams' thread metrics, and those of purge and restore; returns how to remove them. */
export function registerThreadMetrics(
  registry: MetricsRegistry,
  thread: MeasuredThread,
): () => void {
  const tags = { 'client-id': thread.clientId, 'thread-id': thread.name };
  const { tasks, committer, purger, restorer } = thread;
  const own = new MetricsGroup(registry, 'stream-thread-metrics', tags)
    .add('state', 'The state of the thread.', thread.state)
    .add('thread-start-time', 'When the thread was started, epoch ms.', thread.startedAtMs)
    .add('process-total', 'Records processed.', () => tasks.processedCount)
    .add('dropped-records-total', 'Records dropped.', () => tasks.droppedCount)
    .add('punctuate-total', 'Calls of punctuators.', () => tasks.punctuatedCount)
    .add('commit-total', 'Commits that succeeded.', () => committer.commitCount)
    .add('commit-latency-avg', 'Average time of a commit, ms.', () => committer.latencyAvgMs)
    .add('commit-latency-max', 'Longest time of a commit, ms.', () => committer.latencyMaxMs)
    .add('task-created-total', 'Tasks created.', () => tasks.createdCount)
    .add('task-closed-total', 'Tasks closed.', () => tasks.closedCount)
    .add('purge-total', 'DeleteRecords requests sent.', () => purger.requestCount)
    .add('purge-failed-total', 'Partitions whose purge failed.', () => purger.failureCount);
  const updater = new MetricsGroup(registry, 'stream-state-updater-metrics', tags)
    .add('active-restoring-tasks', 'Tasks being restored.', () => restorer.activeTaskCount)
    .add('restore-total', 'Records restored.', () => restorer.restoredTotal)
    .add('restore-remaining-records-total', 'Offsets still to restore.', () =>
      Number(restorer.remainingRecords),
    );
  return () => {
    own.remove();
    updater.remove();
  };
}
