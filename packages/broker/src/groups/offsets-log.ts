import type { Clock } from '@millrace/compaction';
import {
  BatchBuilder,
  readControlRecord,
  RecordCursor,
  type BuildOptions,
  type RecordBatch,
} from '@millrace/protocol';
import { NotCoordinatorError } from '../coordinators/coordinator-errors.ts';
import { coordinatorPartition } from '../coordinators/coordinator-partition.ts';
import {
  replayPartition,
  type CoordinatorRecord,
  type CoordinatorTopic,
  type CoordinatorTopicPartition,
} from '../coordinators/coordinator-topic.ts';
import { COORDINATOR_BATCH_BYTES, TOMBSTONE_BATCH_BYTES } from '../coordinators/limits.ts';
import { BrokerInvariantError } from '../errors.ts';
import { CONSUMER_OFFSETS_TOPIC } from '../topics/topic.ts';

/** The producer in whose transaction records are written. */
export interface TransactionalProducer {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** What a partition of the topic holds, in order. */
export interface OffsetsReplay {
  /** Key and value are views that are gone after the call; `producerId` is -1 outside transactions. */
  record(key: Buffer, value: Buffer | null, logOffset: bigint, producerId: bigint): void;
  /** The producer's transaction ends in this partition of the topic, and in no other. */
  endOfTransaction(producerId: bigint, isCommit: boolean, partition: number): void;
}

/** Writes the coordinator's records to `__consumer_offsets` and reads them back after a restart. */
export class OffsetsLog {
  readonly #topic: CoordinatorTopic;
  readonly #clock: Clock;
  readonly #loadBufferBytes: number;
  readonly #atomicBuilder = new BatchBuilder({ codec: 'none', maxBytes: COORDINATOR_BATCH_BYTES });
  readonly #tombstoneBuilder = new BatchBuilder({ codec: 'none', maxBytes: TOMBSTONE_BATCH_BYTES });

  constructor(topic: CoordinatorTopic, clock: Clock, loadBufferBytes: number) {
    this.#topic = topic;
    this.#clock = clock;
    this.#loadBufferBytes = loadBufferBytes;
  }

  /** Where the group lives; undefined while the topic is not there. */
  partitionOf(groupId: string): number | undefined {
    const { partitionCount } = this.#topic;
    return partitionCount === 0 ? undefined : coordinatorPartition(groupId, partitionCount);
  }

  /**
   * All records in one batch, so that all of them are there after a kill, or none. Returns the log offset
   * of the first. Throws what the log throws, for instance for a batch above its limit.
   */
  append(
    groupId: string,
    records: readonly CoordinatorRecord[],
    transaction?: TransactionalProducer,
  ): bigint {
    const partition = this.#existing(groupId);
    const timestamp = this.#clock.now();
    this.#atomicBuilder.reset();
    for (const { key, value } of records) {
      if (!this.#atomicBuilder.appendBytes(timestamp, key, value, null)) {
        throw new BrokerInvariantError(`group ${groupId}: a batch of records has no bound`);
      }
    }
    return write(
      partition,
      this.#atomicBuilder,
      transaction === undefined ? {} : { ...transaction, isTransactional: true },
    );
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
    const partition = this.#existing(groupId);
    const builder = this.#tombstoneBuilder;
    const timestamp = this.#clock.now();
    builder.reset();
    let count = 0;
    for (const { key, value } of records) {
      if (!builder.appendBytes(timestamp, key, value, null)) {
        write(partition, builder, {});
        onAppended(count);
        builder.reset();
        builder.appendBytes(timestamp, key, value, null);
      }
      count += 1;
    }
    if (builder.isEmpty) return;
    write(partition, builder, {});
    onAppended(count);
  }

  /** As the log's: a promise when flush.messages has been reached and an answer has to wait. */
  flushIfDue(groupId: string): Promise<void> | undefined {
    return this.#existing(groupId).log.flushIfDue();
  }

  #existing(groupId: string): CoordinatorTopicPartition {
    const index = this.partitionOf(groupId);
    const partition = index === undefined ? undefined : this.#topic.partition(index);
    if (partition === undefined) {
      throw new NotCoordinatorError(CONSUMER_OFFSETS_TOPIC, `group ${groupId}`);
    }
    return partition;
  }

  /** Reads every partition from its start to its end. */
  load(replay: OffsetsReplay): void {
    const cursor = new RecordCursor();
    for (let index = 0; index < this.#topic.partitionCount; index += 1) {
      const partition = this.#topic.partition(index);
      if (partition === undefined) continue;
      replayPartition(partition, this.#loadBufferBytes, (batch, from) => {
        replayBatch(batch, cursor, from, index, replay);
      });
    }
  }
}

function write(
  { log, leaderEpoch }: CoordinatorTopicPartition,
  builder: BatchBuilder,
  options: BuildOptions,
): bigint {
  const baseOffset = log.logEndOffset;
  log.appendAsLeader(builder.build(options), { leaderEpoch, origin: 'coordinator' });
  return baseOffset;
}

function replayBatch(
  batch: RecordBatch,
  cursor: RecordCursor,
  from: bigint,
  partition: number,
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
      if (type !== 'other') replay.endOfTransaction(producerId, type === 'commit', partition);
      continue;
    }
    const key = cursor.key();
    if (key !== null) replay.record(key, cursor.value(), offset, transactionalId);
  }
}
