import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';

/** What the thread of the global stores lets be read. */
export interface MeasuredGlobalThread {
  readonly clientId: string;
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
  const tags = { 'client-id': thread.clientId, 'thread-id': thread.name };
  const own = new MetricsGroup(registry, 'stream-thread-metrics', tags)
    .add('state', 'The state of the thread.', thread.state)
    .add('process-total', 'Records of global topics applied.', thread.processedCount)
    .add('dropped-records-total', 'Records dropped.', thread.droppedCount)
    .add('restore-total', 'Records restored into global stores.', thread.restoredCount)
    .add('restore-remaining-records-total', 'Offsets still to restore.', () =>
      Number(thread.remainingRecords()),
    );
  return () => {
    own.remove();
  };
}
