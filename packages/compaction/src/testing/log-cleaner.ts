import { LogCleaner } from '../cleaner/manager/log-cleaner.ts';
import type { CleanerSettings } from '../cleaner/manager/cleaner-settings.ts';
import type { NewCleanerThread } from '../cleaner/threads/cleaner-thread.ts';
import { InlineThread } from '../cleaner/threads/inline-thread.ts';
import type { LogDir } from '../log-dir/log-dir.ts';
import type { Log } from '../log/log.ts';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { MemoryDisk } from '../platform/memory-disk.ts';
import type { Logger } from '../platform/logger.ts';
import { batchOf } from './batches.ts';
import { configOf, openMemoryDir } from './memory-log-dir.ts';
import { seededRandom } from './seeded-random.ts';

export const COMPACT = { 'cleanup.policy': 'compact' };

export const SETTINGS: CleanerSettings = {
  threads: 1,
  dedupeBufferBytes: 1 << 20,
  ioBufferBytes: 1 << 16,
  loadFactor: 0.9,
  maxIoBytesPerSecond: Number.MAX_VALUE,
  backoffMs: 15_000,
};

export interface LoggedLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly context: Readonly<Record<string, unknown>>;
}

/** Keeps what is logged. */
export function keepingLogger(): { logger: Logger; lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at =
    (level: keyof Logger) =>
    (context: object, message: string): void => {
      lines.push({ level, message, context: context as Record<string, unknown> });
    };
  return {
    lines,
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
  };
}

/** A log directory in memory with a cleaner on a clock that stands still. */
export class CleanerFixture {
  readonly disk: MemoryDisk;
  readonly clock: FakeClock;
  readonly dir: LogDir;
  readonly cleaner: LogCleaner;
  readonly lines: readonly LoggedLine[];

  private constructor(
    disk: MemoryDisk,
    clock: FakeClock,
    dir: LogDir,
    cleaner: LogCleaner,
    lines: readonly LoggedLine[],
  ) {
    this.disk = disk;
    this.clock = clock;
    this.dir = dir;
    this.cleaner = cleaner;
    this.lines = lines;
  }

  static async open(
    options: {
      readonly disk?: MemoryDisk;
      readonly clock?: FakeClock;
      readonly settings?: Partial<CleanerSettings>;
      readonly config?: Record<string, string>;
      readonly newThread?: NewCleanerThread;
    } = {},
  ): Promise<CleanerFixture> {
    const { disk = new MemoryDisk(), clock = new FakeClock() } = options;
    disk.nowMs = clock.now();
    const { logger, lines } = keepingLogger();
    const config = configOf(options.config ?? COMPACT);
    const dir = await openMemoryDir({ disk, clock, config }, { logger });
    const random = seededRandom(5);
    const cleaner = new LogCleaner({
      logDir: dir,
      clock,
      logger,
      settings: { ...SETTINGS, ...options.settings },
      newThread:
        options.newThread ?? ((settings) => new InlineThread({ disk, clock, random }, settings)),
    });
    return new CleanerFixture(disk, clock, dir, cleaner, lines);
  }

  log(topic: string, entries: Record<string, string> = COMPACT): Log {
    return this.dir.createLog(topic, 0, null, configOf(entries));
  }

  messages(level: keyof Logger): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }

  /** Time passes; what it brings about is through when this resolves. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settled();
  }

  async metric(name: string): Promise<number | undefined> {
    return (await this.cleaner.metrics()).find((metric) => metric.name === name)?.value;
  }
}

/** What only waits for other promises and for turns of the event loop is through. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await yieldToEventLoop();
}

/** `count` batches of one record each, over `keys` keys, in a segment of their own. */
export function fillSegment(log: Log, count: number, keys = 2, value = 'value'): void {
  for (let index = 0; index < count; index++) {
    const key = `k${String(index % keys)}`;
    log.appendAsLeader(batchOf([{ key, value: `${value}-${String(index)}` }]));
  }
  log.roll();
}
