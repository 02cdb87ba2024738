import type { Clock } from '@millrace/compaction';
import { BatchBuilder, RecordCursor } from '@millrace/protocol';
import { NotCoordinatorError } from '../coordinators/coordinator-errors.ts';
import { coordinatorPartition } from '../coordinators/coordinator-partition.ts';
import {
  replayPartition,
  type CoordinatorTopic,
  type CoordinatorTopicPartition,
} from '../coordinators/coordinator-topic.ts';
import { COORDINATOR_BATCH_BYTES, TOMBSTONE_BATCH_BYTES } from '../coordinators/limits.ts';
import { BrokerInvariantError } from '../errors.ts';
import { TRANSACTION_STATE_TOPIC } from '../topics/topic.ts';
import { transactionRecord, transactionTombstone } from './transaction-records.ts';
import type { Transaction } from './transaction.ts';

/** Writes `__transaction_state` and reads it back after a restart. */
export class TransactionLog {
  readonly #topic: CoordinatorTopic;
  readonly #clock: Clock;
  readonly #loadBufferBytes: number;
  readonly #builder = new BatchBuilder({ codec: 'none', maxBytes: COORDINATOR_BATCH_BYTES });
  readonly #tombstoneBuilder = new BatchBuilder({ codec: 'none', maxBytes: TOMBSTONE_BATCH_BYTES });

  constructor(topic: CoordinatorTopic, clock: Clock, loadBufferBytes: number) {
    this.#topic = topic;
    this.#clock = clock;
    this.#loadBufferBytes = loadBufferBytes;
  }

  /** Whether the topic is there, so that the id has a coordinator. */
  get isThere(): boolean {
    return this.#topic.partitionCount > 0;
  }

  /** The leader epoch that markers carry as their coordinator's. */
  coordinatorEpochOf(transactionalId: string): number {
    return this.#partitionOf(transactionalId).leaderEpoch;
  }

  /**
   * Written when it returns, so that no kill takes it away. A promise when flush.messages has been
   * reached: it counts, also after a power loss, once that resolves. Throws what the log throws.
   */
  append(transactionalId: string, transaction: Transaction): Promise<void> | undefined {
    const partition = this.#partitionOf(transactionalId);
    const { key, value } = transactionRecord(transactionalId, transaction);
    this.#builder.reset();
    if (!this.#builder.appendBytes(this.#clock.now(), key, value, null)) {
      throw new BrokerInvariantError(`transaction ${transactionalId}: a batch has no bound`);
    }
    write(partition, this.#builder);
    return partition.log.flushIfDue();
  }

  /**
   * Tombstones, in batches of bounded size (KAFKA-13099). `onAppended` is told the ids of each batch once
   * it is written; a partition whose log fails ends the whole with its error.
   */
  appendTombstones(
    transactionalIds: readonly string[],
    onAppended: (ids: readonly string[]) => void,
  ): void {
    const byPartition = new Map<number, string[]>();
    for (const id of transactionalIds) {
      const index = coordinatorPartition(id, this.#topic.partitionCount);
      const ids = byPartition.get(index);
      if (ids === undefined) byPartition.set(index, [id]);
      else ids.push(id);
    }
    for (const ids of byPartition.values()) this.#appendTombstonesOfOne(ids, onAppended);
  }

  #appendTombstonesOfOne(
    transactionalIds: readonly string[],
    onAppended: (ids: readonly string[]) => void,
  ): void {
    const partition = this.#partitionOf(transactionalIds[0] as string);
    const builder = this.#tombstoneBuilder;
    const timestamp = this.#clock.now();
    builder.reset();
    let batched: string[] = [];
    for (const id of transactionalIds) {
      const { key } = transactionTombstone(id);
      if (!builder.appendBytes(timestamp, key, null, null)) {
        write(partition, builder);
        onAppended(batched);
        batched = [];
        builder.reset();
        builder.appendBytes(timestamp, key, null, null);
      }
      batched.push(id);
    }
    write(partition, builder);
    onAppended(batched);
  }

  #partitionOf(transactionalId: string): CoordinatorTopicPartition {
    const { partitionCount } = this.#topic;
    const partition =
      partitionCount === 0
        ? undefined
        : this.#topic.partition(coordinatorPartition(transactionalId, partitionCount));
    if (partition === undefined) {
      throw new NotCoordinatorError(TRANSACTION_STATE_TOPIC, `transactional id ${transactionalId}`);
    }
    return partition;
  }

  /** Reads every partition from its start to its end; key and value are gone after the call. */
  load(onRecord: (key: Buffer, value: Buffer | null) => void): void {
    const cursor = new RecordCursor();
    for (let index = 0; index < this.#topic.partitionCount; index += 1) {
      const partition = this.#topic.partition(index);
      if (partition === undefined) continue;
      replayPartition(partition, this.#loadBufferBytes, (batch, from) => {
        if (batch.isControl) return;
        cursor.open(batch);
        while (cursor.next()) {
          const key = cursor.key();
          if (key !== null && cursor.offset() >= from) onRecord(key, cursor.value());
        }
      });
    }
  }
}

function write({ log, leaderEpoch }: CoordinatorTopicPartition, builder: BatchBuilder): void {
  log.appendAsLeader(builder.build(), { leaderEpoch, origin: 'coordinator' });
}
