import { RecordHeaders, sizeOfVarint, writeVarint } from '@millrace/protocol';
import { writeTimestamp } from '../../serdes/windowed.ts';
import type { BufferedRecord } from './buffered-record.ts';

const TIMESTAMP_BYTES = 8;
const VERSION_KEY = 'v';
const OLD_KEY = 'vh.old';
const PRIOR_KEY = 'vh.prior';
const VERSION_3 = Buffer.from([3]);

/** Of a record of the plain format; shared, and never changed. */
const plainHeaders = new RecordHeaders().add(VERSION_KEY, VERSION_3);

/**
 * What stands before a value in memory with `dsl.store.format=HEADERS`, as latin1 text: the length of
 * its headers, the headers (nothing if there are none) and its timestamp.
 */
export function valuePrefix(headers: RecordHeaders | null, timestamp: number): string {
  const headerBytes = headers === null || headers.isEmpty ? 0 : headers.encodedSize();
  const target = Buffer.allocUnsafe(sizeOfVarint(headerBytes) + headerBytes + TIMESTAMP_BYTES);
  let end = writeVarint(target, 0, headerBytes);
  if (headers !== null && headerBytes > 0) end = headers.encodeInto(target, end);
  writeTimestamp(timestamp, target, end);
  return target.toString('latin1');
}

/** Of an old value of which nothing more is known. */
export const unknownPrefix = valuePrefix(null, -1);

/** Headers of a suppress buffer's changelog record: the format's version, and old and prior value's prefixes. */
export function changelogHeaders(record: BufferedRecord): RecordHeaders {
  if (record.oldPrefix === null && record.priorPrefix === null) return plainHeaders;
  const headers = new RecordHeaders().add(VERSION_KEY, VERSION_3);
  if (record.priorPrefix !== null && !record.isOldPrior) {
    headers.add(PRIOR_KEY, Buffer.from(record.priorPrefix, 'latin1'));
  }
  if (record.oldPrefix !== null) headers.add(OLD_KEY, Buffer.from(record.oldPrefix, 'latin1'));
  return headers;
}

/** The version that a changelog record says it has: 0 without a header, -1 for none that there is. */
export function versionOf(headers: RecordHeaders | null): number {
  const header = headers?.last(VERSION_KEY);
  if (header === undefined) return 0;
  const { value } = header;
  const version = value?.length === 1 ? (value[0] as number) : -1;
  return version >= 1 && version <= 3 ? version : -1;
}

/** Gives a restored record its prefixes; what the changelog does not know is the record's own time. */
export function restorePrefixes(record: BufferedRecord, headers: RecordHeaders | null): void {
  const { value, old, prior, timestamp } = record;
  const oldHeader = headers?.last(OLD_KEY)?.value?.toString('latin1');
  const priorHeader = headers?.last(PRIOR_KEY)?.value?.toString('latin1');
  record.valuePrefix = value === null ? null : valuePrefix(record.headers, timestamp);
  record.oldPrefix = old === null ? null : (oldHeader ?? valuePrefix(null, timestamp));
  if (prior === null) {
    record.priorPrefix = null;
  } else if (priorHeader === undefined && prior === old) {
    record.priorPrefix = record.oldPrefix;
  } else {
    record.priorPrefix = priorHeader ?? valuePrefix(null, timestamp);
  }
}
