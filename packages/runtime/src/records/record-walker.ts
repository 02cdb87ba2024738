import { BatchIterator, RecordCursor, readControlRecord } from '@millrace/protocol';
import type { RecordBatch } from '@millrace/protocol';
import type { FetchedPartition } from '../client/ports.ts';
import { DeserializationError } from '../errors.ts';
import { AbortedTransactions } from './aborted-transactions.ts';
import { countRecords } from './count-records.ts';

export interface RecordWalkerOptions {
  /** Default MAX_DECOMPRESSED_BATCH_BYTES. */
  readonly maxDecompressedBytes?: number | undefined;
  /** Nothing that its reader makes of a record shares memory with it: what was walked may be given back. */
  readonly recycles?: boolean;
}

/**
 * Walks what was fetched from one partition, record by record: over batches, over empty and control
 * batches, over aborted transactions, and past the records of a first batch that lie before the
 * position. Batches stay raw until their turn; then the CRC is checked and one record at a time is
 * decoded, under `cursor`. Nothing is made per record.
 *
 * `next()` throws a DeserializationError that names topic, partition and offset when a batch cannot
 * be read; the walker then stands before it, until `skipBroken()` gives it up.
 */
export class RecordWalker {
  readonly cursor: RecordCursor;
  readonly #recycles: boolean;
  readonly #topic: string;
  readonly #partition: number;
  readonly #aborted = new AbortedTransactions();
  readonly #chunks: FetchedPartition[] = [];
  #chunk: FetchedPartition | null = null;
  #iterator: BatchIterator | null = null;
  #isOpen = false;
  /** Records below this delta of the open batch lie before the position. */
  #minDelta = 0;
  #openBatchRecords = 0;
  #openBatchNextOffset = 0n;
  /** The batch that could not be read: where the next one is, and how many records it had left. */
  #broken: {
    readonly error: DeserializationError;
    readonly resumeAt: bigint;
    readonly lostCount: number;
  } | null = null;
  #position: bigint;
  #bufferedBytes = 0;
  #unopenedRecords = 0;

  constructor(
    topic: string,
    partition: number,
    position: bigint,
    { maxDecompressedBytes, recycles = false }: RecordWalkerOptions = {},
  ) {
    this.#topic = topic;
    this.#partition = partition;
    this.#position = position;
    this.#recycles = recycles;
    this.cursor = new RecordCursor(
      maxDecompressedBytes === undefined ? {} : { maxDecompressedBytes },
    );
  }

  /** Offset after everything walked so far; empty and control batches count as walked. */
  get position(): bigint {
    return this.#position;
  }

  /** Raw bytes that wait, the chunk being walked included: its memory is held until its end. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** Records that wait, as the batch headers say. */
  get bufferedRecords(): number {
    const open = this.#isOpen ? this.#openBatchRecords - this.cursor.recordIndex - 1 : 0;
    return this.#unopenedRecords + Math.max(open, 0);
  }

  push(fetched: FetchedPartition): void {
    this.#chunks.push(fetched);
    this.#bufferedBytes += fetched.records.length;
    this.#unopenedRecords += countRecords(fetched.records);
  }

  /** Drops what waits, and goes on at another offset. */
  seek(position: bigint): void {
    this.#chunks.length = 0;
    this.#chunk = null;
    this.#iterator = null;
    this.#isOpen = false;
    this.#broken = null;
    this.#bufferedBytes = 0;
    this.#unopenedRecords = 0;
    this.#position = position;
  }

  /** Moves the cursor to the next record that a reader may see; false when nothing more waits. */
  next(): boolean {
    const cursor = this.cursor;
    for (;;) {
      if (this.#isOpen) {
        while (this.#nextInBatch()) {
          if (cursor.offsetDelta >= this.#minDelta) return true;
        }
        this.#isOpen = false;
        this.#position = this.#openBatchNextOffset;
      }
      if (!this.#openBatch()) return false;
    }
  }

  /** Gives up the batch that `next()` failed on; returns how many of its records were not handed out. */
  skipBroken(): number {
    const broken = this.#broken;
    if (broken === null) return 0;
    this.#broken = null;
    // Without a readable header the next batch cannot be found: the rest of the response is lost.
    if (this.#chunk !== null && broken.resumeAt === this.#chunk.nextOffset) this.#endChunk();
    if (broken.resumeAt > this.#position) this.#position = broken.resumeAt;
    return broken.lostCount;
  }

  #nextInBatch(): boolean {
    try {
      return this.cursor.next();
    } catch (error) {
      const lostCount = Math.max(this.#openBatchRecords - this.cursor.recordIndex - 1, 1);
      this.#isOpen = false;
      throw this.#fail(error, this.cursor.offset(), this.#openBatchNextOffset, lostCount);
    }
  }

  /** Opens the next data batch that a reader may see. */
  #openBatch(): boolean {
    if (this.#broken !== null) throw this.#broken.error;
    for (;;) {
      const chunk = this.#chunk ?? this.#nextChunk();
      if (chunk === null) return false;
      const batch = this.#nextBatch(chunk);
      if (batch === null) {
        this.#endChunk();
        continue;
      }
      this.#openBatchRecords = batch.recordCount;
      this.#openBatchNextOffset = batch.nextOffset;
      this.#unopenedRecords = Math.max(this.#unopenedRecords - batch.recordCount, 0);
      if (this.#isVisible(batch) && batch.recordCount > 0) {
        this.#open(batch);
        return true;
      }
      if (batch.nextOffset > this.#position) this.#position = batch.nextOffset;
    }
  }

  #nextChunk(): FetchedPartition | null {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return null;
    this.#chunk = chunk;
    this.#iterator = new BatchIterator(chunk.records);
    this.#aborted.reset(chunk.abortedTransactions);
    return chunk;
  }

  #endChunk(): void {
    const chunk = this.#chunk;
    if (chunk === null) return;
    if (this.#recycles) {
      this.cursor.close();
      chunk.memory?.release();
    }
    this.#chunk = null;
    this.#iterator = null;
    this.#bufferedBytes -= chunk.records.length;
    if (this.#chunks.length === 0) this.#unopenedRecords = 0;
    if (chunk.nextOffset > this.#position) this.#position = chunk.nextOffset;
  }

  #nextBatch(chunk: FetchedPartition): RecordBatch | null {
    try {
      return (this.#iterator as BatchIterator).next();
    } catch (error) {
      throw this.#fail(error, this.#position, chunk.nextOffset, 1);
    }
  }

  /** Control batches are never seen; what they end is noted. */
  #isVisible(batch: RecordBatch): boolean {
    const isHidden = this.#aborted.hides(batch);
    if (!batch.isControl) return !isHidden;
    if (isHidden) {
      this.#open(batch);
      this.#isOpen = false;
      if (this.cursor.next() && readControlRecord(this.cursor).type === 'abort') {
        this.#aborted.ended(batch.producerId);
      }
    }
    return false;
  }

  #open(batch: RecordBatch): void {
    const base = batch.baseOffset;
    this.#minDelta = base < this.#position ? Number(this.#position - base) : 0;
    try {
      batch.ensureValid();
      this.cursor.open(batch);
    } catch (error) {
      throw this.#fail(error, base, batch.nextOffset, Math.max(batch.recordCount, 1));
    }
    this.#isOpen = true;
  }

  #fail(cause: unknown, offset: bigint, resumeAt: bigint, lostCount: number): DeserializationError {
    const why = cause instanceof Error ? cause.message : String(cause);
    const topic = this.#topic;
    const partition = this.#partition;
    const error = new DeserializationError(
      `Cannot read the record batch of ${topic}-${String(partition)} at offset ${offset.toString()}: ${why}. ` +
        'Compare it with another replica, or skip it with deserialization.exception.handler=continue',
      { cause, context: { topic, partition, offset } },
    );
    this.#broken = { error, resumeAt, lostCount };
    return error;
  }
}
