import {
  decodeVersioned,
  GroupMetadataKey,
  GroupMetadataValue,
  OffsetCommitKey,
  OffsetCommitValue,
  ProtocolError,
  readControlRecord,
  TransactionLogKey,
  TransactionLogValue,
  versionOf,
  type RecordCursor,
  type Schema,
} from '@millrace/protocol';
import { bytesJson, headersJson } from './record-output.ts';

/** How the records of a log are to be read. */
export type LogContents = 'records' | 'group records' | 'transaction records';

/** By the topic's name. */
export function contentsOf(topic: string | null): LogContents {
  if (topic === '__consumer_offsets') return 'group records';
  return topic === '__transaction_state' ? 'transaction records' : 'records';
}

/** A record of a log, plain enough for JSON. */
export interface LogRecord {
  readonly offset: bigint;
  /** Epoch ms; null: none. */
  readonly timestamp: number | null;
  readonly key: unknown;
  readonly value: unknown;
  readonly headers: readonly object[];
}

/** What the cursor stands on. Control records and those of internal topics are decoded. */
export function readLogRecord(cursor: RecordCursor, contents: LogContents): LogRecord {
  const { timestamp } = cursor;
  return {
    offset: cursor.offset(),
    timestamp: timestamp < 0 ? null : timestamp,
    ...(cursor.isControl ? controlRecord(cursor) : decoded(cursor, contents)),
    headers: headersJson(cursor.nullableHeaders()),
  };
}

type Content = Pick<LogRecord, 'key' | 'value'>;

function controlRecord(cursor: RecordCursor): Content {
  const { type, typeCode, coordinatorEpoch } = readControlRecord(cursor);
  if (type === 'other') return { key: { control: typeCode }, value: bytesJson(cursor.value()) };
  return { key: { control: type }, value: { coordinatorEpoch } };
}

function decoded(cursor: RecordCursor, contents: LogContents): Content {
  const key = cursor.key();
  const value = cursor.value();
  try {
    const schemas = key === null ? null : schemasOf(contents, key);
    if (key !== null && schemas !== null) {
      return {
        key: decodeVersioned(schemas.key, key).body,
        value: value === null ? null : withoutBytes(decodeVersioned(schemas.value, value).body),
      };
    }
  } catch (error) {
    // A version of later Kafka: shown as it is.
    if (!(error instanceof ProtocolError)) throw error;
  }
  return { key: bytesJson(key), value: bytesJson(value) };
}

interface RecordSchemas {
  readonly key: Schema<unknown>;
  readonly value: Schema<unknown>;
}

/** Null: records of users, or of a kind that is not known here. */
function schemasOf(contents: LogContents, key: Buffer): RecordSchemas | null {
  if (contents === 'records') return null;
  if (contents === 'transaction records') {
    return { key: TransactionLogKey, value: TransactionLogValue };
  }
  // The version of a key says what kind of record it is.
  switch (versionOf(key)) {
    case 0:
    case 1:
      return { key: OffsetCommitKey, value: OffsetCommitValue };
    case 2:
      return { key: GroupMetadataKey, value: GroupMetadataValue };
    default:
      return null;
  }
}

/** Bytes inside of decoded records, such as assignments, as text or base64. */
function withoutBytes(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return bytesJson(value);
  if (Array.isArray(value)) return value.map(withoutBytes);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, withoutBytes(field)]),
  );
}
