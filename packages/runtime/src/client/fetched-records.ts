import { BatchIterator } from '@millrace/protocol';
import { PINNED_RESPONSE_BYTES_MIN, PINNED_RESPONSE_RATIO_MAX } from './limits.ts';

export interface WholeBatches {
  /** Complete batches only. */
  readonly records: Buffer;
  /** After the last complete batch, empty ones included; the given position when there is none. */
  readonly nextOffset: bigint;
  /** Size of the batch that was cut off, as far as its header tells; 0 when none was. */
  readonly cutBatchBytes: number;
}

/** Where a batch's length stands in its header, and what the length does not count. */
const BATCH_LENGTH_AT = 8;
const BATCH_OVERHEAD_BYTES = 12;

const noRecords = Buffer.alloc(0);

/**
 * Cuts off the partial last batch that a broker may send, and finds the next position from headers
 * alone: a compacted log keeps batches that are empty or whose last records are gone.
 *
 * @throws CorruptRecordError, UnsupportedMagicError
 */
export function wholeBatches(records: Buffer, position: bigint): WholeBatches {
  const batches = new BatchIterator(records);
  let nextOffset = position;
  for (let batch = batches.next(); batch !== null; batch = batches.next()) {
    const next = batch.nextOffset;
    if (next > nextOffset) nextOffset = next;
  }
  const end = batches.position;
  const cutBytes = records.length - end;
  return {
    records: end === 0 ? noRecords : records.subarray(0, end),
    nextOffset,
    cutBatchBytes:
      cutBytes < BATCH_OVERHEAD_BYTES
        ? cutBytes
        : records.readInt32BE(end + BATCH_LENGTH_AT) + BATCH_OVERHEAD_BYTES,
  };
}

/** A view of a response keeps all of it alive; a small part of a large one is copied instead. */
export function unpinned(records: Buffer): Buffer {
  const pinnedBytes = records.buffer.byteLength;
  if (
    pinnedBytes < PINNED_RESPONSE_BYTES_MIN ||
    records.length * PINNED_RESPONSE_RATIO_MAX > pinnedBytes
  ) {
    return records;
  }
  return Buffer.from(records);
}
