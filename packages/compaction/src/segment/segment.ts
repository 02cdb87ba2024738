import { BatchIterator } from '@millrace/protocol';
import {
  CorruptBatchError,
  CorruptIndexError,
  LogDirError,
  SegmentOverflowError,
} from '../errors.ts';
import { MAX_RELATIVE_OFFSET, MAX_SEGMENT_BYTES, POSITION_HINTS_PER_SEGMENT } from '../limits.ts';
import type { Disk, DiskFile } from '../platform/disk.ts';
import { HeaderScanner } from './header-scanner.ts';
import { createEmptyIndex } from './index-file.ts';
import { OffsetIndex } from './offset-index.ts';
import { SEGMENT_SUFFIXES, segmentFilePath } from './segment-files.ts';
import type { SegmentState } from './segment-files.ts';
import { TimeIndex } from './time-index.ts';
import { TxnIndex } from './txn-index.ts';

const NO_TIMESTAMP = -1;

export interface SegmentSettings {
  readonly indexIntervalBytes: number;
}

/**
 * A run of batches in one `.log` file with its three indexes. Only the log's last segment is
 * appended to. The file is opened when first used; see `SegmentCache` for when it is closed again.
 */
export class Segment {
  readonly baseOffset: bigint;
  readonly directory: string;
  readonly offsetIndex: OffsetIndex;
  readonly timeIndex: TimeIndex;
  readonly txnIndex: TxnIndex;
  /** When this object came to be, epoch ms: what segment.ms counts from if no record has a time. */
  readonly createdMs: number;
  /** What this segment rolls earlier than segment.ms. */
  readonly rollJitterMs: number;

  readonly #disk: Disk;
  #path: string;
  #file: DiskFile | null = null;
  #sizeBytes: number;
  #bytesSinceIndexEntry = 0;
  #maxTimestamp: number | null = null;
  #offsetOfMaxTimestamp = -1n;
  /** undefined: not looked for yet; null: no batch yet. */
  #firstBatchTimestamp: number | null | undefined;
  #dataRecordCount = 0;
  /** What `#dataRecordCount` speaks for, bytes from the start. */
  #countedBytes = 0;
  /** Where a batch that starts at an offset lies; what readers and the writer saw last. */
  readonly #hintOffsets: bigint[] = [];
  readonly #hintPositions: number[] = [];
  #nextHint = 0;

  private constructor(
    disk: Disk,
    directory: string,
    baseOffset: bigint,
    sizes: { log: number; index: number; timeIndex: number },
    createdMs: number,
    rollJitterMs: number,
    state: SegmentState = '',
  ) {
    this.#disk = disk;
    this.directory = directory;
    this.baseOffset = baseOffset;
    this.createdMs = createdMs;
    this.rollJitterMs = rollJitterMs;
    const at = (suffix: string): string => segmentFilePath(directory, baseOffset, suffix + state);
    this.#path = at('.log');
    this.#sizeBytes = sizes.log;
    this.offsetIndex = new OffsetIndex(disk, at('.index'), baseOffset, sizes.index);
    this.timeIndex = new TimeIndex(disk, at('.timeindex'), baseOffset, sizes.timeIndex);
    this.txnIndex = new TxnIndex(disk, at('.txnindex'), baseOffset);
  }

  /**
   * Makes the files of an empty segment; what may be there under their names is emptied. With a
   * state, such as `.cleaned`, they are not the log's yet.
   */
  static create(
    disk: Disk,
    directory: string,
    baseOffset: bigint,
    nowMs: number,
    rollJitterMs: number,
    state: SegmentState = '',
  ): Segment {
    const at = (suffix: string): string => segmentFilePath(directory, baseOffset, suffix + state);
    try {
      for (const suffix of ['.log', '.index', '.timeindex']) createEmptyIndex(disk, at(suffix));
      disk.unlink(at('.txnindex'));
    } catch (error) {
      for (const suffix of SEGMENT_SUFFIXES) disk.unlink(at(suffix));
      throw error;
    }
    const segment = new Segment(
      disk,
      directory,
      baseOffset,
      { log: 0, index: 0, timeIndex: 0 },
      nowMs,
      rollJitterMs,
      state,
    );
    segment.#maxTimestamp = NO_TIMESTAMP;
    segment.#offsetOfMaxTimestamp = baseOffset;
    segment.#firstBatchTimestamp = null;
    return segment;
  }

  /**
   * Opens the files that are there. `withEmptyIndexes` leaves the indexes' content aside: it is
   * about to be rebuilt.
   *
   * @throws CorruptIndexError when an index file is missing or no whole number of entries.
   */
  static open(
    disk: Disk,
    directory: string,
    baseOffset: bigint,
    nowMs: number,
    rollJitterMs: number,
    withEmptyIndexes = false,
  ): Segment {
    const size = (suffix: string): number => {
      const path = segmentFilePath(directory, baseOffset, suffix);
      if (withEmptyIndexes) {
        createEmptyIndex(disk, path);
        return 0;
      }
      return disk.stat(path)?.sizeBytes ?? NaN;
    };
    const log = disk.stat(segmentFilePath(directory, baseOffset, '.log'))?.sizeBytes ?? 0;
    return new Segment(
      disk,
      directory,
      baseOffset,
      { log, index: size('.index'), timeIndex: size('.timeindex') },
      nowMs,
      rollJitterMs,
    );
  }

  /** The offset after the last batch of a segment file; its base when it holds none. */
  static nextOffsetOf(file: DiskFile, baseOffset: bigint): bigint {
    const scanner = new HeaderScanner(file, 0, file.sizeBytes());
    let next = baseOffset;
    while (scanner.next()) next = scanner.lastOffset + 1n;
    return next;
  }

  get path(): string {
    return this.#path;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get file(): DiskFile {
    this.#file ??= this.#disk.open(this.#path, 'readWrite');
    return this.#file;
  }

  get memoryBytes(): number {
    return this.offsetIndex.memoryBytes + this.timeIndex.memoryBytes;
  }

  /** Greatest record timestamp, epoch ms; -1: none. */
  get maxTimestamp(): number {
    this.#loadMaxTimestamp();
    return this.#maxTimestamp ?? NO_TIMESTAMP;
  }

  /** Last offset of the batch that holds `maxTimestamp`. */
  get offsetOfMaxTimestamp(): bigint {
    this.#loadMaxTimestamp();
    return this.#offsetOfMaxTimestamp;
  }

  #loadMaxTimestamp(): void {
    if (this.#maxTimestamp !== null) return;
    const last = this.timeIndex.last();
    this.#maxTimestamp = last.timestamp;
    this.#offsetOfMaxTimestamp = last.offset;
  }

  /** What retention and lags go by: the greatest record timestamp, or the file's own if none has one. */
  largestTimestamp(): number {
    const max = this.maxTimestamp;
    return max >= 0 ? max : this.modifiedMs();
  }

  modifiedMs(): number {
    return this.#disk.stat(this.#path)?.modifiedMs ?? this.createdMs;
  }

  /** Max timestamp of the first batch, which segment.ms counts from; null: empty. */
  firstBatchTimestamp(): number | null {
    if (this.#firstBatchTimestamp === undefined) {
      const scanner = this.scanFrom(0);
      this.#firstBatchTimestamp = scanner.next() ? scanner.maxTimestamp : null;
    }
    return this.#firstBatchTimestamp;
  }

  /** Whether `largestTimestamp` and `firstBatchTimestamp` need no look into a file. */
  get hasTimestamps(): boolean {
    return this.#maxTimestamp !== null && this.#firstBatchTimestamp !== undefined;
  }

  /** Records that are there, but for markers: what a lag in messages counts. */
  dataRecordCount(): number {
    this.countDataRecords(Infinity);
    return this.#dataRecordCount;
  }

  /**
   * Goes on counting for about so many bytes of the file; true once all are counted, which appends
   * then keep up to date.
   */
  countDataRecords(maxBytes: number): boolean {
    const start = this.#countedBytes;
    if (start === this.#sizeBytes) return true;
    const scanner = this.scanFrom(start);
    let position = start;
    while (position - start < maxBytes && scanner.next()) {
      if (!scanner.isControl) this.#dataRecordCount += scanner.recordCount;
      position = scanner.position + scanner.sizeBytes;
    }
    this.#countedBytes = position;
    return position === this.#sizeBytes;
  }

  /** Whether relative to the base the offset fits into 32 bits. */
  fits(offset: bigint): boolean {
    return offset >= this.baseOffset && offset - this.baseOffset <= MAX_RELATIVE_OFFSET;
  }

  /**
   * Writes whole batches at the end, in one write. On failure the segment is as it was; when even
   * that cannot be had, LogDirError.
   */
  append(records: Buffer, settings: SegmentSettings): void {
    const start = this.#sizeBytes;
    if (start + records.length > MAX_SEGMENT_BYTES) {
      throw new SegmentOverflowError(
        `${this.#path}: larger than ${String(MAX_SEGMENT_BYTES)} bytes`,
      );
    }
    this.#loadMaxTimestamp();
    try {
      this.file.write(records, start);
    } catch (error) {
      this.#undoAppend(error);
      throw error;
    }
    this.#sizeBytes = start + records.length;
    const isCounted = this.#countedBytes === start;
    if (isCounted) this.#countedBytes = this.#sizeBytes;
    const isFirst = start === 0;
    let largest = NO_TIMESTAMP;
    const batches = new BatchIterator(records);
    for (let batch = batches.next(); batch; batch = batches.next()) {
      const position = start + batch.position;
      const lastOffset = batch.lastOffset;
      largest = Math.max(largest, batch.maxTimestamp);
      if (isCounted && !batch.isControl) this.#dataRecordCount += batch.recordCount;
      this.#indexBatch(position, lastOffset, batch.maxTimestamp, settings);
      this.#bytesSinceIndexEntry += batch.sizeInBytes;
      this.rememberPosition(batch.baseOffset, position);
      this.rememberPosition(lastOffset + 1n, position + batch.sizeInBytes);
    }
    if (isFirst) this.#firstBatchTimestamp = largest;
  }

  /** Whether the next batch gets entries in the indexes. */
  isIndexEntryDue(settings: SegmentSettings): boolean {
    return this.#bytesSinceIndexEntry > settings.indexIntervalBytes;
  }

  /** Entries for a batch about to follow: the convention of LogSegment since Kafka 4.1. */
  #indexBatch(
    position: number,
    lastOffset: bigint,
    maxTimestamp: number,
    settings: SegmentSettings,
  ): void {
    if (maxTimestamp > (this.#maxTimestamp ?? NO_TIMESTAMP)) {
      this.#maxTimestamp = maxTimestamp;
      this.#offsetOfMaxTimestamp = lastOffset;
    }
    if (!this.isIndexEntryDue(settings)) return;
    this.offsetIndex.append(lastOffset, position);
    this.timeIndex.maybeAppend(this.#maxTimestamp ?? NO_TIMESTAMP, this.#offsetOfMaxTimestamp);
    this.#bytesSinceIndexEntry = 0;
  }

  #undoAppend(cause: unknown): void {
    try {
      this.file.truncate(this.#sizeBytes);
    } catch (error) {
      throw new LogDirError(
        `${this.#path}: a write at byte ${String(this.#sizeBytes)} failed and could not be taken back ` +
          `(${error instanceof Error ? error.message : String(error)}); close the directory and open it again`,
        { cause },
      );
    }
  }

  /** Recovery: starts the indexes anew. */
  resetIndexes(): void {
    this.offsetIndex.truncateEntries(0);
    this.timeIndex.truncateEntries(0);
    this.txnIndex.reset();
    this.#maxTimestamp = NO_TIMESTAMP;
    this.#offsetOfMaxTimestamp = this.baseOffset;
    this.#bytesSinceIndexEntry = 0;
    this.#firstBatchTimestamp = undefined;
  }

  /** Recovery: counts a batch that is there, as `append` does. */
  recoverBatch(
    position: number,
    sizeBytes: number,
    lastOffset: bigint,
    maxTimestamp: number,
    settings: SegmentSettings,
  ): void {
    this.#indexBatch(position, lastOffset, maxTimestamp, settings);
    this.#bytesSinceIndexEntry += sizeBytes;
  }

  /** Cuts the log file; the caller has the indexes agree. */
  truncateLog(sizeBytes: number): void {
    this.#hintOffsets.length = 0;
    this.#hintPositions.length = 0;
    this.#nextHint = 0;
    if (sizeBytes >= this.#sizeBytes) return;
    this.file.truncate(sizeBytes);
    this.#sizeBytes = sizeBytes;
    this.#dataRecordCount = 0;
    this.#countedBytes = 0;
  }

  /** The last time index entry; then this segment is complete. */
  becomeInactive(): void {
    this.timeIndex.maybeAppend(this.maxTimestamp, this.offsetOfMaxTimestamp);
  }

  /** Reads all three and throws CorruptIndexError where one contradicts itself or the log. */
  verifyIndexes(): void {
    this.offsetIndex.verify();
    this.timeIndex.verify();
    this.txnIndex.entries();
    if (this.offsetIndex.entryCount > 0 && this.offsetIndex.lastPosition() >= this.#sizeBytes) {
      throw new CorruptIndexError(
        `${this.offsetIndex.path}: points at byte ${String(this.offsetIndex.lastPosition())}, ` +
          `behind the end of its log`,
      );
    }
  }

  persistIndexes(): void {
    this.offsetIndex.persist();
    this.timeIndex.persist();
    this.txnIndex.persist();
  }

  /**
   * Everything so far reaches the medium: the log first, so that no index is ahead of it.
   * `isStillThere` is asked after each wait: the files may have been removed meanwhile.
   */
  async sync(isStillThere: () => boolean): Promise<void> {
    this.persistIndexes();
    await this.file.sync();
    for (const index of [this.offsetIndex, this.timeIndex, this.txnIndex]) {
      if (!isStillThere()) return;
      await index.sync();
    }
  }

  /** A walk over batch headers from a batch's position. */
  scanFrom(position: number, end = this.#sizeBytes): HeaderScanner {
    return new HeaderScanner(this.file, position, end);
  }

  /**
   * Position of the first batch whose last offset is at least `offset`; the segment's size when
   * there is none.
   */
  positionOf(offset: bigint): number {
    if (offset <= this.baseOffset) return 0;
    const hint = this.#hintOffsets.indexOf(offset);
    if (hint >= 0) return this.#hintPositions[hint] as number;
    const scanner = this.scanFrom(this.offsetIndex.lookup(offset));
    while (scanner.next()) {
      if (scanner.lastOffset >= offset) return scanner.position;
    }
    return this.#sizeBytes;
  }

  /** The offset after the last batch; the base when there is none. */
  readNextOffset(): bigint {
    const scanner = this.scanFrom(this.offsetIndex.lastPosition());
    let next = this.baseOffset;
    while (scanner.next()) next = scanner.lastOffset + 1n;
    return next;
  }

  /** `position` holds the first batch with last offset >= `offset`, or is the end. */
  rememberPosition(offset: bigint, position: number): void {
    const known = this.#hintOffsets.indexOf(offset);
    const slot = known >= 0 ? known : this.#nextHint;
    if (known < 0) this.#nextHint = (this.#nextHint + 1) % POSITION_HINTS_PER_SEGMENT;
    this.#hintOffsets[slot] = offset;
    this.#hintPositions[slot] = position;
  }

  /** Up to `length` bytes from `position`, in a buffer of their own. */
  readBytes(position: number, length: number): Buffer {
    const target = Buffer.allocUnsafe(length);
    const count = this.file.read(target, 0, length, position);
    if (count === length) return target;
    throw new CorruptBatchError(
      `${this.#path} at byte ${String(position)}: ${String(length)} bytes expected, ${String(count)} found`,
    );
  }

  /** Closes the file and lets the indexes go; the next use brings them back. */
  release(): void {
    this.persistIndexes();
    this.offsetIndex.release();
    this.timeIndex.release();
    this.txnIndex.release();
    this.closeFile();
  }

  closeFile(): void {
    this.#file?.close();
    this.#file = null;
  }

  /**
   * Renames all files of the segment by adding a suffix, the log last: as long as it is there, a
   * crash leaves a segment whose indexes can be rebuilt. What isn't there is skipped.
   */
  renameWithSuffix(added: string): string[] {
    this.closeFile();
    const renamed: string[] = [];
    for (const suffix of SEGMENT_SUFFIXES.toReversed()) {
      const from = segmentFilePath(this.directory, this.baseOffset, suffix);
      if (!this.#disk.stat(from)) continue;
      this.#disk.rename(from, from + added);
      renamed.push(from + added);
    }
    this.#path += added;
    return renamed;
  }
}
