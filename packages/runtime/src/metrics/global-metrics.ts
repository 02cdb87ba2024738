import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';

/** What the thread of the global stores lets be read. */
export interface MeasuredGlobalThread {
  readonly name: string;
  readonly state: () => string;
  readonly processedCount: () => number;
  readonly droppedCount: () => number;
  readonly restoredCount: () => number;
  readonly remainingRecords: () => bigint;
}

/** Metrics of the thread that keeps the global stores; returns how to remove them. */
export function registerGlobalMetrics(
  registry: MetricsRegistry,
  thread: MeasuredGlobalThread,
): () => void {
  const own = new MetricsGroup(registry, 'stream-thread-metrics', { 'thread-id': thread.name })
    .add('state', thread.state)
    .addRateAndTotal('process', thread.processedCount)
    .addRateAndTotal('dropped-records', thread.droppedCount)
    .add('restore-total', thread.restoredCount)
    .add('restore-remaining-records-total', () => Number(thread.remainingRecords()));
  return () => {
    own.remove();
  };
}
