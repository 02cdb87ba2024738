import {
  BatchBuilder,
  CorruptRecordError,
  DecompressedTooLargeError,
  RecordBatch,
  UnsupportedCodecError,
} from '@millrace/protocol';
import type { Codec, RecordCursor } from '@millrace/protocol';
import type { LogConfig } from '../config.ts';
import {
  CorruptBatchError,
  InvalidRecordError,
  InvalidTimestampError,
  LogStoreError,
  RecordTooLargeError,
  UnsupportedCompressionError,
} from '../errors.ts';
import type { RecordError } from '../errors.ts';
import { MAX_RECORD_ERRORS_REPORTED } from '../limits.ts';
import type { AppendOrigin } from './append-origin.ts';

const NO_TIMESTAMP = -1;
const MAX_BATCH_BYTES = 2_147_483_647;

export interface ValidatedBatch {
  readonly batch: RecordBatch;
  readonly maxTimestamp: number;
  /** Epoch ms; -1 with CreateTime. */
  readonly logAppendTime: number;
  readonly recordCount: number;
}

/** The one batch of a leader's append, its size and CRC checked. */
export function openLeaderBatch(
  records: Buffer,
  origin: AppendOrigin,
  config: LogConfig,
  name: string,
): RecordBatch {
  let batch: RecordBatch;
  try {
    batch = new RecordBatch(records);
  } catch (error) {
    throw toLogError(error, name);
  }
  if (batch.sizeInBytes !== records.length) {
    throw new InvalidRecordError(
      `${name}: an append holds exactly one batch; this one has ${String(records.length)} bytes ` +
        `and its first batch ${String(batch.sizeInBytes)}`,
    );
  }
  if (origin === 'client' && batch.baseOffset !== 0n) {
    throw new InvalidRecordError(
      `${name}: a produced batch starts at offset 0, not at ${String(batch.baseOffset)}`,
    );
  }
  ensureSize(batch, config, name);
  ensureCrc(batch, name);
  return batch;
}

export function ensureCrc(batch: RecordBatch, name: string): void {
  try {
    batch.ensureValid();
  } catch (error) {
    throw toLogError(error, name);
  }
}

export function ensureSize(batch: RecordBatch, config: LogConfig, name: string): void {
  if (batch.sizeInBytes <= config.maxMessageBytes) return;
  throw new RecordTooLargeError(
    `${name}: a batch of ${String(batch.sizeInBytes)} bytes is above max.message.bytes=` +
      String(config.maxMessageBytes),
  );
}

/**
 * Checks a batch as Kafka's LogValidator does and brings it into the topic's form: timestamp type,
 * max timestamp, codec. In place where that is possible; else in a batch of its own.
 */
export function validateBatch(
  batch: RecordBatch,
  origin: AppendOrigin,
  config: LogConfig,
  nowMs: number,
  cursor: RecordCursor,
  name: string,
): ValidatedBatch {
  if (origin === 'client') ensureClientHeader(batch, name);
  try {
    const source = batch.codec;
    const maxTimestamp = checkRecords(batch, origin, config, nowMs, cursor, name);
    const usesAppendTime = config.messageTimestampType === 'LogAppendTime';
    const target = config.compressionType === 'producer' ? source : config.compressionType;
    const recordCount = batch.recordCount;
    const stamped = usesAppendTime ? nowMs : maxTimestamp;
    const isKept = source === target || (batch.isControl && source === 'none');
    const result = isKept ? batch : recompress(batch, target, cursor);
    result.setMaxTimestamp(usesAppendTime ? 'logAppendTime' : 'createTime', stamped);
    return {
      batch: result,
      maxTimestamp: stamped,
      logAppendTime: usesAppendTime ? nowMs : NO_TIMESTAMP,
      recordCount,
    };
  } catch (error) {
    throw toLogError(error, name);
  } finally {
    cursor.close();
  }
}

function ensureClientHeader(batch: RecordBatch, name: string): void {
  const count = batch.recordCount;
  if (batch.isControl) {
    throw new InvalidRecordError(`${name}: clients may not write control records`);
  }
  if (count === 0) throw new InvalidRecordError(`${name}: a batch without records`);
  if (batch.lastOffsetDelta + 1 !== count) {
    throw new InvalidRecordError(
      `${name}: last offset delta ${String(batch.lastOffsetDelta)} does not fit ${String(count)} records`,
    );
  }
  if (batch.hasProducerId && (batch.baseSequence < 0 || batch.producerEpoch < 0)) {
    throw new InvalidRecordError(
      `${name}: sequence ${String(batch.baseSequence)} and epoch ${String(batch.producerEpoch)} of producer ` +
        `${String(batch.producerId)}: neither may be negative`,
    );
  }
}

/** Decodes every record once; the greatest timestamp. Nothing is created per record. */
function checkRecords(
  batch: RecordBatch,
  origin: AppendOrigin,
  config: LogConfig,
  nowMs: number,
  cursor: RecordCursor,
  name: string,
): number {
  const needsKey = config.cleanupPolicy.compact;
  const checksTime = config.messageTimestampType === 'CreateTime';
  const earliest = nowMs - config.messageTimestampBeforeMaxMs;
  const latest = nowMs + config.messageTimestampAfterMaxMs;
  const isClient = origin === 'client';
  if (isClient && batch.timestampType === 'logAppendTime') {
    throw new InvalidTimestampError(`${name}: only a broker stamps records with LogAppendTime`);
  }
  let maxTimestamp = NO_TIMESTAMP;
  let nullKeys: RecordError[] | null = null;
  let badTimes: RecordError[] | null = null;
  cursor.open(batch);
  while (cursor.next()) {
    const timestamp = cursor.timestamp;
    if (timestamp > maxTimestamp) maxTimestamp = timestamp;
    if (isClient && cursor.offsetDelta !== cursor.recordIndex) {
      throw new InvalidRecordError(
        `${name}: record ${String(cursor.recordIndex)} has offset delta ${String(cursor.offsetDelta)}`,
      );
    }
    if (needsKey && cursor.keyStart === -1) {
      nullKeys = noteError(nullKeys, cursor, 'a compacted topic takes no record without a key');
    }
    if (checksTime && timestamp !== NO_TIMESTAMP && (timestamp < earliest || timestamp > latest)) {
      badTimes = noteError(
        badTimes,
        cursor,
        `timestamp ${String(timestamp)} lies outside ${String(earliest)} to ${String(latest)}`,
      );
    }
  }
  if (badTimes) throw new InvalidTimestampError(`${name}: ${summary(badTimes)}`, badTimes);
  if (nullKeys) throw new InvalidRecordError(`${name}: ${summary(nullKeys)}`, nullKeys);
  return maxTimestamp;
}

function noteError(
  errors: RecordError[] | null,
  cursor: RecordCursor,
  message: string,
): RecordError[] {
  const list = errors ?? [];
  if (list.length < MAX_RECORD_ERRORS_REPORTED) {
    list.push({ batchIndex: cursor.recordIndex, message });
  }
  return list;
}

function summary(errors: readonly RecordError[]): string {
  const first = errors[0] as RecordError;
  const more = errors.length > 1 ? ` (and ${String(errors.length - 1)} more)` : '';
  return `record ${String(first.batchIndex)}: ${first.message}${more}`;
}

/** The same records under another codec; sequences, flags and times stay. */
function recompress(batch: RecordBatch, codec: Codec, cursor: RecordCursor): RecordBatch {
  const builder = new BatchBuilder({
    codec,
    maxBytes: MAX_BATCH_BYTES,
    initialBytes: batch.sizeInBytes * 2,
  });
  cursor.open(batch);
  while (cursor.next()) builder.appendFrom(cursor);
  return new RecordBatch(
    builder.build({
      baseOffset: batch.baseOffset,
      leaderEpoch: batch.partitionLeaderEpoch,
      producerId: batch.producerId,
      producerEpoch: batch.producerEpoch,
      baseSequence: batch.baseSequence,
      isTransactional: batch.isTransactional,
      isControl: batch.isControl,
      lastOffsetDelta: batch.lastOffsetDelta,
    }),
  );
}

/** The protocol's errors as the log's, naming the partition. */
export function toLogError(error: unknown, name: string): unknown {
  if (error instanceof LogStoreError) return error;
  if (error instanceof UnsupportedCodecError) {
    return new UnsupportedCompressionError(`${name}: ${error.message}`, { cause: error });
  }
  if (error instanceof DecompressedTooLargeError) {
    return new InvalidRecordError(`${name}: ${error.message}`, [], { cause: error });
  }
  if (error instanceof CorruptRecordError) {
    return new CorruptBatchError(`${name}: ${error.message}`, { cause: error });
  }
  return error;
}
