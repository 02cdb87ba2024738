/** One question to a cleaner, in the words of the log oracle (test/support/oracle), without `dir`. */
export interface CleaningRequest {
  readonly cmd: 'clean' | 'cleanable';
  readonly config?: Readonly<Record<string, string | number>>;
  readonly nowMs: number;
  readonly logStartOffset?: number;
  readonly highWatermark?: number;
  readonly producerIdExpirationMs?: number;
  /** Of `cleanable`. */
  readonly checkpoint?: number;
  /** Of `clean`, and so are all that follow. */
  readonly firstDirtyOffset?: number;
  readonly uncleanableOffset?: number;
  readonly dedupeBufferBytes?: number;
  readonly loadFactor?: number;
  readonly ioBufferBytes?: number;
}

export interface DumpedBatch {
  readonly position: number;
  readonly size: number;
  readonly baseOffset: number;
  readonly count: number;
  readonly crc: number;
  readonly codec: string;
  readonly [field: string]: unknown;
}

export interface DumpedSegment {
  readonly base: number;
  readonly size: number;
  readonly batches: readonly DumpedBatch[];
  readonly abortedTxns: readonly object[];
}

interface CleanStats {
  readonly mapMessagesRead: number;
  readonly messagesRead: number;
  readonly messagesWritten: number;
  readonly invalidMessagesRead: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly mapUtilization: number;
}

export interface SegmentState {
  readonly base: number;
  readonly size: number;
}

export interface CleaningAnswer {
  readonly firstDirtyOffset: number;
  readonly firstUncleanableOffset: number;
  readonly state: {
    readonly logStartOffset: number;
    readonly segments: readonly SegmentState[];
  };
  /** Of `clean`, and so are the next two. */
  readonly nextFirstDirtyOffset?: number;
  readonly stats?: CleanStats;
  readonly survivors?: readonly DumpedSegment[];
  /** Of `cleanable`, and so are all that follow; null: there is nothing to clean or cleaned. */
  readonly dirtyRatio?: number | null;
  readonly cleanBytes?: number;
  readonly cleanableBytes?: number;
  readonly totalBytes?: number;
  readonly maxCompactionDelayMs?: number;
  readonly needCompactionNow?: boolean;
  readonly selected?: boolean;
  readonly checkpointAfter?: number | null;
}
