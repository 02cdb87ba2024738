import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';
import { registerNodeMetrics, type MeasuredNodes } from './node-metrics.ts';
import { registerStoreMetrics, type MeasuredTaskStore } from './store-metrics.ts';
import { WindowedValues } from './windows.ts';

/** What a task lets be read. */
export interface MeasuredTask extends MeasuredNodes {
  readonly name: string;
  readonly processedCount: number;
  readonly droppedCount: number;
  readonly punctuatedCount: number;
  readonly enforcedProcessingCount: number;
  readonly measuredStores: readonly MeasuredTaskStore[];
}

/** How far the task's stores are restored. */
export interface MeasuredRestoration {
  restoredOf(taskId: string): number;
  remainingRecordsOf(taskId: string): bigint;
}

/** Kafka Streams' metrics of one task, its nodes and stores, while it is open; returns how to remove them. */
export function registerTaskMetrics(
  registry: MetricsRegistry,
  threadName: string,
  task: MeasuredTask,
  restoration: MeasuredRestoration,
  thread: { readonly processMs: number },
): () => void {
  const tags = { 'thread-id': threadName, 'task-id': task.name };
  const { measures } = task;
  if (registry.records('DEBUG')) measures.lateness = new WindowedValues();
  const own = registry.rateOf(() => measures.processMs);
  const all = registry.rateOf(() => thread.processMs);
  const stopWatching = [registry.watch(own), registry.watch(all)];
  const group = new MetricsGroup(registry, 'stream-task-metrics', tags)
    .addRateAndTotal('dropped-records', () => task.droppedCount)
    .add('active-process-ratio', () => registry.ofTime(own) / registry.ofTime(all))
    .add('restore-remaining-records-total', () => Number(restoration.remainingRecordsOf(task.name)))
    .addRateAndTotal('process', () => task.processedCount)
    .addAverageAndMax('process-latency', measures.processLatency)
    .addRateAndTotal('punctuate', () => task.punctuatedCount)
    .addAverageAndMax('punctuate-latency', measures.punctuateLatency)
    .addRateAndTotal('enforced-processing', () => task.enforcedProcessingCount)
    .add('active-buffer-count', () =>
      task.queues.reduce((sum, queue) => sum + queue.bufferedRecords, 0),
    )
    .add('cache-size-bytes-total', () =>
      task.measuredStores.reduce((sum, { store }) => sum + (store.cachedBytes ?? 0), 0),
    )
    .addRateAndTotal('restore', () => restoration.restoredOf(task.name));
  if (measures.lateness !== null) group.addAverageAndMax('record-lateness', measures.lateness);
  const removals = [
    ...stopWatching,
    registerNodeMetrics(registry, tags, task),
    ...task.measuredStores.map((store) => registerStoreMetrics(registry, tags, store)),
  ];
  return () => {
    group.remove();
    for (const remove of removals) remove();
  };
}
