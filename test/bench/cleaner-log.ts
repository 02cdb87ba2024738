import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  cleanableRange,
  cleanOnce,
  FakeClock,
  LogDir,
  parseLogConfig,
  systemClock,
  type CleaningReport,
  type Log,
  type OffsetMap,
} from '@millrace/compaction';
import { BatchBuilder, BatchIterator, RecordCursor } from '@millrace/protocol';
import { cleaningTools, newOffsetMap } from '../support/cleaning-tools.ts';

export const MIB = 1_048_576;
export const MAP_BYTES = 128 * MIB;
const NOW = 1_800_000_000_000;
const FIRST_TIMESTAMP = 1_700_000_000_000;
const RECORDS_PER_BATCH = 100;
/** What Kafka's own benchmark takes for a key. */
const KEY_DIGITS = 12;
/** A Weyl sequence's step: keys come in an order without a pattern, each as often as any other. */
const KEY_STEP = 2_654_435_761;

/** The partition that the oracle's benchmark writes, and ours. */
const TOPIC = 'bench';

export function newMap(): OffsetMap {
  return newOffsetMap(MAP_BYTES);
}

export interface CleanedLog {
  /** Of what was cleaned, as it was before. */
  readonly inputBytes: number;
  readonly elapsedMs: number;
  readonly report: CleaningReport;
}

/** Opens the log in `root`, cleans all of it but its active segment, and closes it. */
export async function cleanLogIn(
  root: string,
  segmentBytes: number,
  map: () => OffsetMap,
): Promise<CleanedLog> {
  const dir = await openDir(root, segmentBytes);
  try {
    const log = dir.log(TOPIC, 0) as Log;
    const range = cleanableRange(log, undefined, NOW);
    const offsetMap = map();
    const startedMs = systemClock.monotonicMs();
    const report = await cleanOnce(log, range, cleaningTools(offsetMap), NOW);
    const elapsedMs = systemClock.monotonicMs() - startedMs;
    return { inputBytes: range.compactableBytes, elapsedMs, report };
  } finally {
    await dir.close();
  }
}

function openDir(root: string, segmentBytes: number): Promise<LogDir> {
  const config = parseLogConfig(
    new Map([
      ['cleanup.policy', 'compact'],
      ['segment.bytes', String(segmentBytes)],
    ]),
  );
  return LogDir.open(root, { clock: new FakeClock(NOW), configOf: () => config });
}

/** Writes a log of `records` in `root`, uncompressed, whose values have `valueBytes`; its active segment is empty. */
export async function writeLogIn(
  root: string,
  segmentBytes: number,
  { records, keys, valueBytes }: { records: number; keys: number; valueBytes: number },
): Promise<void> {
  const dir = await openDir(root, segmentBytes);
  try {
    const config = parseLogConfig(new Map([['segment.bytes', String(segmentBytes)]]));
    const log = dir.createLog(TOPIC, 0, null, config);
    const builder = new BatchBuilder({ codec: 'none', maxBytes: MIB });
    const value = Buffer.alloc(valueBytes, 'x');
    for (let first = 0; first < records; first += RECORDS_PER_BATCH) {
      builder.reset();
      const end = Math.min(records, first + RECORDS_PER_BATCH);
      for (let record = first; record < end; record++) {
        const key = String((Math.imul(record, KEY_STEP) >>> 0) % keys).padStart(KEY_DIGITS, '0');
        value.writeUInt32BE(record);
        builder.appendBytes(FIRST_TIMESTAMP, Buffer.from(`key-${key}`), value, null);
      }
      log.appendAsLeader(builder.build());
    }
    log.roll();
  } finally {
    await dir.close();
  }
}

/**
 * Throws unless the records in `cleaned` are exactly those of `pristine` that are the last of their keys, each
 * with its offset, key and value, and so many of them.
 */
export function ensureSurvivors(pristine: string, cleaned: string, count: number): void {
  const expected = new Map<string, string>();
  visitRecords(pristine, (key, record) => expected.set(key, record));
  let survivors = 0;
  visitRecords(cleaned, (key, record) => {
    survivors++;
    if (expected.get(key) !== record) {
      throw new Error(`${cleaned}: the record ${record.slice(0, 60)} is not the last of its key`);
    }
  });
  if (survivors !== expected.size || survivors !== count) {
    const all = `${survivors} survive with us, ${count} with Kafka, of ${expected.size} keys`;
    throw new Error(`${cleaned}: ${all}`);
  }
}

function visitRecords(partition: string, visit: (key: string, record: string) => void): void {
  const cursor = new RecordCursor();
  for (const name of readdirSync(partition).sort()) {
    if (!name.endsWith('.log')) continue;
    const batches = new BatchIterator(readFileSync(join(partition, name)));
    for (let batch = batches.next(); batch; batch = batches.next()) {
      batch.ensureValid();
      cursor.open(batch);
      while (cursor.next()) {
        const key = cursor.key()?.toString('latin1') ?? '';
        const value = cursor.value()?.toString('latin1') ?? '';
        visit(key, `${String(cursor.offset())} ${key} ${value}`);
      }
    }
  }
}
