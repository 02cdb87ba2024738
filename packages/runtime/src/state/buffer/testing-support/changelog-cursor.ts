import { BatchBuilder, RecordBatch, RecordCursor, RecordHeaders } from '@millrace/protocol';

interface ChangelogRecord {
  /** Hex. */
  readonly key: string | null;
  /** Hex; null is a tombstone. */
  readonly value: string | null;
  /** Values in hex. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly timestamp?: number;
}

/** Feeds records to a store's `restore`, as a changelog with these offsets from `baseOffset` on. */
export function restoreInto(
  store: { restore(cursor: RecordCursor): void },
  records: readonly ChangelogRecord[],
  baseOffset = 0n,
): void {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
  for (const { key, value, headers = {}, timestamp = 99 } of records) {
    const pairs = Object.entries(headers).map(([name, hex]) => ({ key: name, value: bytes(hex) }));
    const all = pairs.length === 0 ? null : RecordHeaders.from(pairs);
    builder.appendBytes(timestamp, bytes(key), bytes(value), all);
  }
  const cursor = new RecordCursor();
  cursor.open(new RecordBatch(builder.build({ baseOffset })));
  while (cursor.next()) store.restore(cursor);
}

function bytes(hex: string | null): Buffer | null {
  return hex === null ? null : Buffer.from(hex, 'hex');
}
