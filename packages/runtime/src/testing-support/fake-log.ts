import {
  BatchBuilder,
  BatchIterator,
  encodeControlBatch,
  RecordBatch,
  RecordCursor,
} from '@millrace/protocol';
import type { BuildOptions, RecordHeaders } from '@millrace/protocol';
import type { AbortedTransaction } from '../client/ports.ts';

/** A record to be written or as it was read; times in epoch ms. */
export interface PlainRecord {
  readonly key: string | null;
  readonly value: string | null;
  readonly timestamp?: number;
  readonly headers?: RecordHeaders | null;
}

export interface ReadRecord {
  readonly offset: bigint;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders | null;
}

/** One partition in memory: whole batches in a row. */
export class FakeLog {
  readonly #batches: { readonly batch: Buffer; readonly base: bigint; readonly next: bigint }[] =
    [];
  logStartOffset = 0n;
  endOffset = 0n;
  /** What a reader of committed records may see. */
  lastStableOffset: bigint | null = null;
  /** First offsets of the open transactions, by producer id. */
  readonly #openTransactions = new Map<bigint, bigint>();
  readonly abortedTransactions: (AbortedTransaction & { readonly endOffset: bigint })[] = [];

  /** Appends batches as a leader does: their offsets are rewritten. Returns the base offset. */
  append(records: Buffer): bigint {
    const base = this.endOffset;
    const copy = Buffer.from(records);
    const iterator = new BatchIterator(copy);
    for (let batch = iterator.next(); batch !== null; batch = iterator.next()) {
      batch.setBaseOffset(this.endOffset);
      const bytes = copy.subarray(batch.position, batch.position + batch.sizeInBytes);
      this.#batches.push({ batch: bytes, base: this.endOffset, next: batch.nextOffset });
      const isData = batch.isTransactional && !batch.isControl;
      if (isData && !this.#openTransactions.has(batch.producerId)) {
        this.#openTransactions.set(batch.producerId, this.endOffset);
        this.lastStableOffset ??= this.endOffset;
      }
      this.endOffset = batch.nextOffset;
    }
    return base;
  }

  /** Writes the marker, if the producer has a transaction open here. */
  endTransaction(producerId: bigint, producerEpoch: number, isCommit: boolean): void {
    const firstOffset = this.#openTransactions.get(producerId);
    if (firstOffset === undefined) return;
    this.#openTransactions.delete(producerId);
    if (!isCommit) {
      this.abortedTransactions.push({ producerId, firstOffset, endOffset: this.endOffset });
    }
    const marker = encodeControlBatch({
      baseOffset: this.endOffset,
      producerId,
      producerEpoch,
      type: isCommit ? 'commit' : 'abort',
      coordinatorEpoch: 0,
      timestamp: 0,
      leaderEpoch: 0,
    });
    this.appendRaw(marker, this.endOffset + 1n);
    this.lastStableOffset = this.#firstOpenOffset();
  }

  get hasOpenTransactions(): boolean {
    return this.#openTransactions.size > 0;
  }

  #firstOpenOffset(): bigint | null {
    let first: bigint | null = null;
    for (const offset of this.#openTransactions.values()) {
      if (first === null || offset < first) first = offset;
    }
    return first;
  }

  /** Appends bytes as they are, however broken; `nextOffset` is where the log goes on. */
  appendRaw(batch: Buffer, nextOffset: bigint): void {
    this.#batches.push({ batch, base: this.endOffset, next: nextOffset });
    this.endOffset = nextOffset;
  }

  write(records: readonly PlainRecord[], options: BuildOptions = {}): bigint {
    return this.append(encodeBatch(records, options));
  }

  /** Leaves a hole, as compaction does. */
  skipTo(offset: bigint): void {
    this.endOffset = offset;
  }

  /** Whole batches from the one that holds `offset`, before `end`; at least one, if there is any. */
  read(
    offset: bigint,
    maxBytes: number,
    end = this.endOffset,
  ): { readonly records: Buffer; readonly nextOffset: bigint } {
    const parts: Buffer[] = [];
    let bytes = 0;
    let nextOffset = offset;
    for (const { batch, base, next } of this.#batches) {
      if (next <= offset) continue;
      if (base >= end) break;
      if (parts.length > 0 && bytes + batch.length > maxBytes) break;
      parts.push(batch);
      bytes += batch.length;
      nextOffset = next;
    }
    // Nothing is left between the position and the end: a reader goes on at the end.
    if (parts.length === 0 && offset < end) nextOffset = end;
    return { records: Buffer.concat(parts), nextOffset };
  }

  deleteUpTo(offset: bigint): void {
    if (offset <= this.logStartOffset) return;
    this.logStartOffset = offset;
    while (this.#batches.length > 0 && (this.#batches[0] as { next: bigint }).next <= offset) {
      this.#batches.shift();
    }
  }

  /** What a reader of committed records gets. */
  committedRecords(): ReadRecord[] {
    const aborted = this.abortedTransactions;
    const end = (this.hasOpenTransactions ? this.lastStableOffset : null) ?? this.endOffset;
    const isAborted = (batch: RecordBatch): boolean =>
      batch.isTransactional &&
      aborted.some(
        ({ producerId, firstOffset, endOffset }) =>
          producerId === batch.producerId &&
          firstOffset <= batch.baseOffset &&
          batch.baseOffset < endOffset,
      );
    return this.records(end, isAborted);
  }

  records(end = this.endOffset, isLeftOut?: (batch: RecordBatch) => boolean): ReadRecord[] {
    const { records } = this.read(this.logStartOffset, Infinity, end);
    const cursor = new RecordCursor();
    const found: ReadRecord[] = [];
    const iterator = new BatchIterator(records);
    for (let batch = iterator.next(); batch !== null; batch = iterator.next()) {
      if (batch.isControl || isLeftOut?.(batch) === true) continue;
      cursor.open(new RecordBatch(records, batch.position));
      while (cursor.next()) {
        const key = cursor.key();
        const value = cursor.value();
        found.push({
          offset: cursor.offset(),
          timestamp: cursor.timestamp,
          key: key === null ? null : Buffer.from(key),
          value: value === null ? null : Buffer.from(value),
          headers: cursor.nullableHeaders(),
        });
      }
    }
    return found;
  }
}

export function encodeBatch(records: readonly PlainRecord[], options: BuildOptions = {}): Buffer {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 64 * 1024 * 1024 });
  for (const { key, value, timestamp, headers } of records) {
    builder.appendBytes(
      timestamp ?? 0,
      key === null ? null : Buffer.from(key),
      value === null ? null : Buffer.from(value),
      headers ?? null,
    );
  }
  return Buffer.from(builder.build(options));
}
