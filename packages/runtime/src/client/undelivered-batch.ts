import { RecordBatch, RecordCursor } from '@millrace/protocol';
import type { UndeliveredRecord } from './ports.ts';
import type { ProduceBatch } from './produce-batch.ts';

/** The records of a batch that is given up, in copies of their own. */
export function* undeliveredRecords(batch: ProduceBatch): Generator<UndeliveredRecord> {
  const bytes = batch.bytes ?? batch.builder?.build();
  if (bytes === undefined) return;
  const cursor = new RecordCursor();
  cursor.open(new RecordBatch(bytes));
  while (cursor.next()) {
    const key = cursor.key();
    const value = cursor.value();
    yield {
      key: key === null ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      timestamp: cursor.timestamp,
      headers: cursor.nullableHeaders(),
    };
  }
}
