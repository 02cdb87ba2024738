import { InvalidTimestampError } from '../errors.ts';
import type { TimestampExtractor } from './built-topology.ts';

/** The record's own time; a negative one is an error (Kafka's FailOnInvalidTimestamp, the default). */
export const failOnInvalidTimestamp: TimestampExtractor = (record) => {
  if (record.timestamp >= 0) return record.timestamp;
  throw new InvalidTimestampError(
    `The record ${record.topic}-${String(record.partition)} at offset ${String(record.offset)} has the ` +
      `invalid timestamp ${String(record.timestamp)}. Give its source another timestamp extractor, such as ` +
      'logAndSkipOnInvalidTimestamp.',
  );
};

/** The record's own time; a record with a negative one is skipped (LogAndSkipOnInvalidTimestamp). */
export const logAndSkipOnInvalidTimestamp: TimestampExtractor = (record) => record.timestamp;

/** The record's own time, or the partition's if that is negative (UsePartitionTimeOnInvalidTimestamp). */
export const usePartitionTimeOnInvalidTimestamp: TimestampExtractor = (record, partitionTime) => {
  if (record.timestamp >= 0) return record.timestamp;
  if (partitionTime >= 0) return partitionTime;
  throw new InvalidTimestampError(
    `The record ${record.topic}-${String(record.partition)} at offset ${String(record.offset)} has the ` +
      `invalid timestamp ${String(record.timestamp)}, and its partition has no time yet to take instead.`,
  );
};

/** The wall-clock time at which the record is looked at, whatever its own (WallclockTimestampExtractor). */
export const wallclockTimestamp: TimestampExtractor = (record) => record.systemTimeMs;
