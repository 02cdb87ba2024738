import type { RecordBatch } from '@millrace/protocol';
import { CorruptBatchError } from '../../errors.ts';
import { toLogError } from '../../log/validate.ts';
import type { Disk, DiskFile } from '../../platform/disk.ts';
import { BatchReader } from '../../segment/batch-reader.ts';
import { segmentFilePath } from '../../segment/segment-files.ts';
import type { CleaningControl, SourceSegment } from '../cleaning-task.ts';

/**
 * Reads a source segment batch by batch, held back and stopped by `control` after each buffer of it.
 * Whatever is wrong with a batch is thrown as CorruptBatchError with file and position.
 */
export class SourceReader {
  /** Of the batches that were returned. */
  bytesRead = 0;
  readonly #file: DiskFile;
  readonly #reader: BatchReader;
  readonly #control: CleaningControl;
  readonly #bufferBytes: number;
  readonly #endOffset: bigint;
  #nextOffset: bigint;
  /** Where in the segment the batch begins that was returned last, or stepped over. */
  batchPosition = 0;
  #unaccountedBytes = 0;

  constructor(
    disk: Disk,
    directory: string,
    segment: SourceSegment,
    start: number,
    bufferBytes: number,
    control: CleaningControl,
  ) {
    control.ensureWanted();
    this.#file = disk.open(segmentFilePath(directory, segment.baseOffset, '.log'), 'read');
    this.#reader = new BatchReader(this.#file, start, segment.sizeBytes, bufferBytes);
    this.#nextOffset = segment.baseOffset;
    this.#endOffset = segment.endOffset;
    this.#control = control;
    this.#bufferBytes = bufferBytes;
  }

  /** The next batch, in a reused view; null at the end. */
  next(): RecordBatch | null {
    this.batchPosition = this.#reader.position;
    const batch = this.#reader.next();
    const bytes = this.#reader.position - this.batchPosition;
    this.bytesRead += bytes;
    this.#unaccountedBytes += bytes;
    if (this.#unaccountedBytes >= this.#bufferBytes || batch === null) {
      this.#control.ensureWanted();
      this.#control.throttle(this.#unaccountedBytes);
      this.#unaccountedBytes = 0;
    }
    if (batch !== null) this.#ensureInOrder(batch);
    return batch;
  }

  /** Where the next batch begins. */
  get position(): number {
    return this.#reader.position;
  }

  /** Over a batch whose header is known, without reading it. */
  stepOver(batch: RecordBatch): void {
    this.#control.ensureWanted();
    this.batchPosition = this.#reader.position;
    this.#reader.stepOver(batch.sizeInBytes);
    this.bytesRead += batch.sizeInBytes;
    this.#ensureInOrder(batch);
  }

  /** Reads the batch, after all, that was stepped over last, to target[start...]. */
  readTo(batch: RecordBatch, target: Buffer, start: number): void {
    const { sizeInBytes } = batch;
    this.#control.throttle(sizeInBytes);
    const length = this.#file.read(target, start, sizeInBytes, this.batchPosition);
    if (length < sizeInBytes) {
      throw this.corrupt(`the file ends ${String(sizeInBytes - length)} bytes early`);
    }
  }

  /** Offsets are outside of the CRC, and they decide which record is a key's latest. */
  #ensureInOrder(batch: RecordBatch): void {
    const { baseOffset, nextOffset } = batch;
    if (baseOffset < this.#nextOffset || nextOffset > this.#endOffset) {
      throw this.corrupt(
        `offsets ${String(baseOffset)} to ${String(nextOffset - 1n)} where ${String(this.#nextOffset)} ` +
          `to ${String(this.#endOffset - 1n)} are expected`,
      );
    }
    this.#nextOffset = nextOffset;
  }

  /** A damaged batch must neither decide about others nor get a new CRC. */
  ensureValid(batch: RecordBatch): void {
    if (!batch.isValid()) throw this.corrupt('the stored CRC is not that of its bytes');
  }

  /** What to throw of the batch that was returned last. */
  toError(error: unknown): unknown {
    return toLogError(error, this.#place());
  }

  corrupt(what: string): CorruptBatchError {
    return new CorruptBatchError(`${this.#place()}: ${what}`);
  }

  #place(): string {
    return `${this.#file.path} at byte ${String(this.batchPosition)}`;
  }

  close(): void {
    this.#file.close();
  }
}
