/** The cleaner's own settings: `log.cleaner.*` without those that are defaults of topics. */
export interface CleanerSettings {
  /** log.cleaner.threads; at least 1. */
  readonly threads: number;
  /** log.cleaner.dedupe.buffer.size: of all threads' offset maps together. */
  readonly dedupeBufferBytes: number;
  /** log.cleaner.io.buffer.size: of all threads' read and write buffers together. */
  readonly ioBufferBytes: number;
  /** log.cleaner.io.buffer.load.factor: share of a map's slots that may be filled. */
  readonly loadFactor: number;
  /** log.cleaner.io.max.bytes.per.second: reads and writes of all threads together. */
  readonly maxIoBytesPerSecond: number;
  /** log.cleaner.backoff.ms: how long a thread waits when there was nothing to clean. */
  readonly backoffMs: number;
}
