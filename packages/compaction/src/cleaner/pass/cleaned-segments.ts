import type { RecordBatch } from '@millrace/protocol';
import {
  MAX_SEGMENT_BYTES,
  OFFSET_INDEX_ENTRY_BYTES,
  TIME_INDEX_ENTRY_BYTES,
} from '../../limits.ts';
import type { AbortedTransaction } from '../../segment/txn-index.ts';
import { CLEANED_SUFFIX, SEGMENT_SUFFIXES, segmentFilePath } from '../../segment/segment-files.ts';
import { Segment } from '../../segment/segment.ts';
import { OutputBuffer } from './output-buffer.ts';
import type { CleaningPass } from './pass.ts';

/**
 * What a group of segments becomes: one `.cleaned` segment, or more where the batches do not fit into
 * one. It may be larger than segment.bytes, as Kafka's: that only limits which sources are put
 * together. Another one begins where Kafka 4.4 fails: at what file positions can tell (KAFKA-20036:
 * compressing anew makes batches larger), at full indexes, which merged segments may need more of
 * than their sources, and at what relative offsets can tell (KAFKA-6264; Kafka splits the source).
 */
export class CleanedSegments {
  readonly baseOffsets: bigint[] = [];
  readonly output: OutputBuffer;
  readonly #pass: CleaningPass;
  #segment: Segment;
  #aborted: AbortedTransaction[] = [];
  #bufferedBatches = 0;

  /** `baseOffset`: of the first one, which is there even if nothing is committed. */
  constructor(pass: CleaningPass, baseOffset: bigint) {
    this.#pass = pass;
    this.output = new OutputBuffer(pass.ioBufferBytes);
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
    const isTooLarge = this.#segment.sizeBytes + output.length > MAX_SEGMENT_BYTES;
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

  /** Every batch in the buffer might become an entry: what counts is looked at once they are written. */
  #mayFillIndexes(): boolean {
    const { offsetIndex, timeIndex } = this.#segment;
    const { segmentIndexBytes } = this.#pass.task.settings;
    const count = this.#bufferedBatches;
    return (
      offsetIndex.isFull(segmentIndexBytes - count * OFFSET_INDEX_ENTRY_BYTES) ||
      timeIndex.isFull(segmentIndexBytes - count * TIME_INDEX_ENTRY_BYTES)
    );
  }

  /** Only `batch` is in the buffer. */
  #mustRoll(batch: RecordBatch): boolean {
    const segment = this.#segment;
    if (!segment.fits(batch.lastOffset)) return true;
    if (segment.sizeBytes === 0) return false;
    if (segment.sizeBytes + this.output.length > MAX_SEGMENT_BYTES) return true;
    const { settings } = this.#pass.task;
    return (
      segment.isIndexEntryDue(settings) &&
      (segment.offsetIndex.isFull(settings.segmentIndexBytes) ||
        segment.timeIndex.isFull(settings.segmentIndexBytes))
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
