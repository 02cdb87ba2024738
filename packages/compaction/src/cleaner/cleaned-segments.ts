import type { RecordBatch } from '@millrace/protocol';
import { MAX_SEGMENT_BYTES, OFFSET_INDEX_ENTRY_BYTES, TIME_INDEX_ENTRY_BYTES } from '../limits.ts';
import type { AbortedTransaction } from '../segment/txn-index.ts';
import { CLEANED_SUFFIX, SEGMENT_SUFFIXES, segmentFilePath } from '../segment/segment-files.ts';
import { Segment } from '../segment/segment.ts';
import { OutputBuffer } from './output-buffer.ts';
import type { CleaningPass } from './pass.ts';

/**
 * What a group of segments becomes: one `.cleaned` segment, or more where the batches do not fit into
 * one. That takes the place of splitting sources whose offsets reach too far: it is the output that
 * is split (KAFKA-6264), as it is when compressing anew makes it larger than a segment may be
 * (KAFKA-20036).
 */
export class CleanedSegments {
  readonly baseOffsets: bigint[] = [];
  readonly output: OutputBuffer;
  readonly #pass: CleaningPass;
  readonly #maxBytes: number;
  readonly #maxIndexEntries: number;
  #segment: Segment;
  #aborted: AbortedTransaction[] = [];
  #bufferedBatches = 0;

  /** `maxBytes`: what the sources have, if that is more than segment.bytes. */
  constructor(pass: CleaningPass, baseOffset: bigint, sourceBytes: number) {
    const { segmentBytes, segmentIndexBytes } = pass.task.settings;
    this.#pass = pass;
    this.output = new OutputBuffer(pass.ioBufferBytes);
    this.#maxBytes = Math.min(Math.max(segmentBytes, sourceBytes), MAX_SEGMENT_BYTES);
    this.#maxIndexEntries = Math.min(
      Math.floor(segmentIndexBytes / OFFSET_INDEX_ENTRY_BYTES),
      Math.floor(segmentIndexBytes / TIME_INDEX_ENTRY_BYTES) - 1,
    );
    this.#segment = this.#create(baseOffset);
  }

  #create(baseOffset: bigint): Segment {
    const { disk, task } = this.#pass;
    this.baseOffsets.push(baseOffset);
    return Segment.create(disk, task.directory, baseOffset, task.nowMs, 0, CLEANED_SUFFIX);
  }

  /** The output ends with what has become of `batch`, which began at `start` there. */
  commit(batch: RecordBatch, start: number, aborted: AbortedTransaction | null): void {
    const { output } = this;
    const isTooLarge = this.#segment.sizeBytes + output.length > this.#maxBytes;
    if (isTooLarge || !this.#segment.fits(batch.lastOffset) || this.#mayFillIndexes()) {
      this.#flush(start);
      if (this.#mustRoll(batch)) {
        this.#finish();
        this.#segment = this.#create(batch.baseOffset);
      }
    }
    this.#bufferedBatches++;
    if (aborted) this.#aborted.push(aborted);
    if (output.isFull) this.#flush(output.length);
  }

  /** Every batch might become an entry: what counts is looked at once they are written. */
  #mayFillIndexes(): boolean {
    const entries = this.#segment.offsetIndex.entryCount + this.#bufferedBatches;
    return entries >= this.#maxIndexEntries;
  }

  #mustRoll(batch: RecordBatch): boolean {
    const segment = this.#segment;
    if (!segment.fits(batch.lastOffset)) return true;
    if (segment.sizeBytes === 0) return false;
    return (
      segment.sizeBytes + this.output.length > this.#maxBytes ||
      segment.offsetIndex.entryCount >= this.#maxIndexEntries
    );
  }

  #flush(length: number): void {
    if (length === 0) return;
    const { task, control } = this.#pass;
    this.#segment.append(this.output.bytes.subarray(0, length), task.settings);
    this.output.consume(length);
    this.#bufferedBatches = 0;
    control.throttle(length);
  }

  #finish(): void {
    const segment = this.#segment;
    if (this.#aborted.length > 0) segment.txnIndex.appendAll(this.#aborted);
    this.#aborted = [];
    segment.becomeInactive();
    segment.persistIndexes();
    segment.closeFile();
  }

  /** All is written; nothing is synced. */
  close(): void {
    this.#flush(this.output.length);
    this.#finish();
  }

  /** Nothing of it stays. */
  discard(): void {
    this.#segment.closeFile();
    removeCleaned(this.#pass.disk, this.#pass.task.directory, this.baseOffsets);
  }
}

/** Removes `.cleaned` files that nothing will come of. */
export function removeCleaned(
  disk: CleaningPass['disk'],
  directory: string,
  baseOffsets: readonly bigint[],
): void {
  for (const baseOffset of baseOffsets) {
    for (const suffix of SEGMENT_SUFFIXES) {
      disk.unlink(segmentFilePath(directory, baseOffset, suffix + CLEANED_SUFFIX));
    }
  }
}
