import type { Committer } from '../commit/committer.ts';
import type { Purger } from '../commit/purge.ts';
import type { Restorer } from '../restore/restorer.ts';
import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';
import type { ThreadTimings } from './thread-timings.ts';

const NS_PER_MS = 1_000_000;

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
  readonly processId: string;
  readonly name: string;
  readonly state: () => string;
  /** Of the states in Kafka Streams' order. */
  readonly stateIndex: () => number;
  readonly startedAtMs: () => number;
  readonly tasks: MeasuredTasks;
  readonly timings: ThreadTimings;
  readonly committer: Committer;
  readonly purger: Purger;
  readonly restorer: Restorer;
}

/** Kafka Streams' thread metrics, and those of purge and restore; returns how to remove them. */
export function registerThreadMetrics(
  registry: MetricsRegistry,
  thread: MeasuredThread,
): () => void {
  const tags = { 'thread-id': thread.name };
  const { tasks, timings, committer, purger, restorer } = thread;
  const own = new MetricsGroup(registry, 'stream-thread-metrics', tags)
    .add('state', thread.state)
    .add('thread-state', thread.stateIndex, { 'process-id': thread.processId })
    .add('thread-start-time', thread.startedAtMs)
    .addRateAndTotal('poll', () => timings.pollCount)
    .addAverageAndMax('poll-latency', timings.pollLatency)
    .addRatio('poll-ratio', () => timings.pollMs)
    .addAverageAndMax('poll-records', timings.pollRecords)
    .addRateAndTotal('process', () => tasks.processedCount)
    .addAverageAndMax('process-latency', timings.processLatency)
    .addRatio('process-ratio', () => timings.processMs)
    .addAverageAndMax('process-records', timings.processRecords)
    .addRateAndTotal('punctuate', () => tasks.punctuatedCount)
    .addAverageAndMax('punctuate-latency', timings.punctuateLatency)
    .addRatio('punctuate-ratio', () => timings.punctuateMs)
    .addRateAndTotal('commit', () => committer.commitCount)
    .addAverageAndMax('commit-latency', committer.latency)
    .addRatio('commit-ratio', () => timings.commitMs)
    .add('blocked-time-ns-total', () => (timings.commitMs + timings.fullMs) * NS_PER_MS)
    .addRateAndTotal('task-created', () => tasks.createdCount)
    .addRateAndTotal('task-closed', () => tasks.closedCount)
    .addRateAndTotal('dropped-records', () => tasks.droppedCount)
    .addRateAndTotal('purge', () => purger.requestCount)
    .add('purge-failed-total', () => purger.failureCount)
    .add('purge-lag-records', () => Number(purger.lagRecords))
    .add('purge-lag-ms', () => purger.lagMs);
  const updater = new MetricsGroup(registry, 'stream-state-updater-metrics', tags)
    .add('active-restoring-tasks', () => restorer.activeTaskCount)
    .addRate('restore-records-rate', () => restorer.restoredTotal)
    .addRate('restore-call-rate', () => timings.restoreCallCount)
    .addRatio('active-restore-ratio', () => timings.restoreMs)
    .add('restore-total', () => restorer.restoredTotal)
    .add('restore-remaining-records-total', () => Number(restorer.remainingRecords));
  return () => {
    own.remove();
    updater.remove();
  };
}
