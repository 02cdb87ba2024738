import path from 'node:path';
import { defaultLogConfig } from '../config.ts';
import type { LogConfig } from '../config.ts';
import { LogDirError, LogDirLockedError, toLogDirError } from '../errors.ts';
import {
  LOGS_PER_TURN,
  MAX_CACHED_INDEX_BYTES,
  MAX_OPEN_INACTIVE_SEGMENTS,
  PRODUCER_EXPIRATION_MS,
} from '../limits.ts';
import { DelayedDeletions } from '../log/delayed-deletions.ts';
import { loadLog } from '../log/load.ts';
import type { LogEnvironment } from '../log/log-state.ts';
import { Log } from '../log/log.ts';
import { readTopicId, writeTopicId } from '../log/partition-metadata.ts';
import type { RetentionResult } from '../log/retention.ts';
import { systemClock } from '../platform/clock.ts';
import type { Clock } from '../platform/clock.ts';
import { systemDirectoryLocker } from '../platform/directory-lock.ts';
import type { DirectoryLock, DirectoryLocker } from '../platform/directory-lock.ts';
import type { Disk } from '../platform/disk.ts';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import { silentLogger } from '../platform/logger.ts';
import type { Logger } from '../platform/logger.ts';
import { nodeDisk } from '../platform/node-disk.ts';
import { systemRandom } from '../platform/random.ts';
import type { Random } from '../platform/random.ts';
import { SegmentCache } from '../segment/segment-cache.ts';
import { checkedDisk } from './checked-disk.ts';
import { leaveCleanShutdownMark, takeCleanShutdownMark } from './clean-shutdown.ts';
import {
  checkTopicName,
  deletedDirectoryName,
  isDeletedDirectoryName,
  parseLogDirectoryName,
} from './directory-names.ts';
import { LogDirCheckpoints } from './log-dir-checkpoints.ts';
import { openMetaProperties } from './meta-properties.ts';
import type { MetaProperties } from './meta-properties.ts';

export interface LogDirOptions {
  readonly clock?: Clock;
  readonly disk?: Disk;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly locker?: DirectoryLocker;
  /** What the directory must belong to; a new one is given these, or new ids. */
  readonly clusterId?: string;
  readonly nodeId?: number;
  /** The settings of a log that is found on disk; default: Kafka's defaults. */
  readonly configOf?: (topic: string) => LogConfig;
  /** producer.id.expiration.ms; default one day. */
  readonly producerExpirationMs?: number;
  /** Bounds on open files and index memory of inactive segments. */
  readonly maxOpenSegments?: number;
  readonly maxIndexBytes?: number;
}

export interface RetentionFailure {
  readonly log: Log;
  readonly error: unknown;
}

export interface RetentionSummary extends RetentionResult {
  readonly failures: readonly RetentionFailure[];
}

/** The metadata log of a KRaft controller, which shares a directory with others' logs. */
const METADATA_TOPIC = '__cluster_metadata';
const UNIQUE_ID_BYTES = 16;

/** A directory of logs in Kafka's layout, held by one owner at a time. */
export class LogDir {
  readonly path: string;
  readonly #environment: LogEnvironment;
  readonly #meta: MetaProperties;
  readonly #lock: DirectoryLock;
  readonly #logs = new Map<string, Log>();
  readonly #checkpoints: LogDirCheckpoints;
  /** Gone, but perhaps still named by the checkpoint files. */
  readonly #deleting = new Set<string>();
  #closing: Promise<void> | null = null;

  private constructor(
    directory: string,
    environment: LogEnvironment,
    meta: MetaProperties,
    lock: DirectoryLock,
    checkpoints: LogDirCheckpoints,
  ) {
    this.path = directory;
    this.#environment = environment;
    this.#meta = meta;
    this.#lock = lock;
    this.#checkpoints = checkpoints;
  }

  /**
   * Locks the directory (making it if need be) and opens every log in it; after an unclean shutdown
   * with recovery.
   *
   * @throws LogDirLockedError, LogDirError, MalformedFileError (a checkpoint that is junk)
   */
  static async open(directory: string, options: LogDirOptions = {}): Promise<LogDir> {
    const disk = checkedDisk(options.disk ?? nodeDisk);
    const clock = options.clock ?? systemClock;
    const logger = options.logger ?? silentLogger;
    const root = path.resolve(directory);
    await makeDurableDirectory(disk, root);
    const lock = await acquire(options.locker ?? systemDirectoryLocker, root);
    try {
      const environment: LogEnvironment = {
        disk,
        clock,
        random: options.random ?? systemRandom,
        logger,
        cache: new SegmentCache({
          maxOpenSegments: options.maxOpenSegments ?? MAX_OPEN_INACTIVE_SEGMENTS,
          maxIndexBytes: options.maxIndexBytes ?? MAX_CACHED_INDEX_BYTES,
        }),
        deletions: new DelayedDeletions(disk, clock, logger),
        producerExpirationMs: options.producerExpirationMs ?? PRODUCER_EXPIRATION_MS,
      };
      const meta = await openMetaProperties(disk, root, environment.random, options);
      const isClean = await takeCleanShutdownMark(disk, root);
      const checkpoints = new LogDirCheckpoints(disk, root, logger);
      const logDir = new LogDir(root, environment, meta, lock, checkpoints);
      await logDir.#loadAll(isClean, options.configOf ?? (() => defaultLogConfig));
      return logDir;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  get clusterId(): string {
    return this.#meta.clusterId;
  }

  get nodeId(): number {
    return this.#meta.nodeId;
  }

  get directoryId(): string {
    return this.#meta.directoryId;
  }

  async #loadAll(isClean: boolean, configOf: (topic: string) => LogConfig): Promise<void> {
    const { disk, logger } = this.#environment;
    const startedMs = this.#environment.clock.monotonicMs();
    for (const entry of disk.list(this.path)) {
      if (!entry.isDirectory) continue;
      const directory = path.join(this.path, entry.name);
      if (isDeletedDirectoryName(entry.name)) {
        await disk.removeTree(directory);
        continue;
      }
      const name = parseLogDirectoryName(entry.name);
      if (name?.topic === METADATA_TOPIC) continue;
      if (!name) {
        logger.warn({ path: directory }, 'a directory that holds no log is left alone');
        continue;
      }
      const state = loadLog(this.#environment, {
        ...name,
        topicId: this.#topicIdOf(directory, isClean),
        directory,
        config: configOf(name.topic),
        logStartOffset: this.#checkpoints.logStarts.get(entry.name) ?? 0n,
        recoveryPoint: this.#checkpoints.recoveryPoints.get(entry.name) ?? 0n,
        isCleanStart: isClean,
      });
      this.#logs.set(entry.name, new Log(state, (log) => this.#persistLogStart(log)));
      // A snapshot of records that are gone must not come back and speak for those that follow.
      if (!isClean) await disk.syncDirectory(directory);
      // Sockets and timers get a turn between two logs: recovery may read gigabytes.
      await yieldToEventLoop();
    }
    for (const log of this.#logs.values()) this.#lowerCleanerOffset(log);
    // A directory that is gone must not leave its offsets to a new one of the same name.
    await this.#checkpoints.settle(this.#logs);
    if (this.#logs.size > 0) {
      const tookMs = Math.round(this.#environment.clock.monotonicMs() - startedMs);
      logger.info({ logs: this.#logs.size, isClean, tookMs }, 'log directory opened');
    }
  }

  /**
   * After recovery has cut a log, a checkpoint behind the active segment's base would have new
   * records taken for clean ones (KAFKA-3330). Above the log's end nothing is known: all is dirty.
   */
  #lowerCleanerOffset(log: Log): void {
    const offset = this.#checkpoints.cleanerOffsets.get(log.name);
    const active = log.segments.at(-1);
    if (offset === undefined || !active || offset <= active.baseOffset) return;
    const lowered = offset > log.logEndOffset ? log.logStartOffset : active.baseOffset;
    this.#checkpoints.setCleanerOffset(log.name, lowered);
    this.#environment.logger.info(
      { log: log.name, checkpoint: String(offset), lowered: String(lowered) },
      'the cleaner checkpoint is lowered',
    );
  }

  /** A power loss may have left the file empty: it is synced with the first flush. */
  #topicIdOf(directory: string, isClean: boolean): string | null {
    try {
      return readTopicId(this.#environment.disk, directory);
    } catch (error) {
      if (isClean || !(error instanceof LogDirError)) throw error;
      this.#environment.logger.warn({ directory, err: error }, 'partition.metadata is unreadable');
      return null;
    }
  }

  logs(): Iterable<Log> {
    return this.#logs.values();
  }

  log(topic: string, partition: number): Log | undefined {
    return this.#logs.get(`${topic}-${String(partition)}`);
  }

  /**
   * Makes an empty log. It survives a kill at once, a power loss after the first flush.
   *
   * @throws LogDirError when there is one already, or the name is not legal.
   */
  createLog(topic: string, partition: number, topicId: string | null, config: LogConfig): Log {
    this.#ensureOpen();
    const name = `${topic}-${String(partition)}`;
    const problem = checkTopicName(topic);
    if (problem !== null) throw new LogDirError(problem);
    if (this.#logs.has(name)) throw new LogDirError(`${name}: the log exists already`);
    if (this.#deleting.has(name)) throw new LogDirError(`${name}: the log is being deleted`);
    const { disk } = this.#environment;
    const directory = path.join(this.path, name);
    if (disk.stat(directory)) {
      throw new LogDirError(`${directory} exists but was not opened as a log: move it away`);
    }
    disk.makeDirectory(directory);
    try {
      if (topicId !== null) writeTopicId(disk, directory, topicId);
      const state = loadLog(this.#environment, {
        topic,
        partition,
        topicId,
        directory,
        config,
        logStartOffset: 0n,
        recoveryPoint: 0n,
        isCleanStart: true,
      });
      state.directoryNeedsSync = true;
      const log = new Log(state, (one) => this.#persistLogStart(one));
      this.#logs.set(name, log);
      return log;
    } catch (error) {
      this.#discard(topic, partition, directory, 0);
      throw error;
    }
  }

  /** Renames a log's directory out of the way and removes it later. */
  #discard(topic: string, partition: number, directory: string, delayMs: number): void {
    const { disk, deletions, random } = this.#environment;
    const uniqueId = random.bytes(UNIQUE_ID_BYTES).toString('hex');
    const target = path.join(this.path, deletedDirectoryName(topic, partition, uniqueId));
    disk.rename(directory, target);
    deletions.scheduleTree(delayMs, target);
  }

  /**
   * Takes a log away: at once for everyone, durably when the promise resolves, off the disk after
   * file.delete.delay.ms. A log that isn't there is no error.
   */
  async deleteLog(topic: string, partition: number): Promise<void> {
    this.#ensureOpen();
    const name = `${topic}-${String(partition)}`;
    const log = this.#logs.get(name);
    if (!log) return;
    log.abandon();
    this.#discard(topic, partition, log.directory, log.config.fileDeleteDelayMs);
    this.#logs.delete(name);
    this.#deleting.add(name);
    try {
      await this.#environment.disk.syncDirectory(this.path);
      await this.#checkpoints.writeAll(this.#logs);
      await log.close();
    } finally {
      this.#deleting.delete(name);
    }
  }

  /**
   * Retention over all logs, or those that `isWanted`; compacted ones by log start only, unless they
   * have `delete`. One log's failure doesn't keep the others from theirs.
   */
  async runRetention(isWanted: (log: Log) => boolean = () => true): Promise<RetentionSummary> {
    this.#ensureOpen();
    let deletedSegments = 0;
    let deletedBytes = 0;
    const failures: RetentionFailure[] = [];
    for (const [index, log] of [...this.#logs.values()].entries()) {
      if (index % LOGS_PER_TURN === LOGS_PER_TURN - 1) await yieldToEventLoop();
      if (log.isClosed || log.failure || !isWanted(log)) continue;
      try {
        const result = log.runRetention();
        deletedSegments += result.deletedSegments;
        deletedBytes += result.deletedBytes;
      } catch (error) {
        failures.push({ log, error });
        this.#environment.logger.error({ log: log.name, err: error }, 'retention failed');
      }
    }
    if (deletedSegments > 0) await this.checkpoint();
    return { deletedSegments, deletedBytes, failures };
  }

  /** Flushes the logs that flush.ms says are due; the broker's log.flush.scheduler calls it. */
  async flushDueLogs(): Promise<void> {
    const now = this.#environment.clock.monotonicMs();
    const due = [...this.#logs.values()].filter(
      (log) =>
        log.failure === null &&
        log.logEndOffset > log.recoveryPoint &&
        now - log.lastFlushMs >= log.config.flushMs,
    );
    await Promise.all(due.map((log) => log.flush()));
  }

  /** Forgets producers that were silent for too long; how many. */
  expireProducers(): number {
    let count = 0;
    for (const log of this.#logs.values()) count += log.expireProducers();
    return count;
  }

  /** Writes recovery points, log starts and high watermarks to their files. */
  checkpoint(): Promise<void> {
    return this.#checkpoints.writeAll(this.#logs);
  }

  /** Where the cleaner has got to in each log, by `topic-partition`. */
  get cleanerOffsets(): ReadonlyMap<string, bigint> {
    return this.#checkpoints.cleanerOffsets;
  }

  /** What is below `offset` of this log is clean; resolves once `cleaner-offset-checkpoint` says so. */
  updateCleanerOffset(log: Log, offset: bigint): Promise<void> {
    this.#ensureOpen();
    // Nothing may be said of a log that is gone: a new one of its name would inherit it.
    if (this.#logs.get(log.name) !== log) return Promise.resolve();
    return this.#checkpoints.writeCleanerOffset(this.#logs, log.name, offset);
  }

  async #persistLogStart(log: Log): Promise<void> {
    if (log.isClosed) throw new LogDirError(`${log.name}: the log is closed`);
    await this.#checkpoints.writeLogStarts(this.#logs);
  }

  #ensureOpen(): void {
    if (this.#closing) throw new LogDirError(`${this.path}: the log directory is closed`);
  }

  /** Flushes everything, leaves the mark of a clean shutdown, frees the directory. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { disk, deletions } = this.#environment;
    try {
      deletions.close();
      const logs = [...this.#logs.values()];
      const outcomes = await Promise.allSettled(logs.map((log) => log.prepareForShutdown()));
      await Promise.all(logs.map((log) => log.close()));
      await this.#checkpoints.writeAll(this.#logs);
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      const isWhole = !failed && logs.every((log) => log.failure === null);
      if (isWhole) await leaveCleanShutdownMark(disk, this.path);
      if (failed) throw failed.reason;
    } finally {
      await this.#lock.release();
    }
  }
}

/** Makes a directory, and those above it, so that a power loss leaves it in place. */
async function makeDurableDirectory(disk: Disk, directory: string): Promise<void> {
  if (disk.stat(directory)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) await makeDurableDirectory(disk, parent);
  disk.makeDirectory(directory);
  await disk.syncDirectory(parent);
}

async function acquire(locker: DirectoryLocker, directory: string): Promise<DirectoryLock> {
  try {
    return await locker.acquire(directory);
  } catch (error) {
    // A directory that cannot be written to, say, is held by nobody.
    if (error instanceof Error && 'code' in error) throw toLogDirError(error, 'lock', directory);
    throw new LogDirLockedError(error instanceof Error ? error.message : String(error));
  }
}
