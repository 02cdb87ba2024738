import { readControlRecord } from '@millrace/protocol';
import type { RecordBatch, RecordCursor } from '@millrace/protocol';
import {
  CoordinatorFencedError,
  CorruptBatchError,
  InvalidProducerEpochError,
  InvalidTxnStateError,
  OutOfOrderSequenceError,
} from '../errors.ts';
import type { AppendOrigin } from './append-origin.ts';
import {
  isNextSequence,
  NO_OFFSET,
  NO_PRODUCER_EPOCH,
  NO_SEQUENCE,
  ProducerEntry,
} from './producer-entry.ts';

/** A transaction that a marker has ended. */
export interface CompletedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
  /** Of the marker. */
  readonly lastOffset: bigint;
  readonly isAborted: boolean;
}

/**
 * What one append changes for one producer: checked on a copy, so that a refused append leaves
 * nothing behind. Replicated batches and those found in recovery have been checked by a leader; they
 * are taken as they are.
 */
export class ProducerAppend {
  readonly updated: ProducerEntry;
  readonly #current: ProducerEntry;
  readonly #origin: AppendOrigin;
  readonly #partition: string;

  constructor(current: ProducerEntry, origin: AppendOrigin, partition: string) {
    this.#current = current;
    this.updated = new ProducerEntry(current.producerId, current);
    this.#origin = origin;
    this.#partition = partition;
  }

  /** Takes one batch in; the transaction that it completes, if it is a marker that does. */
  add(batch: RecordBatch, cursor: RecordCursor): CompletedTransaction | null {
    if (!batch.isControl) {
      this.#addData(batch);
      return null;
    }
    // The cleaner leaves empty control batches of transactions that are gone entirely.
    if (batch.recordCount === 0) return null;
    cursor.open(batch);
    if (!cursor.next()) return null;
    const marker = readControlRecord(cursor);
    const timestamp = cursor.timestamp;
    cursor.close();
    if (marker.type === 'other') {
      throw new CorruptBatchError(
        `${this.#partition}: control record of type ${String(marker.typeCode)} with producer id ` +
          `${String(batch.producerId)} at offset ${String(batch.baseOffset)}`,
      );
    }
    this.#checkEpoch(batch);
    if (this.updated.coordinatorEpoch > marker.coordinatorEpoch && this.#origin !== 'replication') {
      throw new CoordinatorFencedError(
        `${this.#partition}: marker of producer ${String(batch.producerId)} from coordinator epoch ` +
          `${String(marker.coordinatorEpoch)}, but ${String(this.updated.coordinatorEpoch)} has been seen`,
      );
    }
    const firstOffset = this.updated.currentTxnFirstOffset;
    this.updated.setEpoch(batch.producerEpoch);
    this.updated.coordinatorEpoch = marker.coordinatorEpoch;
    this.updated.lastTimestamp = timestamp;
    this.updated.currentTxnFirstOffset = NO_OFFSET;
    // A marker without data moves no stable offset and needs no place in the index.
    if (firstOffset === NO_OFFSET) return null;
    return {
      producerId: batch.producerId,
      firstOffset,
      lastOffset: batch.baseOffset,
      isAborted: marker.type === 'abort',
    };
  }

  #addData(batch: RecordBatch): void {
    this.#checkEpoch(batch);
    if (this.#origin === 'client') this.#checkSequence(batch);
    const updated = this.updated;
    updated.setEpoch(batch.producerEpoch);
    updated.remember({
      firstSequence: batch.baseSequence,
      lastSequence: batch.lastSequence,
      firstOffset: batch.baseOffset,
      lastOffset: batch.lastOffset,
      timestamp: batch.maxTimestamp,
    });
    const isOpen = updated.currentTxnFirstOffset !== NO_OFFSET;
    if (isOpen && !batch.isTransactional && this.#origin !== 'replication') {
      throw new InvalidTxnStateError(
        `${this.#partition}: a write outside its transaction from producer ${String(batch.producerId)}, ` +
          `whose transaction is open since offset ${String(updated.currentTxnFirstOffset)}`,
      );
    }
    if (!isOpen && batch.isTransactional) updated.currentTxnFirstOffset = batch.baseOffset;
  }

  #checkEpoch(batch: RecordBatch): void {
    if (batch.producerEpoch >= this.updated.producerEpoch) return;
    if (this.#origin === 'replication') return;
    throw new InvalidProducerEpochError(
      `${this.#partition}: epoch ${String(batch.producerEpoch)} of producer ${String(batch.producerId)} ` +
        `is behind ${String(this.updated.producerEpoch)}: a newer instance of it writes`,
    );
  }

  #checkSequence(batch: RecordBatch): void {
    const sequence = batch.baseSequence;
    const known = this.updated;
    if (batch.producerEpoch !== known.producerEpoch) {
      // Nothing known, perhaps because its records have been deleted: any sequence starts.
      if (sequence === 0 || known.producerEpoch === NO_PRODUCER_EPOCH) return;
      throw this.#outOfOrder(batch, `0 starts the new epoch ${String(batch.producerEpoch)}`);
    }
    const last = known.lastBatch
      ? known.lastSequence
      : batch.producerEpoch === this.#current.producerEpoch
        ? this.#current.lastSequence
        : NO_SEQUENCE;
    if (this.#current.producerEpoch === NO_PRODUCER_EPOCH || isNextSequence(last, sequence)) return;
    throw this.#outOfOrder(batch, `${String(last)} was the last`);
  }

  #outOfOrder(batch: RecordBatch, why: string): OutOfOrderSequenceError {
    return new OutOfOrderSequenceError(
      `${this.#partition}: sequence ${String(batch.baseSequence)} of producer ` +
        `${String(batch.producerId)} (epoch ${String(batch.producerEpoch)}) is out of order: ${why}`,
    );
  }
}
