import { parseLogConfig } from '../config.ts';
import type { LogConfig } from '../config.ts';
import { LogDir } from '../log-dir/log-dir.ts';
import type { LogDirOptions } from '../log-dir/log-dir.ts';
import type { Log } from '../log/log.ts';
import type { Clock } from '../platform/clock.ts';
import type { DirectoryLocker } from '../platform/directory-lock.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { MemoryDisk } from '../platform/memory-disk.ts';
import { recordsIn } from './batches.ts';
import type { SeenRecord } from './batches.ts';
import { seededRandom } from './seeded-random.ts';

export const ROOT = '/data';

/** Memory disks are nobody else's. */
const freeLocker: DirectoryLocker = {
  acquire: () => Promise.resolve({ release: () => Promise.resolve() }),
};

export function configOf(entries: Record<string, string> = {}): LogConfig {
  return parseLogConfig(new Map(Object.entries(entries)));
}

export interface MemorySetup {
  readonly disk: MemoryDisk;
  readonly clock: Clock;
  readonly config: LogConfig;
}

export function openMemoryDir(
  { disk, clock, config }: MemorySetup,
  options: LogDirOptions = {},
): Promise<LogDir> {
  return LogDir.open(ROOT, {
    disk,
    clock,
    random: seededRandom(1),
    locker: freeLocker,
    configOf: () => config,
    ...options,
  });
}

/** A directory with the one log `t-0`, in memory. */
export async function newMemoryLog(
  entries: Record<string, string> = {},
): Promise<{ disk: MemoryDisk; clock: FakeClock; dir: LogDir; log: Log; config: LogConfig }> {
  const disk = new MemoryDisk();
  const clock = new FakeClock();
  disk.nowMs = clock.now();
  const config = configOf(entries);
  const dir = await openMemoryDir({ disk, clock, config });
  return { disk, clock, dir, config, log: dir.createLog('t', 0, null, config) };
}

/** Every record from the log start to the high watermark, read as a consumer does. */
export function readAll(log: Log, maxBytes = 1 << 20): SeenRecord[] {
  const seen: SeenRecord[] = [];
  let at = log.logStartOffset;
  for (;;) {
    const { records } = log.read(at, maxBytes);
    if (records.length === 0) return seen;
    for (const record of recordsIn(records)) if (record.offset >= at) seen.push(record);
    at = nextOffsetOf(records);
  }
}

/** The offset after the last whole batch of a read. */
export function nextOffsetOf(records: Buffer): bigint {
  let position = 0;
  let next = -1n;
  while (position < records.length) {
    next = records.readBigInt64BE(position) + BigInt(records.readInt32BE(position + 23)) + 1n;
    position += 12 + records.readInt32BE(position + 8);
  }
  return next;
}
