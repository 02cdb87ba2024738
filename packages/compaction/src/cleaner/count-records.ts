import type { RecordBatch } from '@millrace/protocol';
import type { RecordScanner } from './pass/record-scanner.ts';

/** What lies in some segments. */
export interface RecordCounts {
  batches: number;
  /** Data records, tombstones among them. */
  records: number;
  /** Data records whose value is null. */
  tombstones: number;
  /** Control records: transaction markers and the like. */
  markers: number;
  bytes: number;
}

export function noRecords(): RecordCounts {
  return { batches: 0, records: 0, tombstones: 0, markers: 0, bytes: 0 };
}

export function addBatch(counts: RecordCounts, batch: RecordBatch, scanner: RecordScanner): void {
  counts.batches++;
  counts.bytes += batch.sizeInBytes;
  if (batch.isControl) {
    counts.markers += batch.recordCount;
    return;
  }
  counts.records += batch.recordCount;
  if (batch.recordCount === 0) return;
  scanner.open(batch);
  while (scanner.next()) if (!scanner.hasValue) counts.tombstones++;
}

export function differenceOf(before: RecordCounts, after: RecordCounts): RecordCounts {
  return {
    batches: before.batches - after.batches,
    records: before.records - after.records,
    tombstones: before.tombstones - after.tombstones,
    markers: before.markers - after.markers,
    bytes: before.bytes - after.bytes,
  };
}
