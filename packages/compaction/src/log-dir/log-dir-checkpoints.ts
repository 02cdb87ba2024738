import { MalformedFileError } from '../errors.ts';
import { CoalescingTask } from '../platform/coalescing-task.ts';
import type { Disk } from '../platform/disk.ts';
import type { Logger } from '../platform/logger.ts';
import type { Log } from '../log/log.ts';
import { OffsetCheckpoint } from './offset-checkpoint.ts';
import type { CheckpointEntries } from './offset-checkpoint.ts';

type Logs = ReadonlyMap<string, Log>;

/**
 * The four offset files of a log directory: as found at start, and as written since. Each is
 * written as a whole by one writer, so writes that are asked for together share one.
 */
export class LogDirCheckpoints {
  readonly #recoveryFile: OffsetCheckpoint;
  readonly #logStartFile: OffsetCheckpoint;
  readonly #replicationFile: OffsetCheckpoint;
  readonly #cleanerFile: OffsetCheckpoint;
  /** What each file holds, or is about to. */
  #recoveryPoints: CheckpointEntries;
  #logStarts: CheckpointEntries;
  #highWatermarks: CheckpointEntries;
  #cleanerOffsets: CheckpointEntries;
  #logs: Logs = new Map();
  /** What is to be written next. */
  #nextCleanerOffsets: CheckpointEntries;
  readonly #logStartTask: CoalescingTask;
  readonly #cleanerTask: CoalescingTask;
  readonly #allTask: CoalescingTask;

  constructor(disk: Disk, directory: string, logger: Logger) {
    this.#recoveryFile = new OffsetCheckpoint(disk, directory, 'recovery-point-offset-checkpoint');
    this.#logStartFile = new OffsetCheckpoint(disk, directory, 'log-start-offset-checkpoint');
    this.#replicationFile = new OffsetCheckpoint(disk, directory, 'replication-offset-checkpoint');
    this.#cleanerFile = new OffsetCheckpoint(disk, directory, 'cleaner-offset-checkpoint');
    this.#recoveryPoints = this.#recoveryFile.read();
    this.#logStarts = this.#logStartFile.read();
    this.#highWatermarks = this.#replicationFile.read();
    this.#cleanerOffsets = readCleanerOffsets(this.#cleanerFile, logger);
    this.#nextCleanerOffsets = this.#cleanerOffsets;
    this.#cleanerTask = new CoalescingTask(() => this.#writeCleanerOffsets());
    this.#logStartTask = new CoalescingTask(() => this.#writeLogStarts());
    this.#allTask = new CoalescingTask(() => this.#writeAll());
  }

  get recoveryPoints(): ReadonlyMap<string, bigint> {
    return this.#recoveryPoints;
  }

  get logStarts(): ReadonlyMap<string, bigint> {
    return this.#logStarts;
  }

  get cleanerOffsets(): ReadonlyMap<string, bigint> {
    return this.#nextCleanerOffsets;
  }

  /** The file says so after its next write. */
  setCleanerOffset(name: string, offset: bigint): void {
    this.#nextCleanerOffsets = new Map(this.#nextCleanerOffsets).set(name, offset);
  }

  /** Resolves once the file says so. */
  writeCleanerOffset(logs: Logs, name: string, offset: bigint): Promise<void> {
    this.#logs = logs;
    this.setCleanerOffset(name, offset);
    return this.#cleanerTask.request();
  }

  writeLogStarts(logs: Logs): Promise<void> {
    this.#logs = logs;
    return this.#logStartTask.request();
  }

  /** Also drops what the files say of logs that are gone (KAFKA-1819). */
  writeAll(logs: Logs): Promise<void> {
    this.#logs = logs;
    return this.#allTask.request();
  }

  /** At start, before anything is appended: what is named but not there must not pass to a new log of that name. */
  settle(logs: Logs): Promise<void> {
    const files = [
      this.#recoveryPoints,
      this.#logStarts,
      this.#highWatermarks,
      this.#cleanerOffsets,
    ];
    const isAbsent = files.some((entries) => [...entries.keys()].some((name) => !logs.has(name)));
    const isLowered = this.#nextCleanerOffsets !== this.#cleanerOffsets;
    return isAbsent || isLowered ? this.writeAll(logs) : Promise.resolve();
  }

  async #writeLogStarts(): Promise<void> {
    // A log whose start is its first segment's base needs no entry, but then that base must be what
    // is there after a power loss: renames of deleted segments first.
    for (;;) {
      const renamed = [...this.#logs.values()].filter((log) => log.deletionsNeedSync);
      if (renamed.length === 0) break;
      await Promise.all(renamed.map((log) => log.syncDeletions()));
    }
    const entries: CheckpointEntries = new Map();
    for (const [name, log] of this.#logs) {
      const first = log.segments[0];
      if (first && log.logStartOffset > first.baseOffset) entries.set(name, log.logStartOffset);
    }
    if (isEqual(entries, this.#logStarts)) return;
    await this.#logStartFile.write(entries);
    this.#logStarts = entries;
  }

  async #writeAll(): Promise<void> {
    await this.#logStartTask.request();
    const recoveryPoints: CheckpointEntries = new Map();
    const highWatermarks: CheckpointEntries = new Map();
    for (const [name, log] of this.#logs) {
      recoveryPoints.set(name, log.recoveryPoint);
      highWatermarks.set(name, log.highWatermark);
    }
    if (!isEqual(recoveryPoints, this.#recoveryPoints)) {
      await this.#recoveryFile.write(recoveryPoints);
      this.#recoveryPoints = recoveryPoints;
    }
    if (!isEqual(highWatermarks, this.#highWatermarks)) {
      await this.#replicationFile.write(highWatermarks);
      this.#highWatermarks = highWatermarks;
    }
    await this.#cleanerTask.request();
  }

  async #writeCleanerOffsets(): Promise<void> {
    const entries = new Map([...this.#nextCleanerOffsets].filter(([name]) => this.#logs.has(name)));
    this.#nextCleanerOffsets = entries;
    if (isEqual(entries, this.#cleanerOffsets)) return;
    await this.#cleanerFile.write(entries);
    this.#cleanerOffsets = entries;
  }
}

/**
 * Where the cleaner got to only saves it work: a file that is junk costs a pass over everything and
 * need not keep the directory closed.
 */
function readCleanerOffsets(file: OffsetCheckpoint, logger: Logger): CheckpointEntries {
  try {
    return file.read();
  } catch (error) {
    if (!(error instanceof MalformedFileError)) throw error;
    logger.warn({ path: file.path, err: error }, 'the cleaner starts from the beginning again');
    return new Map();
  }
}

function isEqual(a: CheckpointEntries, b: CheckpointEntries): boolean {
  if (a.size !== b.size) return false;
  for (const [name, offset] of a) if (b.get(name) !== offset) return false;
  return true;
}
