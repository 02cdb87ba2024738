import type { LogDir } from '../../log-dir/log-dir.ts';
import type { Log } from '../../log/log.ts';
import type { Clock } from '../../platform/clock.ts';
import type { CleaningReport, CleaningStats } from '../cleaning-task.ts';
import { describeCleaning } from '../describe-cleaning.ts';
import type { CleaningDescription } from '../describe-cleaning.ts';
import type { IoThrottle } from '../threads/io-throttle.ts';
import type { CleanerManager, Uncleanable } from './cleaner-manager.ts';
import type { CleaningState } from './cleaning-states.ts';
import { loadFigures, Slices } from './figures.ts';

/** One value under the name that Kafka gives it. */
export interface CleanerMetric {
  readonly group: 'kafka.log' | 'kafka.utils';
  readonly type: 'LogCleaner' | 'LogCleanerManager' | 'Throttler';
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A compacted partition as the cleaner sees it. */
export interface CleanedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly state: CleaningState;
  /** null: it may be cleaned. */
  readonly uncleanable: Uncleanable | null;
  /** Its regions, and why it would be cleaned or not; null: its files cannot be looked at. */
  readonly description: CleaningDescription | null;
}

export interface CleanerStatus {
  readonly threadCount: number;
  readonly deadThreadCount: number;
  /** Passes since the start that came to their end. */
  readonly passCount: number;
  /** Threads that died since the start. */
  readonly threadDeathCount: number;
  /** Read and written since the start. */
  readonly ioBytes: number;
  readonly partitions: readonly CleanedPartition[];
}

/** What the passes of all threads come to; of each thread its last. */
export class CleanerFigures {
  passCount = 0;
  threadDeaths = 0;
  readonly #last = new Map<number, { stats: CleaningStats; tookMs: number }>();

  /** A thread that is not there any more counts no longer. */
  set threadCount(count: number) {
    for (const index of this.#last.keys()) if (index >= count) this.#last.delete(index);
  }

  count(threadIndex: number, { stats }: CleaningReport, tookMs: number): void {
    this.passCount++;
    this.#last.set(threadIndex, { stats, tookMs });
  }

  /** 0 to 1. */
  get maxMapUtilization(): number {
    return Math.max(0, ...[...this.#last.values()].map(({ stats }) => stats.mapUtilization));
  }

  get maxTookMs(): number {
    return Math.max(0, ...[...this.#last.values()].map(({ tookMs }) => tookMs));
  }

  /** Of what was read, the share that was written again. */
  get recopyRatio(): number {
    let read = 0;
    let written = 0;
    for (const { stats } of this.#last.values()) {
      read += stats.bytesRead;
      written += stats.bytesWritten;
    }
    return read === 0 ? 0 : written / read;
  }
}

interface StatusContext {
  readonly logDir: LogDir;
  readonly clock: Clock;
  readonly manager: CleanerManager;
  readonly figures: CleanerFigures;
  readonly throttle: IoThrottle;
  readonly threadCount: number;
  readonly deadThreadCount: number;
}

/** The metrics of Kafka's LogCleaner and LogCleanerManager, as they are now. */
export async function cleanerMetrics(context: StatusContext): Promise<CleanerMetric[]> {
  const { logDir, clock, manager, figures, throttle, deadThreadCount } = context;
  const { atMs, maxDirtyRatio, maxCompactionDelayMs } = manager.figures;
  const nowMs = clock.now();
  const slices = new Slices(clock);
  const of =
    (type: CleanerMetric['type'], tags: CleanerMetric['tags'] = {}) =>
    (name: string, value: number): CleanerMetric => ({
      group: 'kafka.log',
      type,
      name,
      tags,
      value,
    });
  const cleaner = of('LogCleaner');
  const whole = of('LogCleanerManager');
  const directory = of('LogCleanerManager', { logDirectory: logDir.path });
  let uncleanableBytes = 0;
  for (const log of [...manager.uncleanable.keys()]) {
    uncleanableBytes +=
      (await descriptionOf(logDir, log, nowMs, slices))?.range.compactableBytes ?? 0;
  }
  return [
    cleaner('max-buffer-utilization-percent', Math.floor(100 * figures.maxMapUtilization)),
    cleaner('cleaner-recopy-percent', Math.floor(100 * figures.recopyRatio)),
    cleaner('max-clean-time-secs', Math.floor(figures.maxTookMs / 1000)),
    cleaner('max-compaction-delay-secs', Math.floor(maxCompactionDelayMs / 1000)),
    cleaner('DeadThreadCount', deadThreadCount),
    {
      group: 'kafka.utils',
      type: 'Throttler',
      name: 'cleaner-io',
      tags: {},
      value: throttle.totalBytes,
    },
    directory('uncleanable-partitions-count', manager.uncleanable.size),
    directory('uncleanable-bytes', uncleanableBytes),
    whole('max-dirty-percent', Math.floor(100 * maxDirtyRatio)),
    whole('time-since-last-run-ms', atMs === null ? 0 : Math.max(0, nowMs - atMs)),
  ];
}

export async function cleanerStatus(context: StatusContext): Promise<CleanerStatus> {
  const { logDir, clock, manager, figures, throttle } = context;
  const nowMs = clock.now();
  const slices = new Slices(clock);
  const partitions: CleanedPartition[] = [];
  for (const log of [...logDir.logs()]) {
    if (!log.config.cleanupPolicy.compact) continue;
    const description = await descriptionOf(logDir, log, nowMs, slices);
    if (log.isClosed) continue;
    partitions.push({
      topic: log.topic,
      partition: log.partition,
      state: manager.stateOf(log),
      uncleanable: manager.uncleanable.get(log) ?? null,
      description,
    });
  }
  return {
    threadCount: context.threadCount,
    deadThreadCount: context.deadThreadCount,
    passCount: figures.passCount,
    threadDeathCount: figures.threadDeaths,
    ioBytes: throttle.totalBytes,
    partitions,
  };
}

async function descriptionOf(
  logDir: LogDir,
  log: Log,
  nowMs: number,
  slices: Slices,
): Promise<CleaningDescription | null> {
  await slices.pause();
  const checkpoint = logDir.cleanerOffsets.get(log.name);
  try {
    await loadFigures(log, checkpoint ?? log.logStartOffset, slices);
    return describeCleaning(log, checkpoint, nowMs);
  } catch {
    // What it was is told by the partition's being uncleanable.
    return null;
  }
}
