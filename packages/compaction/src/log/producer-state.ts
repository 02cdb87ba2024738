import type { RecordBatch, RecordCursor } from '@millrace/protocol';
import { CorruptSnapshotError } from '../errors.ts';
import type { Disk } from '../platform/disk.ts';
import type { Logger } from '../platform/logger.ts';
import {
  parseSegmentFileName,
  segmentFilePath,
  SNAPSHOT_SUFFIX,
} from '../segment/segment-files.ts';
import type { AppendOrigin } from './append-origin.ts';
import { ProducerAppend } from './producer-append.ts';
import type { CompletedTransaction } from './producer-append.ts';
import { NO_OFFSET, ProducerEntry } from './producer-entry.ts';
import type { RememberedBatch } from './producer-entry.ts';
import { decodeSnapshot, encodeSnapshot } from './producer-snapshot.ts';

export interface ProducerStateOptions {
  readonly disk: Disk;
  readonly directory: string;
  /** For messages: `topic-partition`. */
  readonly partition: string;
  readonly logger: Logger;
  /** producer.id.expiration.ms */
  readonly expirationMs: number;
}

/**
 * The producers of one log up to `mapEndOffset`: by sequence (idempotence) and by open transaction,
 * with the snapshots on disk that save a restart from reading everything (KIP-98).
 */
export class ProducerState {
  readonly #options: ProducerStateOptions;
  readonly #producers = new Map<bigint, ProducerEntry>();
  /** Open transactions: first offset to producer, in order of offsets. */
  readonly #ongoing = new Map<bigint, bigint>();
  /** Ended ones whose marker is not below the high watermark yet: first offset to marker offset. */
  readonly #unreplicated = new Map<bigint, bigint>();
  /** Offsets of the snapshot files, rising. */
  #snapshots: bigint[];
  #mapEndOffset = 0n;
  #lastSnapshotOffset = 0n;

  constructor(options: ProducerStateOptions) {
    this.#options = options;
    this.#snapshots = options.disk
      .list(options.directory)
      .map((entry) => parseSegmentFileName(entry.name))
      .filter((name) => name?.kind === SNAPSHOT_SUFFIX && name.state === '')
      .map((name) => name?.baseOffset ?? 0n)
      .sort((a, b) => (a < b ? -1 : 1));
  }

  get mapEndOffset(): bigint {
    return this.#mapEndOffset;
  }

  set mapEndOffset(offset: bigint) {
    this.#mapEndOffset = offset;
  }

  get isEmpty(): boolean {
    return this.#producers.size === 0 && this.#unreplicated.size === 0;
  }

  get latestSnapshotOffset(): bigint | undefined {
    return this.#snapshots.at(-1);
  }

  get snapshotOffsets(): readonly bigint[] {
    return this.#snapshots;
  }

  /** By producer id. */
  producers(): ProducerEntry[] {
    return [...this.#producers.values()].sort((a, b) => (a.producerId < b.producerId ? -1 : 1));
  }

  producer(producerId: bigint): ProducerEntry | undefined {
    return this.#producers.get(producerId);
  }

  /** A change to be checked and then, with `apply`, made. */
  prepare(producerId: bigint, origin: AppendOrigin): ProducerAppend {
    const current = this.#producers.get(producerId) ?? new ProducerEntry(producerId);
    return new ProducerAppend(current, origin, this.#options.partition);
  }

  apply(append: ProducerAppend): void {
    const { updated } = append;
    this.#producers.set(updated.producerId, updated);
    const first = updated.currentTxnFirstOffset;
    if (first !== NO_OFFSET && !this.#ongoing.has(first)) {
      this.#ongoing.set(first, updated.producerId);
    }
  }

  /** Takes in a batch found on disk; the transaction it completes is left to the caller. */
  replay(batch: RecordBatch, cursor: RecordCursor): CompletedTransaction | null {
    if (!batch.hasProducerId) return null;
    const append = this.prepare(batch.producerId, 'replication');
    const completed = append.add(batch, cursor);
    this.apply(append);
    return completed;
  }

  /** Takes in the batches that lead up to the last one of a producer. */
  recall(producerId: bigint, producerEpoch: number, batches: readonly RememberedBatch[]): void {
    const known = this.#producers.get(producerId);
    if (known?.producerEpoch !== producerEpoch) return;
    if (known.lastBatch?.lastOffset === batches.at(-1)?.lastOffset) known.batches = batches;
  }

  complete(transaction: CompletedTransaction): void {
    this.#ongoing.delete(transaction.firstOffset);
    this.#unreplicated.set(transaction.firstOffset, transaction.lastOffset);
  }

  /** The last stable offset once this transaction is over. */
  lastStableOffsetAfter(transaction: CompletedTransaction): bigint {
    let lowest = transaction.lastOffset + 1n;
    for (const first of this.#ongoing.keys()) {
      if (first !== transaction.firstOffset && first < lowest) lowest = first;
    }
    return lowest;
  }

  /** First offset of the earliest transaction that is open, or not replicated; null: none. */
  firstUnstableOffset(): bigint | null {
    let lowest: bigint | null = null;
    for (const first of this.#ongoing.keys()) if (lowest === null || first < lowest) lowest = first;
    for (const first of this.#unreplicated.keys()) {
      if (lowest === null || first < lowest) lowest = first;
    }
    return lowest;
  }

  onHighWatermark(highWatermark: bigint): void {
    if (this.#unreplicated.size === 0) return;
    for (const [first, last] of this.#unreplicated) {
      if (last < highWatermark) this.#unreplicated.delete(first);
    }
  }

  onLogStart(logStartOffset: bigint): void {
    this.onHighWatermark(logStartOffset);
    if (this.#mapEndOffset < logStartOffset) this.#mapEndOffset = logStartOffset;
    this.#lastSnapshotOffset = this.latestSnapshotOffset ?? logStartOffset;
  }

  /** Forgets producers that have been silent for too long; open transactions keep theirs. */
  expire(nowMs: number): number {
    let count = 0;
    for (const [producerId, entry] of this.#producers) {
      if (!this.#isExpired(entry, nowMs)) continue;
      this.#producers.delete(producerId);
      count++;
    }
    return count;
  }

  #isExpired(entry: ProducerEntry, nowMs: number): boolean {
    return (
      entry.currentTxnFirstOffset === NO_OFFSET &&
      nowMs - entry.lastTimestamp >= this.#options.expirationMs
    );
  }

  /** Writes the snapshot at `mapEndOffset` unless it is there; its offset, or null. Not synced. */
  takeSnapshot(): bigint | null {
    const offset = this.#mapEndOffset;
    if (offset <= this.#lastSnapshotOffset || this.#snapshots.includes(offset)) return null;
    const path = this.snapshotPath(offset);
    try {
      this.#options.disk.writeFile(path, encodeSnapshot(this.#producers.values()));
    } catch (error) {
      this.#options.disk.unlink(path);
      throw error;
    }
    this.#snapshots.push(offset);
    this.#lastSnapshotOffset = offset;
    return offset;
  }

  snapshotPath(offset: bigint): string {
    return segmentFilePath(this.#options.directory, offset, SNAPSHOT_SUFFIX);
  }

  /** Whether the snapshot file has not been removed meanwhile. */
  hasSnapshot(offset: bigint): boolean {
    return this.#snapshots.includes(offset);
  }

  /**
   * Starts anew from the latest snapshot within (logStart, logEnd]; snapshots outside are removed, a
   * corrupt one is dropped for the one before it.
   */
  reload(logStartOffset: bigint, logEndOffset: bigint, nowMs: number): void {
    for (const offset of [...this.#snapshots]) {
      if (offset > logEndOffset || offset <= logStartOffset) this.removeSnapshot(offset);
    }
    if (logEndOffset === this.#mapEndOffset) {
      this.onLogStart(logStartOffset);
      return;
    }
    this.#clear();
    for (;;) {
      const offset = this.latestSnapshotOffset;
      if (offset === undefined) break;
      const path = this.snapshotPath(offset);
      try {
        for (const entry of decodeSnapshot(this.#options.disk.readFile(path), path)) {
          if (!this.#isExpired(entry, nowMs)) this.#load(entry);
        }
        this.#lastSnapshotOffset = offset;
        this.#mapEndOffset = offset;
        return;
      } catch (error) {
        if (!(error instanceof CorruptSnapshotError)) throw error;
        this.#clear();
        const { logger, partition } = this.#options;
        logger.warn(
          { partition, path, err: error },
          'a producer snapshot is corrupt and is dropped',
        );
        this.removeSnapshot(offset);
      }
    }
    this.#lastSnapshotOffset = logStartOffset;
    this.#mapEndOffset = logStartOffset;
  }

  #load(entry: ProducerEntry): void {
    this.#producers.set(entry.producerId, entry);
    const first = entry.currentTxnFirstOffset;
    if (first !== NO_OFFSET) this.#ongoing.set(first, entry.producerId);
  }

  #clear(): void {
    this.#producers.clear();
    this.#ongoing.clear();
    this.#unreplicated.clear();
  }

  /** Everything goes, snapshots too: the log starts empty at `offset`. */
  startAt(offset: bigint): void {
    this.#clear();
    for (const snapshot of [...this.#snapshots]) this.removeSnapshot(snapshot);
    this.#lastSnapshotOffset = 0n;
    this.#mapEndOffset = offset;
  }

  removeSnapshot(offset: bigint): void {
    this.#options.disk.unlink(this.snapshotPath(offset));
    this.#snapshots = this.#snapshots.filter((one) => one !== offset);
  }

  /**
   * Removes snapshots that belong to no segment, but for one at the log's end that a shutdown
   * left: the latest, if it lies above all segments' bases.
   */
  removeStraySnapshots(segmentBases: readonly bigint[]): void {
    const bases = new Set(segmentBases);
    const lastBase = segmentBases.at(-1);
    const strays = this.#snapshots.filter((offset) => !bases.has(offset));
    for (const [index, offset] of strays.entries()) {
      const isLatest = index === strays.length - 1;
      if (isLatest && (lastBase === undefined || offset >= lastBase)) continue;
      this.removeSnapshot(offset);
    }
  }
}
