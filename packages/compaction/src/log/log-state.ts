import type { RecordCursor } from '@millrace/protocol';
import type { LogConfig } from '../config.ts';
import { LogDirError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { CoalescingTask } from '../platform/coalescing-task.ts';
import type { Disk } from '../platform/disk.ts';
import type { Logger } from '../platform/logger.ts';
import type { Random } from '../platform/random.ts';
import type { SegmentCache } from '../segment/segment-cache.ts';
import type { SegmentList } from '../segment/segment-list.ts';
import type { DelayedDeletions } from './delayed-deletions.ts';
import type { LeaderEpochs } from './leader-epochs.ts';
import type { ProducerState } from './producer-state.ts';

/** What all logs of a directory share. */
export interface LogEnvironment {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly cache: SegmentCache;
  readonly deletions: DelayedDeletions;
  /** producer.id.expiration.ms */
  readonly producerExpirationMs: number;
}

/** One log's state, which the modules beside this one work on. Offsets are absolute. */
export interface LogState {
  readonly environment: LogEnvironment;
  readonly topic: string;
  readonly partition: number;
  /** `topic-partition`, for messages. */
  readonly name: string;
  topicId: string | null;
  directory: string;
  config: LogConfig;
  readonly segments: SegmentList;
  readonly producers: ProducerState;
  readonly epochs: LeaderEpochs;
  readonly epochFile: CoalescingTask;
  /** There was no room for it: the next flush tries again. */
  isEpochFileOutdated: boolean;
  readonly cursor: RecordCursor;
  logStartOffset: bigint;
  logEndOffset: bigint;
  highWatermark: bigint;
  /** True (the default): the high watermark is always the log's end, as without followers. */
  highWatermarkFollowsEnd: boolean;
  /** null: every transaction is decided. */
  firstUnstableOffset: bigint | null;
  /** Everything below has been synced. */
  recoveryPoint: bigint;
  /** Monotonic ms. */
  lastFlushMs: number;
  /** Files were made or renamed since the directory was last synced. */
  directoryNeedsSync: boolean;
  /** Retention renamed segments away since the directory was last synced. */
  deletionsNeedSync: boolean;
  readonly appendListeners: Set<() => void>;
  readonly highWatermarkListeners: Set<() => void>;
  /** Once set, the log takes and gives nothing any more. */
  failure: LogDirError | null;
  /** Nothing is appended any more; what has been is being synced. */
  isClosing: boolean;
  isClosed: boolean;
}

export function ensureNotFailed(state: LogState): void {
  if (state.failure !== null) throw state.failure;
}

export function ensureUsable(state: LogState): void {
  ensureNotFailed(state);
  if (state.isClosed || state.isClosing) throw new LogDirError(`${state.name}: the log is closed`);
}

/** A sync or an undo failed: what is on disk is no longer known. */
export function markFailed(state: LogState, error: unknown): LogDirError {
  const failure =
    error instanceof LogDirError
      ? error
      : new LogDirError(
          `${state.name}: ${error instanceof Error ? error.message : String(error)}`,
          {
            cause: error,
          },
        );
  if (state.failure === null) {
    state.failure = failure;
    state.environment.logger.error(
      { topic: state.topic, partition: state.partition, err: failure },
      'the log is taken out of service',
    );
  }
  return failure;
}

/** Lowest offset that an undecided transaction may hold, never above the high watermark (C3). */
export function lastStableOffset(state: LogState): bigint {
  const unstable = state.firstUnstableOffset;
  return unstable !== null && unstable < state.highWatermark ? unstable : state.highWatermark;
}

export function refreshFirstUnstableOffset(state: LogState): void {
  const unstable = state.producers.firstUnstableOffset();
  state.firstUnstableOffset =
    unstable !== null && unstable < state.logStartOffset ? state.logStartOffset : unstable;
}

export function setHighWatermark(state: LogState, offset: bigint): void {
  if (offset === state.highWatermark) return;
  state.highWatermark = offset;
  state.producers.onHighWatermark(offset);
  refreshFirstUnstableOffset(state);
  for (const listener of state.highWatermarkListeners) listener();
}

/** Raises the log start; only ever up. Nothing of this touches a file. */
export function raiseLogStart(state: LogState, offset: bigint): void {
  if (offset <= state.logStartOffset) return;
  state.logStartOffset = offset;
  if (state.highWatermark < offset) setHighWatermark(state, offset);
  if (state.recoveryPoint < offset) state.recoveryPoint = offset;
  state.epochs.truncateFromStart(offset);
  state.producers.onLogStart(offset);
  refreshFirstUnstableOffset(state);
}
