import { BatchIterator, RecordBatch } from '@millrace/protocol';
import {
  LogDirError,
  LogStoreError,
  RecordBatchTooLargeError,
  StorageFullError,
  UnexpectedAppendOffsetError,
} from '../errors.ts';
import type { AppendOrigin } from './append-origin.ts';
import {
  ensureUsable,
  markFailed,
  refreshFirstUnstableOffset,
  setHighWatermark,
} from './log-state.ts';
import type { LogState } from './log-state.ts';
import type { CompletedTransaction, ProducerAppend } from './producer-append.ts';
import type { RememberedBatch } from './producer-entry.ts';
import { maybeRoll } from './roll.ts';
import { ensureCrc, ensureSize, openLeaderBatch, toLogError, validateBatch } from './validate.ts';

const NO_TIMESTAMP = -1;

/** What a write outcome tells: a produce answer is made of it. */
export interface AppendResult {
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  readonly logStartOffset: bigint;
  /** Epoch ms with LogAppendTime (or of a duplicate); else -1. */
  readonly logAppendTime: number;
  readonly recordCount: number;
  readonly sizeInBytes: number;
  /** A repeat of a batch that is in the log: nothing was appended, the offsets are the first one's. */
  readonly isDuplicate: boolean;
}

export interface LeaderAppendOptions {
  /** Default 0. */
  readonly leaderEpoch?: number;
  /** Default `client`. */
  readonly origin?: AppendOrigin;
}

/** A producer's or coordinator's batch: checked in full, given the next offsets, written at once. */
export function appendAsLeader(
  state: LogState,
  records: Buffer,
  leaderEpoch: number,
  origin: AppendOrigin,
): AppendResult {
  ensureUsable(state);
  const { config, cursor, name } = state;
  const now = state.environment.clock.now();
  const received = openLeaderBatch(records, origin, config, name);
  const { batch, maxTimestamp, logAppendTime, recordCount } = validateBatch(
    received,
    origin,
    config,
    now,
    cursor,
    name,
  );
  if (batch !== received) ensureSize(batch, config, name);
  const firstOffset = state.logEndOffset;
  batch.setBaseOffset(firstOffset);
  batch.setPartitionLeaderEpoch(leaderEpoch);
  const lastOffset = batch.lastOffset;
  // As in Kafka, a repeat or an out-of-order batch may still start a new segment.
  makeRoom(state, batch.sizeInBytes, maxTimestamp, firstOffset, lastOffset);
  const duplicate = origin === 'client' ? duplicateOf(state, batch) : undefined;
  if (duplicate) return duplicateResult(state, duplicate, recordCount, batch.sizeInBytes);
  const change = new ProducerChange(state, origin);
  change.add(batch);
  write(state, batch.toBuffer(), lastOffset, change);
  state.epochs.assign(leaderEpoch, firstOffset);
  return {
    firstOffset,
    lastOffset,
    logStartOffset: state.logStartOffset,
    logAppendTime,
    recordCount,
    sizeInBytes: batch.sizeInBytes,
    isDuplicate: false,
  };
}

/** Batches as a leader has them, offsets and all: holes between them are what compaction left. */
export function appendAsFollower(state: LogState, records: Buffer): AppendResult {
  ensureUsable(state);
  const { name } = state;
  const change = new ProducerChange(state, 'replication');
  let end = 0;
  let recordCount = 0;
  let firstOffset = -1n;
  let lastOffset = -1n;
  let maxTimestamp = NO_TIMESTAMP;
  const epochs: { epoch: number; startOffset: bigint }[] = [];
  try {
    const batches = new BatchIterator(records);
    for (let batch = batches.next(); batch; batch = batches.next()) {
      const baseOffset = batch.baseOffset;
      const previous = lastOffset >= 0n ? lastOffset + 1n : state.logEndOffset;
      if (baseOffset < previous) {
        throw new UnexpectedAppendOffsetError(
          `${name}: a replicated batch starts at ${String(baseOffset)}, below the expected ${String(previous)}`,
        );
      }
      ensureCrc(batch, name);
      change.add(batch);
      epochs.push({ epoch: batch.partitionLeaderEpoch, startOffset: baseOffset });
      if (firstOffset < 0n) firstOffset = baseOffset;
      lastOffset = batch.lastOffset;
      maxTimestamp = Math.max(maxTimestamp, batch.maxTimestamp);
      recordCount += batch.recordCount;
      end = batch.position + batch.sizeInBytes;
    }
  } catch (error) {
    throw toLogError(error, name);
  }
  if (end > 0) {
    makeRoom(state, end, maxTimestamp, firstOffset, lastOffset);
    const whole = end === records.length ? records : records.subarray(0, end);
    write(state, whole, lastOffset, change);
    for (const { epoch, startOffset } of epochs) state.epochs.assign(epoch, startOffset);
  }
  return {
    firstOffset,
    lastOffset,
    logStartOffset: state.logStartOffset,
    logAppendTime: NO_TIMESTAMP,
    recordCount,
    sizeInBytes: end,
    isDuplicate: false,
  };
}

/** What an append changes for its producers; applied only once the bytes are written. */
class ProducerChange {
  readonly #state: LogState;
  readonly #origin: AppendOrigin;
  #appends: Map<bigint, ProducerAppend> | null = null;
  #completed: CompletedTransaction[] | null = null;

  constructor(state: LogState, origin: AppendOrigin) {
    this.#state = state;
    this.#origin = origin;
  }

  add(batch: RecordBatch): void {
    if (!batch.hasProducerId) return;
    const { producers, cursor } = this.#state;
    const producerId = batch.producerId;
    this.#appends ??= new Map();
    let append = this.#appends.get(producerId);
    if (!append) {
      append = producers.prepare(producerId, this.#origin);
      this.#appends.set(producerId, append);
    }
    const completed = append.add(batch, cursor);
    if (completed) (this.#completed ??= []).push(completed);
  }

  apply(): void {
    if (!this.#appends) return;
    const { producers, segments } = this.#state;
    for (const append of this.#appends.values()) producers.apply(append);
    for (const transaction of this.#completed ?? []) {
      if (transaction.isAborted) {
        segments.active.txnIndex.append({
          producerId: transaction.producerId,
          firstOffset: transaction.firstOffset,
          lastOffset: transaction.lastOffset,
          lastStableOffset: producers.lastStableOffsetAfter(transaction),
        });
      }
      producers.complete(transaction);
    }
  }
}

/** Sees to it that the active segment can take what comes. */
function makeRoom(
  state: LogState,
  sizeBytes: number,
  maxTimestamp: number,
  firstOffset: bigint,
  lastOffset: bigint,
): void {
  if (sizeBytes > state.config.segmentBytes) {
    throw new RecordBatchTooLargeError(
      `${state.name}: an append of ${String(sizeBytes)} bytes is above segment.bytes=` +
        String(state.config.segmentBytes),
    );
  }
  failOnDiskError(state, () => {
    maybeRoll(state, sizeBytes, maxTimestamp, firstOffset, lastOffset);
  });
}

/** Full disk: nothing has changed. Anything else of the disk: what is there is not known any more. */
function failOnDiskError(state: LogState, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (error instanceof LogDirError && !(error instanceof StorageFullError)) {
      throw markFailed(state, error);
    }
    throw error;
  }
}

function write(state: LogState, records: Buffer, lastOffset: bigint, change: ProducerChange): void {
  const { segments, producers, config } = state;
  failOnDiskError(state, () => {
    segments.active.append(records, config);
  });
  state.logEndOffset = lastOffset + 1n;
  try {
    change.apply();
  } catch (error) {
    // The batches are in the log, the index of aborted transactions is not: start-up rebuilds it.
    throw error instanceof LogStoreError ? markFailed(state, error) : error;
  }
  producers.mapEndOffset = state.logEndOffset;
  if (state.highWatermarkFollowsEnd) setHighWatermark(state, state.logEndOffset);
  else refreshFirstUnstableOffset(state);
  for (const listener of state.appendListeners) listener();
}

function duplicateOf(state: LogState, batch: RecordBatch): RememberedBatch | undefined {
  if (!batch.hasProducerId) return undefined;
  return state.producers
    .producer(batch.producerId)
    ?.duplicateOf(batch.producerEpoch, batch.baseSequence, batch.lastSequence);
}

function duplicateResult(
  state: LogState,
  duplicate: RememberedBatch,
  recordCount: number,
  sizeInBytes: number,
): AppendResult {
  return {
    firstOffset: duplicate.firstOffset,
    lastOffset: duplicate.lastOffset,
    logStartOffset: state.logStartOffset,
    logAppendTime: duplicate.timestamp,
    recordCount,
    sizeInBytes,
    isDuplicate: true,
  };
}
