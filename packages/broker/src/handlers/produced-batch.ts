import { BATCH_LOG_OVERHEAD, errorCodes } from '@millrace/protocol';

/** What is wrong with the records of one partition of a produce request. */
export interface RefusedRecords {
  readonly errorCode: number;
  readonly message: string | null;
}

const ZSTD_FROM_VERSION = 7;
const MAGIC_V2 = 2;
const LENGTH_POSITION = 8;
const MAGIC_POSITION = 16;
const ATTRIBUTES_LOW_BYTE_POSITION = 22;
/** Bytes that must be there before anything can be said of a batch. */
const HEADER_UP_TO_MAGIC_BYTES = 17;
/** The least that a batch of any format says it has behind its length. */
const MIN_LENGTH = 14;
const CODEC_MASK = 0x07;
const ZSTD_CODEC = 4;

/**
 * The one record batch that a produce request may hold for a partition. What follows it counts only if
 * it is a whole batch again; less is cut off, as Kafka does.
 */
export function producedBatch(records: Buffer | null, apiVersion: number): Buffer | RefusedRecords {
  const length = records === null ? null : batchLength(records, 0);
  if (records === null || length === null) {
    return refuse('INVALID_RECORD', 'the request holds no record batch');
  }
  if (typeof length !== 'number') return length;
  const magic = records[MAGIC_POSITION];
  if (magic !== MAGIC_V2) {
    return refuse('INVALID_RECORD', `record format ${magic} is not taken, only ${MAGIC_V2}`);
  }
  const attributes = records[ATTRIBUTES_LOW_BYTE_POSITION] as number;
  if ((attributes & CODEC_MASK) === ZSTD_CODEC && apiVersion < ZSTD_FROM_VERSION) {
    return { errorCode: errorCodes.UNSUPPORTED_COMPRESSION_TYPE, message: null };
  }
  if (length === records.length) return records;
  const next = batchLength(records, length);
  if (next === null) return records.subarray(0, length);
  return typeof next === 'number'
    ? refuse('INVALID_RECORD', 'the request holds more than one record batch for the partition')
    : next;
}

/** Bytes of the batch that begins here; null: there is no whole one. */
function batchLength(records: Buffer, start: number): number | RefusedRecords | null {
  if (records.length - start < HEADER_UP_TO_MAGIC_BYTES) return null;
  const length = records.readInt32BE(start + LENGTH_POSITION);
  if (length < MIN_LENGTH) {
    return refuse('CORRUPT_MESSAGE', `a batch says that it has ${length} bytes`);
  }
  const magic = records.readInt8(start + MAGIC_POSITION);
  if (magic < 0 || magic > MAGIC_V2) {
    return refuse('CORRUPT_MESSAGE', `there is no record format ${magic}`);
  }
  const bytes = BATCH_LOG_OVERHEAD + length;
  return records.length - start < bytes ? null : bytes;
}

function refuse(error: 'INVALID_RECORD' | 'CORRUPT_MESSAGE', message: string): RefusedRecords {
  return { errorCode: errorCodes[error], message };
}
