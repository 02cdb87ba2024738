import {
  failOnInvalidTimestamp,
  logAndSkipOnInvalidTimestamp,
  usePartitionTimeOnInvalidTimestamp,
  type TimestampExtractor,
} from '@millrace/runtime';

const extractors: Readonly<Record<string, TimestampExtractor>> = {
  failOnInvalid: failOnInvalidTimestamp,
  logAndSkip: logAndSkipOnInvalidTimestamp,
  usePartitionTime: usePartitionTimeOnInvalidTimestamp,
  /** The number after the last `@` of the value's text; without one, the record's own time. */
  fromValue: (record) => {
    const value = String(record.value);
    const at = value.lastIndexOf('@');
    return at < 0 ? record.timestamp : Number(value.slice(at + 1));
  },
  partitionTimePlus10: (_record, partitionTime) => partitionTime + 10,
};

/** A case's timestamp extractor by its short name; no name, none. */
export function timestampExtractor(name: unknown): TimestampExtractor | undefined {
  if (name === undefined || name === null) return undefined;
  const found = extractors[name as string];
  if (found === undefined) throw new Error(`no timestamp extractor ${name as string}`);
  return found;
}
