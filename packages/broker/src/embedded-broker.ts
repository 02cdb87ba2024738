import type { CleanerMetric, CleanerStatus } from '@millrace/compaction';

/** One value under the name that Kafka gives it, such as `kafka.log:type=LogCleaner,name=DeadThreadCount`. */
export type BrokerMetric = CleanerMetric;

/** What a broker tells of itself. Rejects with BrokerStoppedError once it stops. */
interface BrokerInsight {
  /**
   * The broker's metrics, as they are now: those of the log cleaner, of all its threads, under Kafka's names.
   *
   * - LogCleaner: `max-buffer-utilization-percent`, `cleaner-recopy-percent` (written of read),
   *   `max-clean-time-secs` of each thread's last pass; `max-compaction-delay-secs`, by which
   *   max.compaction.lag.ms is exceeded; `DeadThreadCount`
   * - Throttler: `cleaner-io`, bytes read and written so far
   * - LogCleanerManager: `uncleanable-partitions-count` and `uncleanable-bytes` by `logDirectory`,
   *   `max-dirty-percent`, `time-since-last-run-ms`
   */
  metrics(): Promise<readonly BrokerMetric[]>;
  /**
   * Every compacted partition with its regions (clean, compactable, protected, active; by offsets and
   * bytes), what keeps it from being cleaned, and why it is not cleaned any more if it has failed.
   */
  cleanerStatus(): Promise<CleanerStatus>;
}

/** What runs the broker: this thread or another. */
export interface RunningBroker extends BrokerInsight {
  readonly port: number;
  readonly clusterId: string;
  /** Rejects with BrokerCrashedError if the broker ended by itself. */
  readonly stopped: Promise<void>;
  close(): Promise<void>;
}

/** A running broker, wherever it runs. */
export interface EmbeddedBroker extends BrokerInsight {
  readonly host: string;
  readonly port: number;
  /** `host:port`, as clients take it. */
  readonly bootstrapServers: string;
  readonly dataDir: string;
  readonly clusterId: string;
  /**
   * Resolves when the broker has stopped, by `close()` or because the command line asked for it; rejects
   * with BrokerCrashedError if it ended by itself. Deliberately without a handler of its own: a crash
   * that nobody looks at here is an unhandled rejection.
   */
  readonly closed: Promise<void>;
  /** Stops cleanly in bounded time; a temporary data directory is removed. May be called again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
