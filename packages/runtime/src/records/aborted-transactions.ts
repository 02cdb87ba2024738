import type { RecordBatch } from '@millrace/protocol';
import type { AbortedTransaction } from '../client/ports.ts';

/**
 * Hides the data batches of aborted transactions within one fetch response. The response lists what
 * was aborted in its range, by producer and first offset; a producer's data is hidden from that
 * offset up to its abort marker. Only control batches end an aborted transaction, never data.
 */
export class AbortedTransactions {
  #pending: readonly AbortedTransaction[] = [];
  #next = 0;
  readonly #open = new Set<bigint>();

  /** A response has its own complete list, so nothing is carried over from the one before. */
  reset(transactions: readonly AbortedTransaction[]): void {
    this.#pending = isSorted(transactions)
      ? transactions
      : [...transactions].sort((a, b) => compareBigints(a.firstOffset, b.firstOffset));
    this.#next = 0;
    this.#open.clear();
  }

  /** Whether the batch belongs to an aborted transaction. Batches must come in offset order. */
  hides(batch: RecordBatch): boolean {
    if (this.#next < this.#pending.length) this.#openUpTo(batch.lastOffset);
    return this.#open.size > 0 && batch.isTransactional && this.#open.has(batch.producerId);
  }

  /** The producer's abort marker was read: what it writes from here on belongs to another transaction. */
  ended(producerId: bigint): void {
    this.#open.delete(producerId);
  }

  #openUpTo(lastOffset: bigint): void {
    while (this.#next < this.#pending.length) {
      const transaction = this.#pending[this.#next] as AbortedTransaction;
      if (transaction.firstOffset > lastOffset) return;
      this.#open.add(transaction.producerId);
      this.#next++;
    }
  }
}

function isSorted(transactions: readonly AbortedTransaction[]): boolean {
  for (let i = 1; i < transactions.length; i++) {
    const previous = transactions[i - 1] as AbortedTransaction;
    if (previous.firstOffset > (transactions[i] as AbortedTransaction).firstOffset) return false;
  }
  return true;
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
