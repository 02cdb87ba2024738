/** What Kafka Streams 4.4 measures and Millrace does not, and why. docs/metrics.md lists it. */
export interface AbsentMetrics {
  readonly group: string;
  readonly names: readonly string[];
  readonly reason: string;
}

const rocksDb = (names: readonly string[]): AbsentMetrics => ({
  group: 'stream-state-metrics',
  names,
  reason: 'They are RocksDB’s; stores on disk are in LMDB, which has no such parts.',
});

export const absentMetrics: readonly AbsentMetrics[] = [
  {
    group: 'stream-metrics',
    names: ['commit-id'],
    reason: 'A package of npm does not know the commit that it was built from.',
  },
  {
    group: 'stream-state-updater-metrics',
    names: [
      'standby-updating-tasks',
      'standby-paused-tasks',
      'standby-update-ratio',
      'active-paused-tasks',
      'checkpoint-ratio',
      'idle-ratio',
    ],
    reason:
      'There are no standby tasks yet, no file of checkpoints, and no thread of its own that would be idle.',
  },
  {
    group: 'stream-processor-node-metrics',
    names: [
      'window-aggregate-final-emit-latency-avg',
      'window-aggregate-final-emit-latency-max',
      'window-aggregate-final-emit-rate',
      'window-aggregate-final-emit-total',
    ],
    reason: 'Emission when a window closes is there only as `suppress`.',
  },
  {
    group: 'stream-state-metrics',
    names: [
      'record-e2e-latency-avg',
      'record-e2e-latency-max',
      'record-e2e-latency-min',
      'restore-latency-avg',
      'restore-latency-max',
      'restore-rate',
      'oldest-iterator-open-since-ms',
    ],
    reason:
      'Restoring is measured per task, latency at the nodes, and iterators by how many are open and for how long they were.',
  },
  rocksDb([
    'background-errors',
    'block-cache-capacity',
    'block-cache-data-hit-ratio',
    'block-cache-filter-hit-ratio',
    'block-cache-index-hit-ratio',
    'block-cache-pinned-usage',
    'block-cache-usage',
    'bytes-read-compaction-rate',
    'bytes-read-rate',
    'bytes-read-total',
    'bytes-written-compaction-rate',
    'bytes-written-rate',
    'bytes-written-total',
    'compaction-pending',
    'compaction-time-avg',
    'compaction-time-max',
    'compaction-time-min',
    'cur-size-active-mem-table',
    'cur-size-all-mem-tables',
    'estimate-num-keys',
    'estimate-pending-compaction-bytes',
    'estimate-table-readers-mem',
    'live-sst-files-size',
    'mem-table-flush-pending',
    'memtable-bytes-flushed-rate',
    'memtable-bytes-flushed-total',
    'memtable-flush-time-avg',
    'memtable-flush-time-max',
    'memtable-flush-time-min',
    'memtable-hit-ratio',
    'num-deletes-active-mem-table',
    'num-deletes-imm-mem-tables',
    'num-entries-active-mem-table',
    'num-entries-imm-mem-tables',
    'num-immutable-mem-table',
    'num-live-versions',
    'num-running-compactions',
    'num-running-flushes',
    'number-file-errors-total',
    'number-open-files',
    'size-all-mem-tables',
    'total-sst-files-size',
    'write-stall-duration-avg',
    'write-stall-duration-total',
  ]),
];
