import { isUtf8 } from 'node:buffer';
import type { RecordHeaders } from '@millrace/protocol';
import { textOf, type DataType } from './data-types.ts';
import { toJsonLine } from './json-lines.ts';
import { formatTime } from './times.ts';

export interface OutputRecord {
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: RecordHeaders | null;
}

export const FIELDS = ['partition', 'offset', 'timestamp', 'headers', 'key', 'value'] as const;
export type Field = (typeof FIELDS)[number];

export interface OutputFormat {
  readonly fields: readonly Field[];
  readonly separator: string;
  readonly nullText: string;
  readonly key: DataType;
  readonly value: DataType;
}

export function textLine(record: OutputRecord, topic: string, format: OutputFormat): string {
  const where = `of ${topic}-${record.partition} at offset ${record.offset.toString()}`;
  const bytesText = (type: DataType, bytes: Uint8Array | null, what: string): string =>
    bytes === null ? format.nullText : textOf(type, toBuffer(bytes), `The ${what} ${where}`);
  return format.fields
    .map((field) => {
      switch (field) {
        case 'partition':
          return String(record.partition);
        case 'offset':
          return record.offset.toString();
        case 'timestamp':
          return formatTime(record.timestamp) ?? format.nullText;
        case 'headers':
          return headersText(record.headers, format.nullText);
        case 'key':
          return bytesText(format.key, record.key, 'key');
        case 'value':
          return bytesText(format.value, record.value, 'value');
      }
    })
    .join(format.separator);
}

/** As `produce --json` reads it. */
export function jsonLine(
  record: OutputRecord,
  topic: string,
  types: Pick<OutputFormat, 'key' | 'value'>,
): string {
  const { partition, offset, timestamp, key, value, headers } = record;
  return toJsonLine({
    topic,
    partition,
    offset,
    timestamp: timestamp < 0 ? null : timestamp,
    key: key === null ? null : types.key.toJson(toBuffer(key)),
    value: value === null ? null : types.value.toJson(toBuffer(value)),
    headers: headersJson(headers),
  });
}

export function headersJson(headers: RecordHeaders | null): readonly object[] {
  return (headers?.toArray() ?? []).map(({ key, value }) => ({ key, value: bytesJson(value) }));
}

/** `name=value,name=value`; bytes that are no text in hex. */
function headersText(headers: RecordHeaders | null, nullText: string): string {
  return (headers?.toArray() ?? [])
    .map(({ key, value }) => {
      if (value === null) return `${key}=${nullText}`;
      return `${key}=${isUtf8(value) ? value.toString('utf8') : `0x${value.toString('hex')}`}`;
    })
    .join(',');
}

export function bytesJson(bytes: Buffer | null): unknown {
  if (bytes === null) return null;
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') };
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
