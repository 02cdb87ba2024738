import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';
import { registerStoreMetrics, type MeasuredTaskStore } from './store-metrics.ts';

/** What a task lets be read. */
export interface MeasuredTask {
  readonly name: string;
  readonly enforcedProcessingCount: number;
  readonly measuredStores: readonly MeasuredTaskStore[];
}

/** How far the task's stores are restored. */
export interface MeasuredRestoration {
  restoredOf(taskId: string): number;
  remainingRecordsOf(taskId: string): bigint;
}

/** Kafka Streams' metrics of one task and its stores, while it is open; returns how to remove them. */
export function registerTaskMetrics(
  registry: MetricsRegistry,
  threadName: string,
  task: MeasuredTask,
  restoration: MeasuredRestoration,
): () => void {
  const tags = { 'thread-id': threadName, 'task-id': task.name };
  const group = new MetricsGroup(registry, 'stream-task-metrics', tags)
    .add(
      'enforced-processing-total',
      'Records processed although an empty partition might have brought an earlier one.',
      () => task.enforcedProcessingCount,
    )
    .add('restore-total', 'Records restored into its stores since it was opened.', () =>
      restoration.restoredOf(task.name),
    )
    .add('restore-remaining-records-total', 'Offsets still to restore.', () =>
      Number(restoration.remainingRecordsOf(task.name)),
    );
  const removals = task.measuredStores.map((store) => registerStoreMetrics(registry, tags, store));
  return () => {
    group.remove();
    for (const remove of removals) remove();
  };
}
