const LENGTH_POSITION = 8;
const LOG_OVERHEAD_BYTES = 12;
const COUNT_POSITION = 57;
const HEADER_BYTES = 61;

/**
 * Sum of the record counts in the headers of raw batches, without opening them. It only serves the
 * bound of a queue, so a header that makes no sense just ends the count; whoever opens the batch
 * reports it.
 */
export function countRecords(records: Buffer): number {
  let count = 0;
  let position = 0;
  while (position + HEADER_BYTES <= records.length) {
    const size = records.readInt32BE(position + LENGTH_POSITION) + LOG_OVERHEAD_BYTES;
    if (size < HEADER_BYTES) break;
    count += Math.max(records.readInt32BE(position + COUNT_POSITION), 0);
    position += size;
  }
  return count;
}
