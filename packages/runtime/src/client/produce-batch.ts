import { crc32c } from '@millrace/protocol';
import type { BatchBuilder } from '@millrace/protocol';

export interface ProducerIdentity {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** Counts down the batches that a flush waits for. */
export interface FlushWaiter {
  batchCount: number;
  readonly resolve: () => void;
}

/** In place of a transaction's number. */
export const NO_TRANSACTION = -1;

/** Where the producer's fields stand in a batch header, and what the CRC covers. */
const CRC_AT = 17;
const CRC_START = 21;
const PRODUCER_ID_AT = 43;
const PRODUCER_EPOCH_AT = 51;
const BASE_SEQUENCE_AT = 53;

/**
 * A batch on its way: open, queued, under way, done. Its sequence is given when it is first sent and
 * stays through all retries; only when the broker has refused it for certain, may it get another.
 */
export class ProduceBatch {
  /** Position among the batches of its partition. */
  readonly ordinal: number;
  /** How far the next batch's ordinal is, at least: 1, and less for the parts of a split batch. */
  ordinalWidth = 1;
  /** Monotonic ms. */
  readonly createdAt: number;
  /** Null once the encoded bytes do not live in it any more. */
  builder: BatchBuilder | null;
  readonly codecIsNone: boolean;
  /** Number of the transaction that its records belong to. */
  readonly transaction: number;
  recordCount = 0;
  /** What it counts for in the buffer bound. */
  bufferedBytes = 0;
  bytes: Buffer | null = null;
  identity: ProducerIdentity | null = null;
  baseSequence = -1;
  attemptCount = 0;
  readonly waiters: FlushWaiter[] = [];
  lastError: Error | null = null;

  constructor(
    ordinal: number,
    createdAt: number,
    builder: BatchBuilder,
    codecIsNone: boolean,
    transaction: number = NO_TRANSACTION,
  ) {
    this.ordinal = ordinal;
    this.transaction = transaction;
    this.createdAt = createdAt;
    this.builder = builder;
    this.codecIsNone = codecIsNone;
  }

  get isStamped(): boolean {
    return this.identity !== null;
  }

  /** Gives the batch its producer and sequence, and encodes it if it was not yet. */
  stamp(identity: ProducerIdentity, baseSequence: number): void {
    this.identity = identity;
    this.baseSequence = baseSequence;
    const { producerId, producerEpoch } = identity;
    if (this.bytes === null) {
      if (this.builder === null) throw new Error('A batch without bytes has its builder');
      const isTransactional = this.transaction !== NO_TRANSACTION;
      this.bytes = this.builder.build({
        producerId,
        producerEpoch,
        baseSequence,
        isTransactional,
      });
      return;
    }
    const { bytes } = this;
    bytes.writeBigInt64BE(producerId, PRODUCER_ID_AT);
    bytes.writeInt16BE(producerEpoch, PRODUCER_EPOCH_AT);
    bytes.writeInt32BE(baseSequence, BASE_SEQUENCE_AT);
    bytes.writeUInt32BE(crc32c(bytes, CRC_START, bytes.length), CRC_AT);
  }

  /** The broker has not written it and never will under this sequence. */
  unstamp(): void {
    this.identity = null;
    this.baseSequence = -1;
    this.attemptCount = 0;
  }
}
