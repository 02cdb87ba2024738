import type { Codec } from '../compression/codec.ts';

/** Offset and length, which are not counted by `batchLength`. */
export const BATCH_LOG_OVERHEAD = 12;

/** Everything before the first record. */
export const BATCH_HEADER_BYTES = 61;

export const CURRENT_MAGIC = 2;

/** Where each header field of a v2 batch starts, from the batch's first byte (KIP-98). */
export const BASE_OFFSET_AT = 0;
export const BATCH_LENGTH_AT = 8;
export const LEADER_EPOCH_AT = 12;
export const MAGIC_AT = 16;
export const CRC_AT = 17;
/** The CRC covers everything from here on. */
export const ATTRIBUTES_AT = 21;
export const LAST_OFFSET_DELTA_AT = 23;
export const BASE_TIMESTAMP_AT = 27;
export const MAX_TIMESTAMP_AT = 35;
export const PRODUCER_ID_AT = 43;
export const PRODUCER_EPOCH_AT = 51;
export const BASE_SEQUENCE_AT = 53;
export const RECORD_COUNT_AT = 57;

export const CODEC_MASK = 0x07;
export const LOG_APPEND_TIME_BIT = 0x08;
export const TRANSACTIONAL_BIT = 0x10;
export const CONTROL_BIT = 0x20;
export const DELETE_HORIZON_BIT = 0x40;

export type TimestampType = 'createTime' | 'logAppendTime';

export const NO_TIMESTAMP = -1;
export const NO_PRODUCER_ID = -1n;
export const NO_PRODUCER_EPOCH = -1;
export const NO_SEQUENCE = -1;
export const NO_LEADER_EPOCH = -1;

/** By the number in the attributes' lowest three bits. */
export const CODECS: readonly Codec[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/**
 * The sequence `increment` records after `sequence`: producer sequences go round from 2^31 - 1 to
 * 0 (KAFKA-5283).
 */
export function incrementSequence(sequence: number, increment: number): number {
  const sum = sequence + increment;
  return sum > 0x7fffffff ? sum - 0x80000000 : sum;
}
