import type { MeasuredStore } from '../state/measures.ts';
import type { MetricsRegistry, MetricTags } from './registry.ts';
import { MetricsGroup } from './registry.ts';
import { timeStore } from './store-operations.ts';

/** A task's store, and what of it is not committed yet. */
export interface MeasuredTaskStore {
  readonly store: MeasuredStore;
  /** Bytes; 0 if the store is not on disk. */
  readonly uncommittedBytes: () => number;
}

/**
 * Kafka Streams' metrics of one store and of the record cache before it, while its task is open; returns
 * how to remove them.
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
  if (measures !== undefined) group.add('num-open-iterators', () => measures.openIterators);
  if (store.isPersistent) {
    group.add('uncommitted-bytes', uncommittedBytes);
  } else if (store.approximateEntryCount !== undefined) {
    group.add('num-keys', () => (store.isOpen ? (store.approximateEntryCount?.() ?? 0) : 0));
  }
  if (bufferedRecords !== undefined && bufferedBytes !== undefined) {
    group
      .add('suppression-buffer-count-avg', () => bufferedRecords.average)
      .add('suppression-buffer-count-max', () => bufferedRecords.max)
      .add('suppression-buffer-size-avg', () => bufferedBytes.average)
      .add('suppression-buffer-size-max', () => bufferedBytes.max);
  }
  const removals = [
    () => {
      group.remove();
    },
  ];
  if (registry.records('DEBUG')) removals.push(registerOperations(registry, group, store));
  if (hitRatio !== undefined) {
    const cacheTags = { ...taskTags, 'record-cache-id': store.name };
    const cache = new MetricsGroup(registry, 'stream-record-cache-metrics', cacheTags)
      .add('hit-ratio-avg', () => hitRatio.average)
      .add('hit-ratio-min', () => hitRatio.min)
      .add('hit-ratio-max', () => hitRatio.max);
    removals.push(() => {
      cache.remove();
    });
  }
  return () => {
    for (const remove of removals) remove();
  };
}

/** Rates and latencies of the calls of a store. */
function registerOperations(
  registry: MetricsRegistry,
  group: MetricsGroup,
  store: MeasuredStore,
): () => void {
  const timed = timeStore(store, registry.clock);
  for (const [name, operation] of timed.operations) {
    group
      .addRate(`${name}-rate`, () => operation.count)
      .addAverageAndMax(`${name}-latency`, operation.latency);
  }
  if (timed.iterators !== null) group.addAverageAndMax('iterator-duration', timed.iterators);
  return () => {
    timed.stop();
  };
}
