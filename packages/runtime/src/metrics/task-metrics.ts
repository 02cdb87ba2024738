import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';

/** What a task lets be read. */
export interface MeasuredTask {
  readonly name: string;
  readonly enforcedProcessingCount: number;
}

/** Kafka Streams' metrics of one task, while it is open; returns how to remove them. */
export function registerTaskMetrics(
  registry: MetricsRegistry,
  threadName: string,
  task: MeasuredTask,
): () => void {
  const tags = { 'thread-id': threadName, 'task-id': task.name };
  const group = new MetricsGroup(registry, 'stream-task-metrics', tags).add(
    'enforced-processing-total',
    'Records processed although an empty partition might have brought an earlier one.',
    () => task.enforcedProcessingCount,
  );
  return () => {
    group.remove();
  };
}
