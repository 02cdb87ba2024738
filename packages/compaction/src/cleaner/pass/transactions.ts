import type { RecordBatch } from '@millrace/protocol';
import type { AbortedTransaction } from '../../segment/txn-index.ts';
import type { CleaningTask } from '../cleaning-task.ts';

/** What kind of control record a control batch holds; `none`: it is empty, the cleaner did that. */
export type ControlType = 'abort' | 'commit' | 'other' | 'none';

export interface MarkerVerdict {
  /** Nothing of its transaction is left in the log. */
  readonly isDiscardable: boolean;
  /** For the transaction index of the segment that the marker goes into; null: not needed. */
  readonly aborted: AbortedTransaction | null;
}

const DISCARDABLE: MarkerVerdict = { isDiscardable: true, aborted: null };
const NEEDED: MarkerVerdict = { isDiscardable: false, aborted: null };

interface OngoingAbort {
  readonly transaction: AbortedTransaction;
  /** A batch of it has been met in this pass. */
  hasBatch: boolean;
}

/**
 * Which transactions the batches of one pass over a log belong to. Aborted ones are known beforehand
 * from the transaction indexes; any other is a committed one. It goes on from segment to segment and
 * from group to group (KAFKA-8351).
 */
export class PassTransactions {
  /** Announced and not begun yet, by first offset, the lowest last. */
  #expected: AbortedTransaction[] = [];
  readonly #aborted = new Map<bigint, OngoingAbort>();
  readonly #committed = new Set<bigint>();

  /** Aborted transactions that reach into what is read next. */
  expect(transactions: readonly AbortedTransaction[]): void {
    if (transactions.length === 0) return;
    this.#expected = [...transactions, ...this.#expected].sort((a, b) =>
      a.firstOffset < b.firstOffset ? 1 : a.firstOffset > b.firstOffset ? -1 : 0,
    );
  }

  #begin(offset: bigint): void {
    for (let next = this.#expected.at(-1); next; next = this.#expected.at(-1)) {
      if (next.firstOffset > offset) return;
      this.#expected.pop();
      if (!this.#aborted.has(next.producerId)) {
        this.#aborted.set(next.producerId, { transaction: next, hasBatch: false });
      }
    }
  }

  /** Whether a data batch belongs to an aborted transaction. */
  isAborted(batch: RecordBatch): boolean {
    if (this.#expected.length > 0) this.#begin(batch.lastOffset);
    if (!batch.isTransactional) return false;
    const { producerId } = batch;
    const ongoing = this.#aborted.get(producerId);
    if (ongoing) {
      ongoing.hasBatch = true;
      return true;
    }
    this.#committed.add(producerId);
    return false;
  }

  onMarker(batch: RecordBatch, type: ControlType): MarkerVerdict {
    if (this.#expected.length > 0) this.#begin(batch.lastOffset);
    switch (type) {
      case 'none':
        return DISCARDABLE;
      case 'other':
        return NEEDED;
      case 'commit':
        return this.#committed.delete(batch.producerId) ? NEEDED : DISCARDABLE;
      case 'abort': {
        const ongoing = this.#aborted.get(batch.producerId);
        this.#aborted.delete(batch.producerId);
        return ongoing?.hasBatch
          ? { isDiscardable: false, aborted: ongoing.transaction }
          : DISCARDABLE;
      }
    }
  }
}

/**
 * Of a log's aborted transactions, in marker order, those whose marker lies from `segmentBase` on and that begin before
 * `end`. As in Kafka, one that ended before the log's start counts for nothing.
 */
export function abortedWithin(
  task: Pick<CleaningTask, 'abortedTransactions' | 'logStartOffset'>,
  segmentBase: bigint,
  end: bigint,
): AbortedTransaction[] {
  const { abortedTransactions: all, logStartOffset } = task;
  const start = segmentBase > logStartOffset ? segmentBase : logStartOffset;
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((all[middle] as AbortedTransaction).lastOffset < start) low = middle + 1;
    else high = middle;
  }
  const found: AbortedTransaction[] = [];
  for (let index = low; index < all.length; index++) {
    const one = all[index] as AbortedTransaction;
    if (one.firstOffset < end) found.push(one);
    if (one.lastStableOffset >= end) break;
  }
  return found;
}
