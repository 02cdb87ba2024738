import { RecordCursor } from '@millrace/protocol';
import type { LogConfig } from '../config.ts';
import { CorruptIndexError, StorageFullError } from '../errors.ts';
import { writeAtomically } from '../platform/atomic-file.ts';
import { CoalescingTask } from '../platform/coalescing-task.ts';
import { SegmentList } from '../segment/segment-list.ts';
import { Segment } from '../segment/segment.ts';
import { DELETED_SUFFIX } from '../segment/segment-files.ts';
import { encodeLeaderEpochs, leaderEpochPath, readLeaderEpochs } from './leader-epoch-file.ts';
import { LeaderEpochs } from './leader-epochs.ts';
import { markFailed, refreshFirstUnstableOffset } from './log-state.ts';
import type { LogEnvironment, LogState } from './log-state.ts';
import { ProducerState } from './producer-state.ts';
import { rebuildProducers } from './rebuild-producers.ts';
import { recallBatches } from './recall-batches.ts';
import { recoverSegment } from './recover-segment.ts';
import { segmentJitter } from './roll.ts';
import { completeReplacements } from './startup-files.ts';

export interface LoadOptions {
  readonly topic: string;
  readonly partition: number;
  readonly topicId: string | null;
  readonly directory: string;
  readonly config: LogConfig;
  /** From the checkpoints; 0 when they don't name this log. */
  readonly logStartOffset: bigint;
  readonly recoveryPoint: bigint;
  readonly isCleanStart: boolean;
}

/**
 * Opens a partition directory, which must exist: completes replacements, opens the segments, and
 * after an unclean shutdown reads everything from the recovery point on and cuts it off at the first
 * damage.
 */
export function loadLog(environment: LogEnvironment, options: LoadOptions): LogState {
  const { disk, clock, logger } = environment;
  const { directory, config, topic, partition, isCleanStart } = options;
  const context = { topic, partition };
  const bases = completeReplacements(disk, directory, logger);
  const segments = new SegmentList();
  const cursor = new RecordCursor({ maxDecompressedBytes: config.maxDecompressedMessageBytes });

  let state: LogState | null = null;
  const epochFile = { isOutdated: false };
  const epochs = new LeaderEpochs(readLeaderEpochs(disk, directory), () => {
    epochFile.isOutdated = true;
    if (state) requestEpochFile(state);
  });
  const newProducers = (): ProducerState =>
    new ProducerState({
      disk,
      directory,
      partition: `${topic}-${String(partition)}`,
      logger,
      expirationMs: environment.producerExpirationMs,
    });
  const jitter = (): number => segmentJitter({ config, environment });
  const recover = (segment: Segment): number => {
    const producers = newProducers();
    const { baseOffset } = segment;
    rebuildProducers({
      producers,
      segments,
      startOffset: segments.first.baseOffset,
      endOffset: baseOffset,
      nowMs: clock.now(),
      isCleanStart: false,
      cursor,
    });
    const { truncatedBytes, reason } = recoverSegment(segment, producers, epochs, config, cursor);
    producers.takeSnapshot();
    if (truncatedBytes > 0) {
      logger.warn(
        { ...context, file: segment.path, truncatedBytes, reason },
        'the end of a segment was damaged and has been cut off',
      );
    }
    return truncatedBytes;
  };

  const firstUnflushed = isCleanStart ? null : floorOf(bases, options.recoveryPoint);
  for (const baseOffset of bases) {
    const isUnflushed = firstUnflushed !== null && baseOffset >= firstUnflushed;
    const { segment, isRebuilt } = openSegment(
      environment,
      options,
      baseOffset,
      jitter(),
      isUnflushed,
    );
    segments.add(segment);
    if (isRebuilt) recover(segment);
    if (baseOffset !== bases.at(-1)) environment.cache.touch(segment);
  }

  if (!isCleanStart) recoverUnflushed(environment, options, segments, recover);
  const restarted = restartBehindLogStart(environment, options, segments);
  if (segments.count === 0) {
    segments.add(Segment.create(disk, directory, options.logStartOffset, clock.now(), jitter()));
  }
  environment.cache.forget(segments.active);
  const logEndOffset = segments.active.readNextOffset();
  const first = segments.first.baseOffset;
  const logStartOffset = options.logStartOffset > first ? options.logStartOffset : first;

  const producers = newProducers();
  if (restarted) {
    epochs.clear();
    producers.startAt(logStartOffset);
  }
  epochs.truncateFromEnd(logEndOffset);
  epochs.truncateFromStart(logStartOffset);
  producers.removeStraySnapshots(segments.all.map((segment) => segment.baseOffset));
  rebuildProducers({
    producers,
    segments,
    startOffset: first,
    endOffset: logEndOffset,
    nowMs: clock.now(),
    isCleanStart,
    cursor,
  });
  producers.onHighWatermark(logEndOffset);
  if (!isCleanStart) recallBatches(producers, segments);

  const found: LogState = {
    environment,
    topic,
    partition,
    name: `${topic}-${String(partition)}`,
    topicId: options.topicId,
    directory,
    config,
    segments,
    producers,
    epochs,
    epochFile: new CoalescingTask(() => writeEpochFile(found)),
    isEpochFileOutdated: false,
    cursor,
    logStartOffset,
    logEndOffset,
    highWatermark: logEndOffset,
    highWatermarkFollowsEnd: true,
    firstUnstableOffset: null,
    recoveryPoint:
      isCleanStart && !restarted
        ? logEndOffset
        : options.recoveryPoint < logEndOffset
          ? options.recoveryPoint
          : logEndOffset,
    lastFlushMs: clock.monotonicMs(),
    directoryNeedsSync: !isCleanStart,
    deletionsNeedSync: false,
    appendListeners: new Set(),
    highWatermarkListeners: new Set(),
    failure: null,
    isClosing: false,
    isClosed: false,
  };
  state = found;
  refreshFirstUnstableOffset(found);
  // What recovery changed was kept back until the log was whole.
  if (epochFile.isOutdated) requestEpochFile(found);
  return found;
}

function requestEpochFile(state: LogState): void {
  state.epochFile.request().catch((error: unknown) => {
    if (error instanceof StorageFullError) state.isEpochFileOutdated = true;
    else if (!state.isClosed) markFailed(state, error);
  });
}

async function writeEpochFile(state: LogState): Promise<void> {
  if (state.isClosed) return;
  const content = encodeLeaderEpochs(state.epochs.entries);
  await writeAtomically(state.environment.disk, leaderEpochPath(state.directory), content);
  state.isEpochFileOutdated = false;
}

/** The greatest base at most `offset`, else the first. */
function floorOf(bases: readonly bigint[], offset: bigint): bigint | null {
  return bases.findLast((base) => base <= offset) ?? bases[0] ?? null;
}

/**
 * A segment whose index files are missing or wrong gets empty ones; its content is then recovered.
 * One above the recovery point will be recovered anyway.
 */
function openSegment(
  environment: LogEnvironment,
  options: LoadOptions,
  baseOffset: bigint,
  jitterMs: number,
  isUnflushed: boolean,
): { segment: Segment; isRebuilt: boolean } {
  const { disk, clock, logger } = environment;
  const { directory } = options;
  const open = (withEmptyIndexes: boolean): Segment =>
    Segment.open(disk, directory, baseOffset, clock.now(), jitterMs, withEmptyIndexes);
  if (isUnflushed) return { segment: open(true), isRebuilt: false };
  try {
    const segment = open(false);
    segment.verifyIndexes();
    return { segment, isRebuilt: false };
  } catch (error) {
    if (!(error instanceof CorruptIndexError)) throw error;
    logger.warn(
      { topic: options.topic, partition: options.partition, err: error },
      'an index file is missing or corrupt; the indexes of its segment are rebuilt',
    );
    return { segment: open(true), isRebuilt: true };
  }
}

/** After the first segment that had to be cut, nothing later can be trusted. */
function recoverUnflushed(
  environment: LogEnvironment,
  options: LoadOptions,
  segments: SegmentList,
  recover: (segment: Segment) => number,
): void {
  if (segments.count === 0) return;
  let isCut = false;
  for (const segment of [...segments.from(options.recoveryPoint)]) {
    if (isCut) {
      removeSegment(environment, segments, segment);
      continue;
    }
    isCut = recover(segment) > 0;
    if (segment !== segments.active) environment.cache.touch(segment);
  }
}

/**
 * The log start was made durable, the records up to it were not: they count as deleted all the same,
 * so the log starts anew, empty, where it should start.
 */
function restartBehindLogStart(
  environment: LogEnvironment,
  options: LoadOptions,
  segments: SegmentList,
): boolean {
  if (segments.count === 0) return false;
  const end = segments.active.readNextOffset();
  if (end >= options.logStartOffset) return false;
  environment.logger.warn(
    {
      topic: options.topic,
      partition: options.partition,
      logEndOffset: String(end),
      logStartOffset: String(options.logStartOffset),
    },
    'the log ends before its start offset; it starts again, empty',
  );
  for (const segment of [...segments.all]) removeSegment(environment, segments, segment);
  return true;
}

function removeSegment(environment: LogEnvironment, segments: SegmentList, segment: Segment): void {
  segments.remove(segment);
  environment.cache.forget(segment);
  for (const path of segment.renameWithSuffix(DELETED_SUFFIX)) environment.disk.unlink(path);
}
