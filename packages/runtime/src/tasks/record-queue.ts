import type { RecordHeaders } from '@millrace/protocol';
import type { FetchedPartition } from '../client/ports.ts';
import {
  DeserializationError,
  InvalidTimestampError,
  ProcessingError,
  reasonOf,
  StreamsError,
} from '../errors.ts';
import type { WindowedValues } from '../metrics/windows.ts';
import { isPromise, type Awaitable, type Outcome } from '../operators/outcome.ts';
import { RecordWalker } from '../records/record-walker.ts';
import { forTopic } from '../serdes/custom-serde.ts';
import { isDetached, type RecordSerde } from '../serdes/serde.ts';
import type { SourceNode, TimestampExtractor } from '../topology/built-topology.ts';
import { ExtractedHead } from './extracted-head.ts';
import type { StreamTime } from './stream-time.ts';

/** What a queue does with a record that it cannot hand out. */
export interface RecordFailures {
  /** The handler's word on the head, or on a batch that cannot be read at all (`hasRecord` false). */
  undecodable(
    error: DeserializationError,
    queue: RecordQueue,
    hasRecord: boolean,
  ): 'fail' | 'continue';
  /** A negative timestamp from a user's extractor: dropped, its offset still counts. */
  invalidTimestamp(queue: RecordQueue, timestamp: number): void;
}

/**
 * The buffered records of one input partition of a task. Raw batches wait in arrival order; only the
 * head record is decoded, once. It stays the head until it has been processed, so its offset is what
 * a commit in between would write.
 */
export class RecordQueue {
  static #headCount = 0;

  readonly topic: string;
  readonly partition: number;
  readonly source: SourceNode;
  readonly #walker: RecordWalker;
  readonly #extractor: TimestampExtractor | null;
  readonly #failures: RecordFailures;
  readonly #streamTime: StreamTime;
  readonly #keySerde: RecordSerde<unknown>;
  readonly #valueSerde: RecordSerde<unknown>;
  readonly #lateness: WindowedValues | null;

  /** Records that the source took, and the bytes of their keys, values and headers. */
  consumedRecords = 0;
  consumedBytes = 0;
  /** Whether a head is there; `headTimestamp` means nothing without one. */
  hasHead = false;
  headTimestamp = -1;
  /** Grows with every head of any queue: which one came first. */
  headOrder = -1;
  /** The group's note: `headOrder` of the head that it knows of, -1 if it knows of none. */
  offeredOrder = -1;
  /** Highest timestamp taken from this partition, epoch ms; -1 none. Goes into the commit's metadata. */
  partitionTime: number;
  /** A timestamp extractor has not answered yet: the next head's time is not known. Never rejects. */
  extraction: Promise<void> | null = null;
  readonly #onExtracted: (error: Error | null) => void;
  /** Counts moves, so that an answer that comes after one is not taken for the head's. */
  #generation = 0;
  /** The head as it was read already, because a timestamp extractor had to see it. */
  readonly #extracted: ExtractedHead;
  /** End of the partition as the last response told it; null before the first. */
  #endOffset: bigint | null = null;
  #fetchPosition: bigint;

  constructor(options: {
    readonly topic: string;
    readonly partition: number;
    readonly source: SourceNode;
    readonly position: bigint;
    readonly partitionTime: number;
    readonly streamTime: StreamTime;
    readonly failures: RecordFailures;
    /** Wall-clock time, for timestamp extractors. */
    readonly now: () => number;
    /** An asynchronous timestamp extractor has answered, or failed with this error. */
    readonly onExtracted?: (error: Error | null) => void;
    readonly maxDecompressedBytes?: number;
    /** Takes how far each record lies behind stream time, ms. */
    readonly lateness?: WindowedValues | null;
  }) {
    this.topic = options.topic;
    this.partition = options.partition;
    this.source = options.source;
    this.partitionTime = options.partitionTime;
    this.#failures = options.failures;
    this.#streamTime = options.streamTime;
    this.#lateness = options.lateness ?? null;
    this.#extractor = options.source.timestampExtractor;
    this.#keySerde = forTopic(options.source.keySerde, options.topic);
    this.#valueSerde = forTopic(options.source.valueSerde, options.topic);
    this.#fetchPosition = options.position;
    this.#walker = new RecordWalker(options.topic, options.partition, options.position, {
      maxDecompressedBytes: options.maxDecompressedBytes,
      recycles: isDetached(this.#keySerde) && isDetached(this.#valueSerde),
    });
    this.#onExtracted = options.onExtracted ?? ignore;
    this.#extracted = new ExtractedHead(this, this.#walker.cursor, options.now);
  }

  get bufferedBytes(): number {
    return this.#walker.bufferedBytes;
  }

  get bufferedRecords(): number {
    return this.#walker.bufferedRecords + (this.#hasRecord ? 1 : 0);
  }

  /** What a commit writes: the head's offset, or without one the position after everything walked. */
  get committableOffset(): bigint {
    return this.#hasRecord ? this.#walker.cursor.offset() : this.#walker.position;
  }

  get #isExtracting(): boolean {
    return this.extraction !== null;
  }

  /** Whether the record under the cursor still waits, be its time known or not. */
  get #hasRecord(): boolean {
    return this.hasHead || this.#isExtracting;
  }

  /** The head's offset in two parts, neither of which has to be made. */
  get headBaseOffset(): bigint {
    return this.#walker.cursor.baseOffset;
  }

  get headOffsetDelta(): number {
    return this.#walker.cursor.offsetDelta;
  }

  /** Offset of the head, made when asked for. */
  headOffset(): bigint {
    return this.#walker.cursor.offset();
  }

  /**
   * How far what was fetched lies behind the partition's end; null while no response has told. A
   * partition that is still to be fetched from must not be taken for an idle one (KIP-695).
   */
  get fetchedLag(): bigint | null {
    if (this.#endOffset === null) return null;
    const lag = this.#endOffset - this.#fetchPosition;
    return lag > 0n ? lag : 0n;
  }

  /** The end as looked up when the task starts, so that an empty partition needs no response to be known as empty. */
  learnEndOffset(endOffset: bigint): void {
    this.#endOffset ??= endOffset;
  }

  /** Takes a response; `endOffset` is the last stable offset under read_committed. */
  push(fetched: FetchedPartition, endOffset: bigint): void {
    this.#endOffset = endOffset;
    this.#fetchPosition = fetched.nextOffset;
    this.#walker.push(fetched);
    if (!this.#hasRecord) this.advance();
  }

  /**
   * The position was out of range, and the reset policy chose another one. If that is a later one,
   * retention has only been faster, and what was fetched before is processed still; behind an earlier one
   * the log is another than it was.
   */
  reset(position: bigint): void {
    if (position < this.#fetchPosition || this.bufferedBytes === 0) {
      this.seek(position);
      return;
    }
    this.#fetchPosition = position;
    this.#endOffset = null;
  }

  /** Drops what waits, and goes on elsewhere. */
  seek(position: bigint): void {
    this.#fetchPosition = position;
    this.#endOffset = null;
    this.#walker.seek(position);
    this.hasHead = false;
    this.extraction = null;
    this.#generation++;
  }

  /**
   * Hands the head to the source node. It stays the head; `advance()` takes it away when it is done,
   * which for a promise is later. Returns null when the record was dropped by the handler's word.
   */
  processHead(): Outcome | null {
    const cursor = this.#walker.cursor;
    const timestamp = this.headTimestamp;
    let key: unknown;
    let value: unknown;
    let headers: RecordHeaders | null;
    if (this.#extractor === null) {
      headers = cursor.nullableHeaders();
      try {
        key =
          cursor.keyStart < 0
            ? null
            : this.#keySerde.read(cursor.buffer, cursor.keyStart, cursor.keyEnd, headers);
        value =
          cursor.valueStart < 0
            ? null
            : this.#valueSerde.read(cursor.buffer, cursor.valueStart, cursor.valueEnd, headers);
      } catch (error) {
        this.#undecodable(error);
        return null;
      }
    } else {
      ({ key, value, headers } = this.#extracted);
    }
    if (timestamp > this.partitionTime) {
      this.partitionTime = timestamp;
      this.#streamTime.advance(timestamp);
    }
    this.consumedRecords++;
    this.consumedBytes +=
      cursor.keyEnd - cursor.keyStart + cursor.valueEnd - cursor.valueStart + cursor.headerBytes;
    this.source.entry.times?.add(timestamp);
    if (this.#lateness !== null) this.#lateness.record(this.#streamTime.current - timestamp);
    return this.source.process(key, value, null, timestamp, headers);
  }

  /** Moves to the next record that has a valid time; without one the queue is empty. */
  advance(): void {
    this.hasHead = false;
    while (this.#nextRecord()) {
      if (this.#extractor === null) {
        const timestamp = this.#walker.cursor.timestamp;
        if (timestamp < 0) throw this.#negativeTimestamp(timestamp);
        this.#foundHead(timestamp);
        return;
      }
      if (!this.#readHead()) continue;
      const timestamp = this.#callExtractor(this.#extractor);
      if (isPromise(timestamp)) {
        this.#extractLater(timestamp);
        return;
      }
      if (this.#accept(timestamp)) return;
    }
  }

  #foundHead(timestamp: number): void {
    this.headTimestamp = timestamp;
    this.headOrder = RecordQueue.#headCount++;
    this.hasHead = true;
  }

  #nextRecord(): boolean {
    for (;;) {
      try {
        return this.#walker.next();
      } catch (error) {
        if (!(error instanceof DeserializationError)) throw error;
        if (this.#failures.undecodable(error, this, false) === 'fail') throw error;
        this.#walker.skipBroken();
      }
    }
  }

  #readHead(): boolean {
    const cursor = this.#walker.cursor;
    const headers = cursor.nullableHeaders();
    const head = this.#extracted;
    head.headers = headers;
    try {
      head.key =
        cursor.keyStart < 0
          ? null
          : this.#keySerde.read(cursor.buffer, cursor.keyStart, cursor.keyEnd, headers);
      head.value =
        cursor.valueStart < 0
          ? null
          : this.#valueSerde.read(cursor.buffer, cursor.valueStart, cursor.valueEnd, headers);
    } catch (error) {
      this.#undecodable(error);
      return false;
    }
    return true;
  }

  /** True if the head has a valid time now. */
  #accept(timestamp: number): boolean {
    if (!Number.isSafeInteger(timestamp)) {
      throw this.#processingError(
        `The timestamp extractor returned ${String(timestamp)}, which is no whole number of milliseconds, for`,
        undefined,
      );
    }
    if (timestamp < 0) {
      this.#failures.invalidTimestamp(this, timestamp);
      return false;
    }
    this.#foundHead(timestamp);
    return true;
  }

  #extractLater(pending: PromiseLike<number>): void {
    const generation = ++this.#generation;
    this.extraction = this.#awaitExtraction(pending, generation);
  }

  async #awaitExtraction(pending: PromiseLike<number>, generation: number): Promise<void> {
    let failure: Error | null = null;
    try {
      const timestamp = await pending;
      if (generation !== this.#generation) return;
      this.extraction = null;
      if (!this.#accept(timestamp)) this.advance();
    } catch (error) {
      if (generation !== this.#generation) return;
      this.extraction = null;
      failure = this.#extractorFailed(error);
    }
    // Without a time, the next record is asked about.
    if (!this.#isExtracting) this.#onExtracted(failure);
  }

  #extractorFailed(error: unknown): Error {
    if (error instanceof StreamsError) return error;
    return this.#processingError('The timestamp extractor failed on', error);
  }

  #callExtractor(extractor: TimestampExtractor): Awaitable<number> {
    try {
      return extractor(this.#extracted, this.partitionTime);
    } catch (error) {
      throw this.#extractorFailed(error);
    }
  }

  #negativeTimestamp(timestamp: number): InvalidTimestampError {
    const { topic, partition } = this;
    const offset = this.headOffset();
    return new InvalidTimestampError(
      `The record of ${topic}-${String(partition)} at offset ${String(offset)} has the negative timestamp ${String(timestamp)}, ` +
        'which the default extractor does not accept. Give its source an extractor that chooses another time, ' +
        'or one that drops the record, such as logAndSkipOnInvalidTimestamp.',
      { context: { topic, partition, offset, node: this.source.name } },
    );
  }

  #processingError(what: string, cause: unknown): ProcessingError {
    const { topic, partition } = this;
    const offset = this.headOffset();
    const why = cause === undefined ? '' : `: ${reasonOf(cause)}`;
    return new ProcessingError(
      `${what} the record of ${topic}-${String(partition)} at offset ${offset.toString()}${why}`,
      { cause, context: { topic, partition, offset, node: this.source.name } },
    );
  }

  #undecodable(cause: unknown): void {
    const { topic, partition } = this;
    const offset = this.headOffset();
    const serdes = `${this.source.keySerde.name}/${this.source.valueSerde.name}`;
    const error = new DeserializationError(
      `Cannot deserialize the record of ${topic}-${String(partition)} at offset ${offset.toString()} with ${serdes}: ${reasonOf(cause)}. ` +
        'Check the serdes of the source, or skip such records with deserialization.exception.handler=continue',
      { cause, context: { topic, partition, offset, node: this.source.name } },
    );
    if (this.#failures.undecodable(error, this, true) === 'fail') throw error;
  }

  /** The head's own time, whatever an extractor makes of it. */
  get recordTimestamp(): number {
    return this.#walker.cursor.timestamp;
  }

  headHeaders(): RecordHeaders | null {
    return this.#walker.cursor.nullableHeaders();
  }

  /** For error handlers: the bytes of the head, copied. */
  headBytes(): { readonly key: Buffer | null; readonly value: Buffer | null } {
    const cursor = this.#walker.cursor;
    const key = cursor.key();
    const value = cursor.value();
    return {
      key: key === null ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
    };
  }
}

function ignore(): void {
  // Who has no asynchronous extractor has nothing to do here.
}
