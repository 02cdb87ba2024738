import { incrementSequence } from '@millrace/protocol';
import { BATCHES_REMEMBERED_PER_PRODUCER } from '../limits.ts';

export const NO_PRODUCER_EPOCH = -1;
export const NO_SEQUENCE = -1;
export const NO_OFFSET = -1n;

const SEQUENCES = 0x8000_0000;

/** One appended batch of a producer, by which a repeat of it is known. */
export interface RememberedBatch {
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  /** The batch's max timestamp, epoch ms. */
  readonly timestamp: number;
}

/** The sequence `decrement` before `sequence`, going round as `incrementSequence` does. */
export function decrementSequence(sequence: number, decrement: number): number {
  return sequence < decrement ? SEQUENCES - (decrement - sequence) : sequence - decrement;
}

/** Whether `next` is what a producer sends after `last`; sequences go round at 2^31. */
export function isNextSequence(last: number, next: number): boolean {
  return next === incrementSequence(last, 1);
}

/** What a log knows of one producer: its last batches and its open transaction (KIP-98). */
export class ProducerEntry {
  readonly producerId: bigint;
  producerEpoch: number;
  coordinatorEpoch: number;
  /** Of the last batch or marker, epoch ms. */
  lastTimestamp: number;
  /** First offset of the open transaction; -1: none. */
  currentTxnFirstOffset: bigint;
  /** Oldest first. */
  batches: readonly RememberedBatch[];

  constructor(producerId: bigint, from?: ProducerEntry) {
    this.producerId = producerId;
    this.producerEpoch = from?.producerEpoch ?? NO_PRODUCER_EPOCH;
    this.coordinatorEpoch = from?.coordinatorEpoch ?? -1;
    this.lastTimestamp = from?.lastTimestamp ?? -1;
    this.currentTxnFirstOffset = from?.currentTxnFirstOffset ?? NO_OFFSET;
    this.batches = from?.batches ?? [];
  }

  get lastBatch(): RememberedBatch | undefined {
    return this.batches.at(-1);
  }

  get lastSequence(): number {
    return this.lastBatch?.lastSequence ?? NO_SEQUENCE;
  }

  /** A new epoch forgets the batches of the old one. */
  setEpoch(epoch: number): void {
    if (epoch === this.producerEpoch) return;
    this.batches = [];
    this.producerEpoch = epoch;
  }

  remember(batch: RememberedBatch): void {
    this.batches = [...this.batches.slice(1 - BATCHES_REMEMBERED_PER_PRODUCER), batch];
    this.lastTimestamp = batch.timestamp;
  }

  /** The remembered batch that this one repeats. */
  duplicateOf(
    epoch: number,
    firstSequence: number,
    lastSequence: number,
  ): RememberedBatch | undefined {
    if (epoch !== this.producerEpoch) return undefined;
    return this.batches.find(
      (one) => one.firstSequence === firstSequence && one.lastSequence === lastSequence,
    );
  }
}
