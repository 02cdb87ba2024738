// bytes
export * from './bytes/protocol-error.ts';
export { crc32c } from './bytes/crc32c.ts';
export { readInt64AsNumber, writeInt64FromNumber } from './bytes/int64.ts';
export { murmur2, toPositive } from './bytes/murmur2.ts';
export { Reader } from './bytes/reader.ts';
export {
  METADATA_TOPIC_UUID,
  randomUuid,
  uuidFromString,
  uuidToString,
  ZERO_UUID,
} from './bytes/uuid.ts';
export {
  sizeOfUnsignedVarint,
  sizeOfVarint,
  sizeOfVarlong,
  writeUnsignedVarint,
  writeVarint,
  writeVarlong,
} from './bytes/varint.ts';
export { Writer } from './bytes/writer.ts';

// compression
export type { Codec } from './compression/codec.ts';
export { compress, decompress } from './compression/compress.ts';

// records
export {
  BATCH_HEADER_BYTES,
  BATCH_LOG_OVERHEAD,
  CODECS,
  incrementSequence,
  type TimestampType,
} from './records/batch-format.ts';
export {
  BatchBuilder,
  type BatchBuilderOptions,
  type BuildOptions,
} from './records/batch-builder.ts';
export { BatchIterator } from './records/batch-iterator.ts';
export {
  type ControlBatchOptions,
  type ControlRecord,
  encodeControlBatch,
  readControlRecord,
} from './records/control-record.ts';
export { type RecordHeader, RecordHeaders } from './records/headers.ts';
export { RecordBatch } from './records/record-batch.ts';
export { RecordCursor, type RecordCursorLimits } from './records/record-cursor.ts';
export { bytesWriter, type ValueWriter } from './records/value-writer.ts';

export { MAX_DECOMPRESSED_BATCH_BYTES } from './limits.ts';
