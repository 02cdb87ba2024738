import path from 'node:path';
import { CorruptBatchError, LogDirNeedsRecoveryError, LogDirError } from '../errors.ts';
import { PLACES_NAMED, SCAN_CHUNK_BYTES } from '../limits.ts';
import { checkedDisk } from '../log-dir/checked-disk.ts';
import { LogDir } from '../log-dir/log-dir.ts';
import type { LogDirOptions } from '../log-dir/log-dir.ts';
import type { Log } from '../log/log.ts';
import { OffsetCheckpoint } from '../log-dir/offset-checkpoint.ts';
import { readingDirectoryLocker } from '../platform/directory-lock.ts';
import type { Disk } from '../platform/disk.ts';
import { silentLogger } from '../platform/logger.ts';
import type { Logger } from '../platform/logger.ts';
import { nodeDisk } from '../platform/node-disk.ts';
import { OverlayDisk, shieldedDisk } from '../platform/overlay-disk.ts';
import type { LostBytes } from '../platform/overlay-disk.ts';
import { BatchReader } from '../segment/batch-reader.ts';
import { parseSegmentFileName, SWAP_SUFFIX } from '../segment/segment-files.ts';

const META_PROPERTIES = 'meta.properties';
const METADATA_PREFIX = '__cluster_metadata-';

export interface OfflineOptions extends LogDirOptions {
  /**
   * Up to where the logs are known to be on all replicas, and may be cleaned:
   * - `checkpoint` (default): as replication-offset-checkpoint says, if there is one, as in Kafka
   * - `log-end`: all of it, as in a directory of Millrace's broker
   */
  readonly highWatermarks?: 'checkpoint' | 'log-end';
  /** Looks at the logs before anything is changed; what it throws ends the opening. */
  readonly check?: (dir: LogDir) => void;
}

/** What `openForLooking` gives: a directory's logs as a broker would find them. */
export interface LookedAtLogDir {
  readonly dir: LogDir;
  /** What `dir` sees, to rehearse passes on. */
  readonly disk: OverlayDisk;
}

/**
 * Opens a log directory that nobody uses and changes nothing in it: what opening, recovery and
 * closing write is kept in memory and forgotten. While it is open nobody else gets it (on Linux).
 *
 * @throws LogDirNeedsRecoveryError when opening would cut off or remove records, which is left to
 * a broker; LogDirLockedError when somebody has it; MalformedFileError; LogDirError, also when
 * there is no log in it.
 */
export async function openForLooking(
  directory: string,
  options: OfflineOptions = {},
): Promise<LookedAtLogDir> {
  const below = checkedDisk(options.disk ?? nodeDisk);
  if (below.stat(directory)?.isDirectory !== true) {
    throw new LogDirError(`${directory}: there is no such directory`);
  }
  const disk = new OverlayDisk(below, options.clock);
  const locker = options.locker ?? readingDirectoryLocker;
  const warnings = new HeldWarnings();
  const dir = await LogDir.open(directory, { ...options, disk, locker, logger: warnings });
  try {
    const lost = disk.lostBytes(isSegmentInUse).filter((one) => !isReplaced(below, one));
    if (lost.length > 0) throw new LogDirNeedsRecoveryError(describeLost(lost));
    if ([...dir.logs()].length === 0) throw new LogDirError(describeEmpty(below, directory));
    setHighWatermarks(dir, below, options);
    options.check?.(dir);
    if (options.logger) warnings.passTo(options.logger);
    return { dir, disk };
  } catch (error) {
    await dir.close();
    throw error;
  }
}

/**
 * Opens a log directory that nobody uses, to clean in it, after a look whether that is harmless.
 * Whose directory it is (meta.properties) stays as it is, whatever version of Kafka has written it.
 *
 * @throws what `openForLooking` throws; nothing was changed then.
 */
export async function openForCleaning(
  directory: string,
  options: OfflineOptions = {},
): Promise<LogDir> {
  const { dir: looked } = await openForLooking(directory, { ...options, logger: silentLogger });
  await looked.close();
  const below = options.disk ?? nodeDisk;
  const disk = shieldedDisk(below, (file) => path.basename(file).startsWith(META_PROPERTIES));
  const dir = await LogDir.open(directory, { ...options, disk });
  setHighWatermarks(dir, below, options);
  return dir;
}

/** What is said while it isn't known yet whether anything will come of the opening. */
class HeldWarnings implements Logger {
  readonly #held: { kind: 'warn' | 'error'; context: object; message: string }[] = [];
  #target: Logger | null = null;

  debug(): void {
    return;
  }

  info(): void {
    return;
  }

  warn(context: object, message: string): void {
    this.#tell('warn', context, message);
  }

  error(context: object, message: string): void {
    this.#tell('error', context, message);
  }

  #tell(kind: 'warn' | 'error', context: object, message: string): void {
    if (this.#target === null) this.#held.push({ kind, context, message });
    else this.#target[kind](context, message);
  }

  passTo(target: Logger): void {
    this.#target = target;
    for (const { kind, context, message } of this.#held) target[kind](context, message);
  }
}

/** Nothing above the high watermark may be cleaned: the log may yet be cut there (KAFKA-13194). */
function setHighWatermarks(dir: LogDir, disk: Disk, options: OfflineOptions): void {
  if (options.highWatermarks === 'log-end') return;
  const file = new OffsetCheckpoint(disk, dir.path, 'replication-offset-checkpoint');
  if (disk.stat(file.path) === null) return;
  const offsets = file.read();
  for (const log of dir.logs()) {
    const offset = offsets.get(log.name) ?? log.logStartOffset;
    log.highWatermarkFollowsEnd = false;
    try {
      log.updateHighWatermark(undecidedFrom(log, offset) ?? offset);
    } catch (error) {
      if (!(error instanceof CorruptBatchError)) throw error;
      // One damaged log must not keep the others from being cleaned; of this one nothing is.
      log.updateHighWatermark(log.logStartOffset);
    }
  }
}

/**
 * The first offset of a transaction whose marker lies above the high watermark: if the log is cut there,
 * it may end otherwise, so nothing of it may be taken for decided. null: there is none.
 */
function undecidedFrom(log: Log, highWatermark: bigint): bigint | null {
  if (highWatermark >= log.logEndOffset || !hasMarkerFrom(log, highWatermark)) return null;
  let lowest: bigint | null = null;
  const open = new Map<bigint, bigint>();
  for (const segment of log.segments) {
    const reader = new BatchReader(segment.file, 0, segment.sizeBytes, SCAN_CHUNK_BYTES);
    for (let batch = reader.next(); batch; batch = reader.next()) {
      if (!batch.isTransactional) continue;
      const { producerId, baseOffset } = batch;
      const first = open.get(producerId);
      if (!batch.isControl) {
        if (first === undefined) open.set(producerId, baseOffset);
        continue;
      }
      open.delete(producerId);
      const isUndecided = baseOffset >= highWatermark && first !== undefined;
      if (isUndecided && (lowest === null || first < lowest)) lowest = first;
    }
  }
  return lowest !== null && lowest < highWatermark ? lowest : null;
}

function hasMarkerFrom(log: Log, offset: bigint): boolean {
  return log.segments.some((segment, index) => {
    const next = log.segments[index + 1];
    if (next !== undefined && next.baseOffset <= offset) return false;
    const scanner = segment.scanFrom(segment.positionOf(offset));
    while (scanner.next()) if (scanner.isControl) return true;
    return false;
  });
}

function isSegmentInUse(file: string): boolean {
  const name = parseSegmentFileName(path.basename(file));
  return name?.kind === '.log' && name.state === '';
}

/** A finished replacement, which opening has brought to its end, has taken the place of the file. */
function isReplaced(below: Disk, { path: file, position }: LostBytes): boolean {
  if (position > 0) return false;
  const baseOffset = parseSegmentFileName(path.basename(file))?.baseOffset ?? 0n;
  return below.list(path.dirname(file)).some((entry) => {
    const swap = parseSegmentFileName(entry.name);
    return swap?.kind === '.log' && swap.state === SWAP_SUFFIX && swap.baseOffset <= baseOffset;
  });
}

function describeEmpty(disk: Disk, directory: string): string {
  const names = disk.list(directory).map((entry) => entry.name);
  if (names.some((name) => parseSegmentFileName(name)?.kind === '.log')) {
    return `${directory} is the directory of one partition: name the one that it lies in`;
  }
  const hasMetadata = names.some((name) => name.startsWith(METADATA_PREFIX));
  return hasMetadata
    ? `${directory} holds no log but that of a controller's metadata, which is not compacted by key`
    : `${directory} holds no log`;
}

function describeLost(lost: readonly LostBytes[]): string {
  const named = lost
    .slice(0, PLACES_NAMED)
    .map(({ path: file, position, sizeBytes }) =>
      position === 0
        ? `${file}: all of its ${String(sizeBytes)} bytes would go`
        : `${file} at byte ${String(position)}: ${String(sizeBytes)} bytes would be cut off`,
    );
  const more = lost.length - named.length;
  if (more > 0) named.push(`and ${String(more)} more`);
  return (
    `records would be lost by opening the directory, so nothing was done:\n` +
    `${named.map((line) => `- ${line}`).join('\n')}\n` +
    'Look with `millrace dump-log`; a broker that is started on the directory recovers it.'
  );
}
