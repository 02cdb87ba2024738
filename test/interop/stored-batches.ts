import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BatchIterator, type Codec } from '@millrace/protocol';

interface StoredBatch {
  readonly codec: Codec;
  readonly recordCount: number;
  readonly isIdempotent: boolean;
  readonly isTransactional: boolean;
}

/** What a partition's log holds, of either broker: control batches are left out. */
export function storedBatches(dataDir: string, partition: string): readonly StoredBatch[] {
  const folder = join(dataDir, partition);
  const stored: StoredBatch[] = [];
  const segments = readdirSync(folder).filter((name) => name.endsWith('.log'));
  for (const segment of segments.sort()) {
    const batches = new BatchIterator(readFileSync(join(folder, segment)));
    for (let batch = batches.next(); batch; batch = batches.next()) {
      if (batch.isControl) continue;
      stored.push({
        codec: batch.codec,
        recordCount: batch.recordCount,
        isIdempotent: batch.hasProducerId,
        isTransactional: batch.isTransactional,
      });
    }
  }
  return stored;
}
