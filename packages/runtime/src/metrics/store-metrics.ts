import type { MeasuredStore } from '../state/measures.ts';
import type { MetricsRegistry, MetricTags } from './registry.ts';
import { MetricsGroup } from './registry.ts';

/** A task's store, and what of it is not committed yet. */
export interface MeasuredTaskStore {
  readonly store: MeasuredStore;
  /** Bytes; 0 if the store is not on disk. */
  readonly uncommittedBytes: () => number;
}

/**
 * Kafka Streams' metrics of one store and of the record cache before it, while its task is open; returns
 * how to remove them. Rates and latencies of single calls, which Kafka Streams has at DEBUG, are not
 * measured: averages and maxima are those since the task was opened.
 */
export function registerStoreMetrics(
  registry: MetricsRegistry,
  taskTags: MetricTags,
  { store, uncommittedBytes }: MeasuredTaskStore,
): () => void {
  const { measures, hitRatio, bufferedRecords, bufferedBytes } = store;
  const scope = measures?.scope ?? (store.isPersistent ? 'persistent-state' : 'in-memory-state');
  const tags = { ...taskTags, [`${scope}-id`]: store.name };
  const group = new MetricsGroup(registry, 'stream-state-metrics', tags);
  if (measures !== undefined) {
    group.add(
      'num-open-iterators',
      'Iterators on the store that were begun and are not at their end.',
      () => measures.openIterators,
    );
  }
  if (store.isPersistent) {
    group.add('uncommitted-bytes', 'Bytes written and not committed yet, about.', uncommittedBytes);
  } else if (store.approximateEntryCount !== undefined) {
    group.add('num-keys', 'Keys in the store.', () =>
      store.isOpen ? (store.approximateEntryCount?.() ?? 0) : 0,
    );
  }
  if (bufferedRecords !== undefined && bufferedBytes !== undefined) {
    group
      .add(
        'suppression-buffer-count-avg',
        'Records in the buffer, on average over all changes of it.',
        () => bufferedRecords.average,
      )
      .add(
        'suppression-buffer-count-max',
        'Records in the buffer, most.',
        () => bufferedRecords.max,
      )
      .add(
        'suppression-buffer-size-avg',
        'Bytes in the buffer, on average over all changes of it.',
        () => bufferedBytes.average,
      )
      .add('suppression-buffer-size-max', 'Bytes in the buffer, most.', () => bufferedBytes.max);
  }
  if (hitRatio === undefined) {
    return () => {
      group.remove();
    };
  }
  const cacheTags = { ...taskTags, 'record-cache-id': store.name };
  const cache = new MetricsGroup(registry, 'stream-record-cache-metrics', cacheTags)
    .add('hit-ratio-avg', 'Reads that the cache could answer, of all.', () => hitRatio.average)
    .add('hit-ratio-min', 'The same between two commits, least.', () => hitRatio.min)
    .add('hit-ratio-max', 'The same between two commits, most.', () => hitRatio.max);
  return () => {
    group.remove();
    cache.remove();
  };
}
