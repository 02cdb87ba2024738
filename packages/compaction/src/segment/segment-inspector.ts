import { BATCH_HEADER_BYTES, BATCH_LOG_OVERHEAD, RecordCursor } from '@millrace/protocol';
import type { RecordBatch } from '@millrace/protocol';
import { CorruptBatchError } from '../errors.ts';
import { RECOVERY_CHUNK_BYTES } from '../limits.ts';
import type { Disk, DiskFile } from '../platform/disk.ts';
import { BatchReader } from './batch-reader.ts';
import { parseSegmentFileName } from './segment-files.ts';

const BATCH_LENGTH_AT = 8;
const MAGIC_AT = 16;
const MAGIC = 2;

/**
 * - `cut`: the file ends within a batch, as a kill or a full disk leaves it
 * - `zeros`: nothing but zero bytes follows, as a power loss or a preallocated file leaves it
 * - `format`: what follows is no record batch
 * - `crc`: the stored CRC is not that of the bytes
 * - `records`: the CRC is right, but the records do not fit the batch's header
 * - `order`: the offsets do not follow those before
 */
export type SegmentDamageKind = 'cut' | 'zeros' | 'format' | 'crc' | 'records' | 'order';

export interface SegmentDamage {
  readonly kind: SegmentDamageKind;
  /** Of the damaged batch in the file, bytes. */
  readonly position: number;
  /** That the batch says it begins with; of what has no header, the one that is expected there. */
  readonly offset: bigint;
  /** From `position` on; after cut, zeros and format nothing more of the file can be read. */
  readonly sizeBytes: number;
  readonly detail: string;
}

export interface InspectedBatch {
  /** In the file, bytes. */
  readonly position: number;
  /** A view that holds until the next one is asked for. */
  readonly batch: RecordBatch;
  /** What is wrong with it. */
  readonly damages: readonly SegmentDamage[];
}

/** Who wants to look at the records of each batch; called for batches whose CRC is right. */
export type RecordVisitor = (cursor: RecordCursor) => void;

/**
 * Reads a segment file from its start, whatever state it is in, and changes nothing: every batch with
 * what is wrong with it, then, if there is one, the damage that ends the file.
 */
export class SegmentInspector {
  readonly #file: DiskFile;
  readonly #cursor = new RecordCursor();
  readonly sizeBytes: number;
  #nextOffset: bigint;

  /**
   * `path` is that of a `.log` file; its name says the first offset. The records of each batch are
   * always decoded, since a right CRC does not say that they can be.
   */
  constructor(disk: Disk, path: string, baseOffset = baseOffsetOf(path)) {
    this.#file = disk.open(path, 'read');
    this.sizeBytes = this.#file.sizeBytes();
    this.#nextOffset = baseOffset;
  }

  *batches(
    visit: RecordVisitor = () => undefined,
  ): Generator<InspectedBatch, SegmentDamage | null> {
    const reader = new BatchReader(this.#file, 0, this.sizeBytes, RECOVERY_CHUNK_BYTES);
    for (;;) {
      const { position } = reader;
      let batch: RecordBatch | null;
      try {
        batch = reader.next();
      } catch (error) {
        if (!(error instanceof CorruptBatchError)) throw error;
        return this.#ending(position);
      }
      if (batch === null) return null;
      const damages: SegmentDamage[] = [];
      const report = (kind: SegmentDamageKind, detail: string): void => {
        const { baseOffset, sizeInBytes } = batch;
        damages.push({ kind, position, offset: baseOffset, sizeBytes: sizeInBytes, detail });
      };
      this.#checkOrder(batch, report);
      if (batch.isValid()) this.#readRecords(batch, visit, report);
      else report('crc', `the stored CRC ${String(batch.crc)} is not that of its bytes`);
      yield { position, batch, damages };
    }
  }

  close(): void {
    this.#file.close();
  }

  #checkOrder(batch: RecordBatch, report: (kind: 'order', detail: string) => void): void {
    if (batch.baseOffset < this.#nextOffset) {
      report(
        'order',
        `it begins with offset ${String(batch.baseOffset)} where ${String(this.#nextOffset)} or a later one is expected`,
      );
    }
    if (batch.nextOffset > this.#nextOffset) this.#nextOffset = batch.nextOffset;
  }

  #readRecords(
    batch: RecordBatch,
    visit: RecordVisitor,
    report: (kind: 'records', detail: string) => void,
  ): void {
    const cursor = this.#cursor;
    try {
      cursor.open(batch);
    } catch (error) {
      report('records', messageOf(error));
      return;
    }
    let previous = -1;
    for (;;) {
      try {
        if (!cursor.next()) return;
      } catch (error) {
        report('records', messageOf(error));
        return;
      }
      if (cursor.offsetDelta <= previous) {
        report(
          'records',
          `record ${String(cursor.recordIndex)} does not come after the one before`,
        );
      }
      previous = cursor.offsetDelta;
      visit(cursor);
    }
  }

  /** What the file ends with, when that is no batch. */
  #ending(position: number): SegmentDamage {
    const left = this.sizeBytes - position;
    const head = Buffer.alloc(Math.min(left, BATCH_HEADER_BYTES));
    this.#file.read(head, 0, head.length, position);
    const damage = { position, offset: this.#nextOffset, sizeBytes: left };
    if (this.#isZero(position)) {
      return { ...damage, kind: 'zeros', detail: 'only zero bytes follow' };
    }
    if (left < BATCH_HEADER_BYTES) {
      const detail = `${String(left)} bytes are left, less than a batch's header`;
      return { ...damage, kind: 'cut', detail };
    }
    const size = BATCH_LOG_OVERHEAD + head.readInt32BE(BATCH_LENGTH_AT);
    const isBatch = head.readInt8(MAGIC_AT) === MAGIC && size >= BATCH_HEADER_BYTES;
    if (isBatch && size > left) {
      const offset = head.readBigInt64BE(0);
      const detail = `a batch of ${String(size)} bytes begins where ${String(left)} are left`;
      return { ...damage, offset, kind: 'cut', detail };
    }
    return { ...damage, kind: 'format', detail: 'no record batch begins here' };
  }

  #isZero(position: number): boolean {
    const chunk = Buffer.alloc(RECOVERY_CHUNK_BYTES);
    for (let at = position; at < this.sizeBytes; at += chunk.length) {
      const length = this.#file.read(chunk, 0, Math.min(chunk.length, this.sizeBytes - at), at);
      if (chunk.subarray(0, length).some((byte) => byte !== 0)) return false;
    }
    return true;
  }
}

function baseOffsetOf(path: string): bigint {
  const name = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
  return parseSegmentFileName(name)?.baseOffset ?? 0n;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
