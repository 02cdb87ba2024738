// bytes
export * from './bytes/protocol-error.ts';
export { crc32c } from './bytes/crc32c.ts';
export { readInt32, writeInt32 } from './bytes/int32.ts';
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
export { type KeyRanges, RecordCursor, type RecordCursorLimits } from './records/record-cursor.ts';
export { bytesWriter, type ValueWriter } from './records/value-writer.ts';

export { MAX_DECOMPRESSED_BATCH_BYTES } from './limits.ts';

// messages
export { apiKeyName, apiKeys, type ApiKeyName } from './api-keys.ts';
export { errorByCode, errorCodes, type ErrorName, type KafkaError } from './errors.ts';
export type { Decoded, Encodable } from './messages/field.ts';
export {
  decodeRequest,
  decodeRequestHeader,
  decodeResponse,
  encodeRequest,
  encodeRequestBody,
  encodeResponse,
  type RequestHeader,
  type RequestOrigin,
} from './messages/frames.ts';
export { decodeMessage, encodeMessage } from './messages/message.ts';
export {
  Schema,
  type Api,
  type MessageOf,
  type RequestOf,
  type ResponseOf,
} from './messages/schema.ts';
export { UnsupportedVersionError } from './messages/unsupported-version-error.ts';
export { decodeVersioned, encodeVersioned, versionOf } from './messages/versioned.ts';
export * from './messages/add-offsets-to-txn.ts';
export * from './messages/add-partitions-to-txn.ts';
export * from './messages/alter-configs.ts';
export * from './messages/api-versions.ts';
export * from './messages/apis.ts';
export * from './messages/consumer-protocol.ts';
export * from './messages/create-acls.ts';
export * from './messages/create-partitions.ts';
export * from './messages/create-topics.ts';
export * from './messages/delete-acls.ts';
export * from './messages/delete-groups.ts';
export * from './messages/delete-records.ts';
export * from './messages/delete-topics.ts';
export * from './messages/describe-acls.ts';
export * from './messages/describe-cluster.ts';
export * from './messages/describe-configs.ts';
export * from './messages/describe-groups.ts';
export * from './messages/describe-producers.ts';
export * from './messages/describe-topic-partitions.ts';
export * from './messages/describe-transactions.ts';
export * from './messages/end-txn.ts';
export * from './messages/fetch.ts';
export * from './messages/find-coordinator.ts';
export * from './messages/group-records.ts';
export * from './messages/heartbeat.ts';
export * from './messages/incremental-alter-configs.ts';
export * from './messages/init-producer-id.ts';
export * from './messages/join-group.ts';
export * from './messages/leave-group.ts';
export * from './messages/list-groups.ts';
export * from './messages/list-offsets.ts';
export * from './messages/list-transactions.ts';
export * from './messages/metadata.ts';
export * from './messages/offset-commit.ts';
export * from './messages/offset-delete.ts';
export * from './messages/offset-fetch.ts';
export * from './messages/offset-for-leader-epoch.ts';
export * from './messages/produce.ts';
export * from './messages/sasl-authenticate.ts';
export * from './messages/sasl-handshake.ts';
export * from './messages/sync-group.ts';
export * from './messages/transaction-records.ts';
export * from './messages/txn-offset-commit.ts';
export * from './messages/write-txn-markers.ts';
