import { crc32c } from '../bytes/crc32c.ts';
import { writeInt64FromNumber } from '../bytes/int64.ts';
import type { Codec } from '../compression/codec.ts';
import * as format from './batch-format.ts';

/** What a batch header says beyond its records. Every field has Kafka's "none" as default. */
export interface BatchHeaderOptions {
  readonly baseOffset?: bigint;
  readonly leaderEpoch?: number;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly isTransactional?: boolean;
  readonly isControl?: boolean;
  readonly timestampType?: format.TimestampType;
}

export interface BatchHeaderFields extends BatchHeaderOptions {
  readonly codec: Codec;
  readonly lastOffsetDelta: number;
  readonly baseTimestamp: number;
  readonly maxTimestamp: number;
  readonly hasDeleteHorizon: boolean;
  readonly recordCount: number;
}

/** Fills in the 61 bytes before the records of the batch `target[0, end)`, with its CRC. */
export function writeBatchHeader(target: Buffer, end: number, fields: BatchHeaderFields): void {
  const attributes =
    format.CODECS.indexOf(fields.codec) |
    (fields.timestampType === 'logAppendTime' ? format.LOG_APPEND_TIME_BIT : 0) |
    (fields.isTransactional === true ? format.TRANSACTIONAL_BIT : 0) |
    (fields.isControl === true ? format.CONTROL_BIT : 0) |
    (fields.hasDeleteHorizon ? format.DELETE_HORIZON_BIT : 0);
  target.writeBigInt64BE(fields.baseOffset ?? 0n, format.BASE_OFFSET_AT);
  target.writeInt32BE(end - format.BATCH_LOG_OVERHEAD, format.BATCH_LENGTH_AT);
  target.writeInt32BE(fields.leaderEpoch ?? format.NO_LEADER_EPOCH, format.LEADER_EPOCH_AT);
  target.writeInt8(format.CURRENT_MAGIC, format.MAGIC_AT);
  target.writeInt16BE(attributes, format.ATTRIBUTES_AT);
  target.writeInt32BE(fields.lastOffsetDelta, format.LAST_OFFSET_DELTA_AT);
  writeInt64FromNumber(target, format.BASE_TIMESTAMP_AT, fields.baseTimestamp);
  writeInt64FromNumber(target, format.MAX_TIMESTAMP_AT, fields.maxTimestamp);
  target.writeBigInt64BE(fields.producerId ?? format.NO_PRODUCER_ID, format.PRODUCER_ID_AT);
  target.writeInt16BE(fields.producerEpoch ?? format.NO_PRODUCER_EPOCH, format.PRODUCER_EPOCH_AT);
  target.writeInt32BE(fields.baseSequence ?? format.NO_SEQUENCE, format.BASE_SEQUENCE_AT);
  target.writeInt32BE(fields.recordCount, format.RECORD_COUNT_AT);
  target.writeUInt32BE(crc32c(target, format.ATTRIBUTES_AT, end), format.CRC_AT);
}
