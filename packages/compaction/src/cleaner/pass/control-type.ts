import { CorruptRecordError } from '@millrace/protocol';
import type { RecordBatch } from '@millrace/protocol';
import type { RecordScanner } from './record-scanner.ts';
import type { ControlType } from './transactions.ts';

const ABORT = 0;
const COMMIT = 1;
const CONTROL_KEY_BYTES = 4;
const TYPE_AT = 2;

/** What a control batch is about; it holds one record, or none once a cleaner has emptied it. */
export function controlTypeOf(batch: RecordBatch, scanner: RecordScanner): ControlType {
  scanner.open(batch);
  if (!scanner.next()) return 'none';
  if (scanner.keyEnd - scanner.keyStart < CONTROL_KEY_BYTES) {
    throw new CorruptRecordError(
      `the control batch at offset ${String(batch.baseOffset)} has no key`,
    );
  }
  const code = scanner.buffer.readInt16BE(scanner.keyStart + TYPE_AT);
  return code === ABORT ? 'abort' : code === COMMIT ? 'commit' : 'other';
}
