import { BatchBuilder, BatchIterator, encodeControlBatch, RecordCursor } from '@millrace/protocol';
import type { BuildOptions, Codec } from '@millrace/protocol';

export interface TestRecord {
  readonly key?: string | null;
  readonly value?: string | null;
  readonly timestamp?: number;
}

export interface TestBatch extends BuildOptions {
  readonly codec?: Codec;
}

export const T0 = 1_700_000_000_000;

const bytes = (text: string | null | undefined): Buffer | null =>
  text === null || text === undefined ? null : Buffer.from(text);

/** A batch as a client would send it. */
export function batchOf(records: readonly TestRecord[], options: TestBatch = {}): Buffer {
  const builder = new BatchBuilder({ codec: options.codec ?? 'none', maxBytes: 1 << 24 });
  for (const record of records) {
    builder.appendBytes(
      record.timestamp ?? T0,
      bytes(record.key === undefined ? 'k' : record.key),
      bytes(record.value),
      null,
    );
  }
  return Buffer.from(builder.build(options));
}

/** `count` records with values v0, v1, ... */
export function plainBatch(
  count: number,
  options: TestBatch & { timestamp?: number } = {},
): Buffer {
  const records = Array.from({ length: count }, (_, i) => ({
    key: `k${String(i)}`,
    value: `v${String(i)}`,
    timestamp: options.timestamp ?? T0,
  }));
  return batchOf(records, options);
}

export function markerBatch(
  type: 'commit' | 'abort',
  producerId: bigint,
  producerEpoch = 0,
  coordinatorEpoch = 0,
  timestamp = T0,
): Buffer {
  return encodeControlBatch({
    baseOffset: 0n,
    producerId,
    producerEpoch,
    type,
    coordinatorEpoch,
    timestamp,
    leaderEpoch: 0,
  });
}

export interface SeenRecord {
  readonly offset: bigint;
  readonly key: string | null;
  readonly value: string | null;
  readonly timestamp: number;
  readonly isControl: boolean;
}

/** All records of a read. */
export function recordsIn(buffer: Buffer): SeenRecord[] {
  const cursor = new RecordCursor();
  const batches = new BatchIterator(buffer);
  const seen: SeenRecord[] = [];
  for (let batch = batches.next(); batch; batch = batches.next()) {
    batch.ensureValid();
    const isControl = batch.isControl;
    cursor.open(batch);
    while (cursor.next()) {
      seen.push({
        offset: cursor.offset(),
        key: cursor.key()?.toString() ?? null,
        value: cursor.value()?.toString() ?? null,
        timestamp: cursor.timestamp,
        isControl,
      });
    }
  }
  return seen;
}
