import type { LogConfig } from '../config.ts';
import {
  InconsistentTopicIdError,
  LogDirError,
  OffsetOutOfRangeError,
  PolicyViolationError,
  StorageFullError,
} from '../errors.ts';
import { CoalescingTask } from '../platform/coalescing-task.ts';
import type { Segment } from '../segment/segment.ts';
import { appendAsFollower, appendAsLeader } from './append.ts';
import type { AppendResult, LeaderAppendOptions } from './append.ts';
import { flushLog, syncFile } from './flush.ts';
import type { LeaderEpochEntry } from './leader-epochs.ts';
import {
  ensureUsable,
  lastStableOffset,
  markFailed,
  raiseLogStart,
  setHighWatermark,
} from './log-state.ts';
import type { LogState } from './log-state.ts';
import { writeTopicId } from './partition-metadata.ts';
import type { ProducerEntry } from './producer-entry.ts';
import { readLog } from './read.ts';
import type { ReadOptions, ReadResult } from './read.ts';
import { discardCleaned, replaceSegments } from './replace-segments.ts';
import type { SegmentReplacement } from './replace-segments.ts';
import { runRetention } from './retention.ts';
import type { RetentionResult } from './retention.ts';
import { roll } from './roll.ts';
import { offsetForTimestamp, offsetOfMaxTimestamp } from './time-lookup.ts';
import type { FoundOffset } from './time-lookup.ts';

/** Makes the log start durable; what `LogDir` gives its logs. */
export type PersistLogStart = (log: Log) => Promise<void>;

/**
 * One partition's log. Appends and reads are synchronous and end in the page cache; what has to
 * reach the disk has a promise. A log belongs to its `LogDir`, which makes, opens and closes it.
 */
export class Log {
  readonly topic: string;
  readonly partition: number;
  readonly #state: LogState;
  readonly #flusher: CoalescingTask;
  readonly #persistLogStart: PersistLogStart;

  /** For `LogDir`. */
  constructor(state: LogState, persistLogStart: PersistLogStart) {
    this.#state = state;
    this.topic = state.topic;
    this.partition = state.partition;
    this.#flusher = new CoalescingTask(() => flushLog(state));
    this.#persistLogStart = persistLogStart;
  }

  /** `topic-partition`. */
  get name(): string {
    return this.#state.name;
  }

  /** 22 characters of base64url; null: not known. */
  get topicId(): string | null {
    return this.#state.topicId;
  }

  /** Gives a log that has none its topic's id. Throws InconsistentTopicIdError on another one. */
  assignTopicId(topicId: string): void {
    const state = this.#state;
    if (state.topicId === topicId) return;
    if (state.topicId !== null) {
      throw new InconsistentTopicIdError(
        `${state.name}: the directory belongs to topic id ${state.topicId}, not to ${topicId}`,
      );
    }
    writeTopicId(state.environment.disk, state.directory, topicId);
    state.directoryNeedsSync = true;
    state.topicId = topicId;
  }

  get directory(): string {
    return this.#state.directory;
  }

  get config(): LogConfig {
    return this.#state.config;
  }

  updateConfig(config: LogConfig): void {
    this.#state.config = config;
  }

  get logStartOffset(): bigint {
    return this.#state.logStartOffset;
  }

  /** The offset that the next record gets. */
  get logEndOffset(): bigint {
    return this.#state.logEndOffset;
  }

  get highWatermark(): bigint {
    return this.#state.highWatermark;
  }

  get lastStableOffset(): bigint {
    return lastStableOffset(this.#state);
  }

  /** Everything below has been synced. */
  get recoveryPoint(): bigint {
    return this.#state.recoveryPoint;
  }

  /** The latest leader epoch that has written; -1: none. */
  get leaderEpoch(): number {
    return this.#state.epochs.latest;
  }

  get leaderEpochs(): readonly LeaderEpochEntry[] {
    return this.#state.epochs.entries;
  }

  /** Bytes of all segments' log files. */
  get sizeInBytes(): number {
    return this.#state.segments.sizeBytes;
  }

  get segments(): readonly Segment[] {
    return this.#state.segments.all;
  }

  /** By producer id: what DescribeProducers shows. */
  producers(): readonly ProducerEntry[] {
    return this.#state.producers.producers();
  }

  /** Why the log is out of service; null: it isn't. */
  get failure(): LogDirError | null {
    return this.#state.failure;
  }

  get isClosed(): boolean {
    return this.#state.isClosed;
  }

  /**
   * Appends one batch: checked as Kafka checks a produce request, given the next offsets (in place,
   * in `records`), written. With flush.messages reached, `flushIfDue` says when it is durable.
   *
   * @throws LogStoreError subclasses; `kafkaError` names the code to answer. Nothing is appended then.
   */
  appendAsLeader(records: Buffer, options: LeaderAppendOptions = {}): AppendResult {
    const { leaderEpoch = 0, origin = 'client' } = options;
    return appendAsLeader(this.#state, records, leaderEpoch, origin);
  }

  /** Appends batches that have their offsets, as a leader's fetch answer brings them. */
  appendAsFollower(records: Buffer): AppendResult {
    return appendAsFollower(this.#state, records);
  }

  /**
   * Whole batches from the one that holds `offset` on.
   *
   * @throws OffsetOutOfRangeError below the log start or above the log's end.
   */
  read(offset: bigint, maxBytes: number, options: ReadOptions = {}): ReadResult {
    return readLog(this.#state, offset, maxBytes, options);
  }

  /** The first record whose timestamp is at least `timestamp` (epoch ms); null: none. */
  offsetForTimestamp(timestamp: number): FoundOffset | null {
    return offsetForTimestamp(this.#state, timestamp);
  }

  /** The first record with the greatest timestamp; null: none has one. */
  offsetOfMaxTimestamp(): FoundOffset | null {
    return offsetOfMaxTimestamp(this.#state);
  }

  /** Where a leader epoch ended, as OffsetForLeaderEpoch answers; (-1, -1) when not known. */
  endOffsetForEpoch(epoch: number): { epoch: number; endOffset: bigint } {
    return this.#state.epochs.endOffsetOf(epoch, this.#state.logEndOffset);
  }

  /**
   * Raises the log start at once, for every reader, and resolves with it when that is durable: no
   * crash brings the records back (Kafka promises less). It may lie inside a batch. -1: up to the
   * high watermark. At or below the present start nothing changes.
   *
   * @throws PolicyViolationError without `delete` in cleanup.policy, OffsetOutOfRangeError
   */
  async deleteRecords(offset: bigint): Promise<bigint> {
    const state = this.#state;
    ensureUsable(state);
    if (!state.config.cleanupPolicy.delete) {
      throw new PolicyViolationError(
        `${state.name}: records may only be deleted where cleanup.policy includes delete`,
      );
    }
    const target = offset === -1n ? state.highWatermark : offset;
    if (target < 0n || target > state.highWatermark) {
      throw new OffsetOutOfRangeError(
        `${state.name}: cannot delete up to ${String(offset)}: the high watermark is ${String(state.highWatermark)}`,
      );
    }
    raiseLogStart(state, target);
    const start = state.logStartOffset;
    await this.#persistLogStart(this);
    return start;
  }

  /** Deletes old segments by log start, size and age; see `retention.ts`. */
  runRetention(): RetentionResult {
    try {
      return runRetention(this.#state);
    } catch (error) {
      const isBroken = error instanceof LogDirError && !(error instanceof StorageFullError);
      throw isBroken ? markFailed(this.#state, error) : error;
    }
  }

  /** Has `.cleaned` segments take the place of others; see `replace-segments.ts`. */
  replaceSegments(replacement: SegmentReplacement): Promise<void> {
    return replaceSegments(this.#state, replacement);
  }

  /** Removes `.cleaned` segments, by their base offsets, that are not to replace anything. */
  discardCleaned(baseOffsets: readonly bigint[]): void {
    discardCleaned(this.#state, baseOffsets);
  }

  /** To be called after a look into a segment: only so many of them keep files open and indexes in memory. */
  noteUse(segment: Segment): void {
    const { segments, environment } = this.#state;
    if (segment !== segments.active && segments.all.includes(segment)) {
      environment.cache.touch(segment);
    }
  }

  /** Starts a new segment now, unless the active one is empty. */
  roll(): void {
    ensureUsable(this.#state);
    roll(this.#state, this.#state.logEndOffset);
  }

  /** Syncs what has been appended; calls of one tick share the work. */
  flush(): Promise<void> {
    return this.#flusher.request();
  }

  /**
   * A promise when flush.messages has been reached: an append may be acknowledged once it resolves.
   * undefined: nothing to wait for.
   */
  flushIfDue(): Promise<void> | undefined {
    const { logEndOffset, recoveryPoint, config } = this.#state;
    return logEndOffset - recoveryPoint >= BigInt(config.flushMessages) ? this.flush() : undefined;
  }

  /** Monotonic ms of the last flush. */
  get lastFlushMs(): number {
    return this.#state.lastFlushMs;
  }

  /** Forgets producers that were silent for producer.id.expiration.ms; how many. */
  expireProducers(): number {
    return this.#state.producers.expire(this.#state.environment.clock.now());
  }

  /**
   * False: the high watermark no longer follows the log's end by itself (there are followers);
   * `updateHighWatermark` moves it.
   */
  set highWatermarkFollowsEnd(follows: boolean) {
    const state = this.#state;
    state.highWatermarkFollowsEnd = follows;
    if (follows) setHighWatermark(state, state.logEndOffset);
  }

  /** Moves the high watermark, within log start and log end. */
  updateHighWatermark(offset: bigint): void {
    const { logStartOffset, logEndOffset } = this.#state;
    const atLeast = offset < logStartOffset ? logStartOffset : offset;
    setHighWatermark(this.#state, atLeast > logEndOffset ? logEndOffset : atLeast);
  }

  /** Called after each append, synchronously. Returns what unsubscribes. */
  onAppend(listener: () => void): () => void {
    return subscribe(this.#state.appendListeners, listener);
  }

  onHighWatermark(listener: () => void): () => void {
    return subscribe(this.#state.highWatermarkListeners, listener);
  }

  /** For `LogDirCheckpoints`: renames of deleted segments are not durable yet. */
  get deletionsNeedSync(): boolean {
    return this.#state.deletionsNeedSync;
  }

  async syncDeletions(): Promise<void> {
    const state = this.#state;
    state.deletionsNeedSync = false;
    // A deleted log's directory is gone, and its segments with it.
    if (state.isClosed) return;
    await state.environment.disk.syncDirectory(state.directory);
  }

  /**
   * For `LogDir`: refuses further appends; the last time index entry, a producer snapshot, and
   * everything synced, so that the next start needs no recovery.
   */
  async prepareForShutdown(): Promise<void> {
    const state = this.#state;
    if (state.failure !== null || state.isClosed) return;
    state.isClosing = true;
    const { disk } = state.environment;
    const { active } = state.segments;
    active.becomeInactive();
    state.producers.mapEndOffset = state.logEndOffset;
    state.producers.takeSnapshot();
    await this.flush();
    await active.sync(() => true);
    const snapshot = state.producers.latestSnapshotOffset;
    if (snapshot !== undefined) await syncFile(disk, state.producers.snapshotPath(snapshot));
    await disk.syncDirectory(state.directory);
  }

  /** For `LogDir`: waits for what is under way and closes the files. */
  async close(): Promise<void> {
    const state = this.#state;
    state.isClosed = true;
    await this.#flusher.settled();
    await state.epochFile.settled();
    for (const segment of state.segments.all) {
      state.environment.cache.forget(segment);
      segment.closeFile();
    }
  }

  /** For `LogDir`: the directory is about to be renamed; nothing may be written to it any more. */
  abandon(): void {
    const state = this.#state;
    state.isClosed = true;
    for (const segment of state.segments.all) {
      state.environment.cache.forget(segment);
      segment.closeFile();
    }
  }
}

function subscribe(listeners: Set<() => void>, listener: () => void): () => void {
  const own = (): void => {
    listener();
  };
  listeners.add(own);
  return () => {
    listeners.delete(own);
  };
}
