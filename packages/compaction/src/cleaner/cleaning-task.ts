import type { AbortedTransaction } from '../segment/txn-index.ts';

/** A segment that is to be read. */
export interface SourceSegment {
  readonly baseOffset: bigint;
  /** Where the next segment begins. */
  readonly endOffset: bigint;
  readonly sizeBytes: number;
  readonly offsetIndexBytes: number;
  readonly timeIndexBytes: number;
  /** Epoch ms; the cleaned segment gets that of its last source. */
  readonly modifiedMs: number;
}

/** How a producer's last appended batch is known: its last offset or, of a marker, the epoch. */
export interface LastOfProducer {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** -1: it has only a marker. */
  readonly lastDataOffset: bigint;
}

/** Of a log's settings those that a pass goes by. */
export interface CleaningSettings {
  readonly segmentBytes: number;
  readonly segmentIndexBytes: number;
  /** Segments that may become one; Infinity: any number, as in Kafka. */
  readonly maxGroupSegments: number;
  readonly indexIntervalBytes: number;
  readonly deleteRetentionMs: number;
  readonly maxDecompressedMessageBytes: number;
}

/**
 * All that a pass over one log has to know, as plain values: the log's owner makes it, and whoever
 * has it needs nothing else but the segment files, which nobody changes. So a pass can run anywhere.
 */
export interface CleaningTask {
  /** `topic-partition`, for messages. */
  readonly name: string;
  readonly directory: string;
  readonly settings: CleaningSettings;
  /** From the log's first segment to the last below `firstUncleanableOffset`. */
  readonly segments: readonly SourceSegment[];
  readonly logStartOffset: bigint;
  readonly firstDirtyOffset: bigint;
  /** A batch at or before the one that holds `firstDirtyOffset`, in its segment's file. */
  readonly firstDirtyPosition: number;
  /** A segment's base, or where the active one begins. */
  readonly firstUncleanableOffset: bigint;
  readonly highWatermark: bigint;
  /** The pass's time, epoch ms: horizons are set and judged by it. */
  readonly nowMs: number;
  /** Of the whole log, in marker order. */
  readonly abortedTransactions: readonly AbortedTransaction[];
  readonly producers: readonly LastOfProducer[];
}

/** What a pass has written in place of some segments, still under the name of `.cleaned`. */
export interface CleanedGroup {
  /** Base offsets, rising; neighbours in the log. */
  readonly sources: readonly bigint[];
  /** Base offsets, rising; more than one where a single segment could not hold it. */
  readonly cleaned: readonly bigint[];
  /** Epoch ms: what the cleaned files are to be dated. */
  readonly modifiedMs: number;
}

export interface CleaningStats {
  /** Read for the offset map. */
  mapBytesRead: number;
  mapRecordsRead: number;
  /** Of the offset map's slots: 0 to 1. */
  mapUtilization: number;
  bytesRead: number;
  recordsRead: number;
  bytesWritten: number;
  recordsWritten: number;
  /** Batches that were taken over as they are, bytes. */
  bytesCopied: number;
  /** Records without a key, which a compacted log should not have. */
  invalidRecordsRead: number;
  /** ms of the first phase, and of the second. */
  mapMs: number;
  cleanMs: number;
}

export interface CleaningReport {
  /** Where the next pass begins: what the cleaner checkpoint is to say. */
  readonly nextFirstDirtyOffset: bigint;
  readonly stats: CleaningStats;
}

/** How a pass is held back and stopped from outside, between one chunk and the next. */
export interface CleaningControl {
  /** Throws CleaningAbortedError when the pass is to end. */
  ensureWanted(): void;
  /** Waits as long as reading or writing so many bytes should have taken. */
  throttle(bytes: number): void;
}
