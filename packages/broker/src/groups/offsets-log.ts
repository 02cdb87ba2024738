import type { Clock, Log } from '@millrace/compaction';
import {
  BatchBuilder,
  BatchIterator,
  readControlRecord,
  RecordCursor,
  type RecordBatch,
} from '@millrace/protocol';
import { BrokerInvariantError } from '../errors.ts';
import { NotCoordinatorError } from './coordinator-errors.ts';
import { coordinatorPartition } from './coordinator-partition.ts';
import type { CoordinatorRecord } from './group-records.ts';
import { COORDINATOR_BATCH_BYTES, TOMBSTONE_BATCH_BYTES } from './limits.ts';

/** One partition of `__consumer_offsets`. */
export interface OffsetsPartition {
  /** Of this leader, for what it appends. */
  readonly leaderEpoch: number;
  readonly log: Pick<Log, 'appendAsLeader' | 'read' | 'logStartOffset' | 'logEndOffset'>;
}

/** `__consumer_offsets` as groups see it. */
export interface OffsetsTopic {
  /** 0 while the topic is not there. */
  readonly partitionCount: number;
  partition(index: number): OffsetsPartition | undefined;
}

/** What a partition of the topic holds, in order. */
export interface OffsetsReplay {
  /** Key and value are views that are gone after the call; `producerId` is -1 outside transactions. */
  record(key: Buffer, value: Buffer | null, logOffset: bigint, producerId: bigint): void;
  endOfTransaction(producerId: bigint, isCommit: boolean): void;
}

/** Writes the coordinator's records to `__consumer_offsets` and reads them back after a restart. */
export class OffsetsLog {
  readonly #topic: OffsetsTopic;
  readonly #clock: Clock;
  readonly #loadBufferBytes: number;
  readonly #atomicBuilder = new BatchBuilder({ codec: 'none', maxBytes: COORDINATOR_BATCH_BYTES });
  readonly #tombstoneBuilder = new BatchBuilder({ codec: 'none', maxBytes: TOMBSTONE_BATCH_BYTES });

  constructor(topic: OffsetsTopic, clock: Clock, loadBufferBytes: number) {
    this.#topic = topic;
    this.#clock = clock;
    this.#loadBufferBytes = loadBufferBytes;
  }

  /**
   * All records in one batch, so that all of them are there after a kill, or none. Returns the log offset
   * of the first. Throws what the log throws, for instance for a batch above its limit.
   */
  append(groupId: string, records: readonly CoordinatorRecord[]): bigint {
    const partition = this.#partitionOf(groupId);
    const timestamp = this.#clock.now();
    this.#atomicBuilder.reset();
    for (const { key, value } of records) {
      if (!this.#atomicBuilder.appendBytes(timestamp, key, value, null)) {
        throw new BrokerInvariantError(`group ${groupId}: a batch of records has no bound`);
      }
    }
    return write(partition, this.#atomicBuilder);
  }

  /**
   * For tombstones, which may be many and need not be there together. `onAppended` is told after each
   * batch how many of the records are written by then.
   */
  appendMany(
    groupId: string,
    records: readonly CoordinatorRecord[],
    onAppended: (count: number) => void,
  ): void {
    const partition = this.#partitionOf(groupId);
    const builder = this.#tombstoneBuilder;
    const timestamp = this.#clock.now();
    builder.reset();
    let count = 0;
    for (const { key, value } of records) {
      if (!builder.appendBytes(timestamp, key, value, null)) {
        write(partition, builder);
        onAppended(count);
        builder.reset();
        builder.appendBytes(timestamp, key, value, null);
      }
      count += 1;
    }
    if (builder.isEmpty) return;
    write(partition, builder);
    onAppended(count);
  }

  #partitionOf(groupId: string): OffsetsPartition {
    const { partitionCount } = this.#topic;
    const partition =
      partitionCount === 0
        ? undefined
        : this.#topic.partition(coordinatorPartition(groupId, partitionCount));
    if (partition === undefined) throw new NotCoordinatorError(groupId);
    return partition;
  }

  /** Reads every partition from its start to its end. */
  load(replay: OffsetsReplay): void {
    for (let index = 0; index < this.#topic.partitionCount; index += 1) {
      const partition = this.#topic.partition(index);
      if (partition !== undefined) this.#loadPartition(partition, replay);
    }
  }

  #loadPartition({ log }: OffsetsPartition, replay: OffsetsReplay): void {
    const cursor = new RecordCursor();
    let offset = log.logStartOffset;
    while (offset < log.logEndOffset) {
      const { records } = log.read(offset, this.#loadBufferBytes, {
        isolation: 'logEnd',
        minOneBatch: true,
      });
      const batches = new BatchIterator(records);
      const from = offset;
      for (let batch = batches.next(); batch !== null; batch = batches.next()) {
        replayBatch(batch, cursor, from, replay);
        offset = batch.nextOffset;
      }
      // Compaction may have left a hole at the end.
      if (offset === from) return;
    }
  }
}

function write({ log, leaderEpoch }: OffsetsPartition, builder: BatchBuilder): bigint {
  const baseOffset = log.logEndOffset;
  log.appendAsLeader(builder.build(), { leaderEpoch, origin: 'coordinator' });
  return baseOffset;
}

function replayBatch(
  batch: RecordBatch,
  cursor: RecordCursor,
  from: bigint,
  replay: OffsetsReplay,
): void {
  const { isControl, producerId } = batch;
  const transactionalId = batch.isTransactional ? producerId : -1n;
  cursor.open(batch);
  while (cursor.next()) {
    const offset = cursor.offset();
    if (offset < from) continue;
    if (isControl) {
      const { type } = readControlRecord(cursor);
      if (type !== 'other') replay.endOfTransaction(producerId, type === 'commit');
      continue;
    }
    const key = cursor.key();
    if (key !== null) replay.record(key, cursor.value(), offset, transactionalId);
  }
}
