import { BatchIterator } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { LogStoreError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import type { FakeClock } from '../platform/fake-clock.ts';
import type { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf, T0 } from '../testing/batches.ts';
import type { TestRecord } from '../testing/batches.ts';
import { cleanNow, toolsOf } from '../testing/cleaning.ts';
import { configOf, newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';
import { describeCleaning } from './describe-cleaning.ts';

const COMPACT = { 'cleanup.policy': 'compact' };
const FILE = `${ROOT}/t-0/${'0'.repeat(20)}.log`;

interface Setup {
  readonly log: Log;
  readonly disk: MemoryDisk;
  readonly clock: FakeClock;
}

const clean = ({ log, disk, clock }: Setup, checkpoint?: bigint) =>
  cleanNow(log, toolsOf(disk, clock), checkpoint);

function append(log: Log, ...records: TestRecord[]): void {
  log.appendAsLeader(batchOf(records));
}

const seen = (log: Log): string[] =>
  readAll(log).map(({ offset, key, value }) => `${String(offset)} ${key ?? ''}=${value ?? ''}`);

async function reopened({ disk, clock }: Setup): Promise<Log> {
  const dir = await openMemoryDir({ disk: disk.afterKill(), clock, config: configOf(COMPACT) });
  return dir.log('t', 0) as Log;
}

/** Of each batch in the file its base offset and how many records it has. */
function batchesIn(bytes: Buffer): [bigint, number][] {
  const batches = new BatchIterator(bytes);
  const found: [bigint, number][] = [];
  for (let batch = batches.next(); batch; batch = batches.next()) {
    found.push([batch.baseOffset, batch.recordCount]);
  }
  return found;
}

describe('batches, where other cleaners have gone wrong', () => {
  for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
    it(`KAFKA-3915, 4298: survivors of a ${codec} batch keep their offsets`, async () => {
      const made = await newMemoryLog(COMPACT);
      const { log } = made;
      const records = ['a', 'b', 'c'].map((key) => ({ key, value: `${key}1` }));
      log.appendAsLeader(batchOf(records, { codec }));
      log.appendAsLeader(batchOf([{ key: 'b', value: 'b2' }], { codec }));
      log.roll();
      await clean(made);
      expect(seen(log)).toEqual(['0 a=a1', '2 c=c1', '3 b=b2']);
      expect(seen(await reopened(made))).toEqual(['0 a=a1', '2 c=c1', '3 b=b2']);
    });
  }

  it('KAFKA-1755: a record without a key, from before the topic was compacted, goes and is counted', async () => {
    const made = await newMemoryLog({ 'cleanup.policy': 'delete' });
    const { log } = made;
    append(log, { key: null, value: 'x' }, { key: 'a', value: '1' });
    log.updateConfig(configOf(COMPACT));
    log.roll();
    const report = await clean(made);
    expect(report?.stats.invalidRecordsRead).toBe(1);
    expect(seen(log)).toEqual(['1 a=1']);
  });

  it('KAFKA-5316, 6834: a batch that grows by being written anew fits all the same, and times stay', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    const records = Array.from({ length: 1_000 }, (_, i) => ({
      key: `k${String(i)}`,
      value: null,
      timestamp: T0 + (i % 3),
    }));
    append(log, ...records);
    log.roll();
    const before = readAll(log);
    const sizeBefore = log.segments[0]?.sizeBytes ?? 0;
    await clean(made);
    expect(log.segments[0]?.sizeBytes).toBeGreaterThan(sizeBefore);
    expect(readAll(log)).toEqual(before);
  });

  it('KAFKA-5431: cleaned files end with their last batch and entry', async () => {
    const made = await newMemoryLog({ ...COMPACT, 'index.interval.bytes': '50' });
    const { log, disk } = made;
    for (let i = 0; i < 20; i++) append(log, { key: `k${String(i % 12)}`, value: String(i) });
    log.roll();
    await clean(made);
    const bytes = disk.contentOf(FILE);
    expect(batchesIn(bytes)).toHaveLength(12);
    expect(bytes.length).toBe(log.segments[0]?.sizeBytes);
    for (const [suffix, entryBytes] of [
      ['.index', 8],
      ['.timeindex', 12],
    ] as const) {
      const index = disk.contentOf(FILE.replace('.log', suffix));
      expect(index.length % entryBytes).toBe(0);
      expect(index.subarray(-entryBytes).equals(Buffer.alloc(entryBytes))).toBe(false);
    }
  });

  it('KAFKA-8764: a first dirty offset in a hole at the end of a segment does not stay there', async () => {
    const made = await newMemoryLog({ ...COMPACT, 'internal.segment.bytes': '150' });
    const { log } = made;
    append(log, { key: 'a', value: '1' });
    append(log, { key: 'b', value: '1' });
    append(log, { key: 'b', value: '2' });
    append(log, { key: 'c', value: '1' });
    log.roll();
    await clean(made);
    expect(seen(log)).toEqual(['0 a=1', '2 b=2', '3 c=1']);
    expect(log.segments[1]?.baseOffset).toBe(2n);
    const report = await clean(made, 1n);
    expect(report?.nextFirstDirtyOffset).toBe(4n);
  });

  it('KAFKA-16310: the greatest timestamp is found at its record, before and after a start', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    append(log, { key: 'a', timestamp: T0 }, { key: 'b', timestamp: T0 + 50 }, { key: 'c' });
    append(log, { key: 'a', timestamp: T0 + 10 });
    log.roll();
    await clean(made);
    const expected = { offset: 1n, timestamp: T0 + 50 };
    expect(log.offsetOfMaxTimestamp()).toMatchObject(expected);
    expect((await reopened(made)).offsetOfMaxTimestamp()).toMatchObject(expected);
    expect(log.segments[0]?.maxTimestamp).toBe(T0 + 50);
  });

  it('KAFKA-17076: the last batch below the high watermark stays, so that the end does', async () => {
    const made = await newMemoryLog({ ...COMPACT, 'delete.retention.ms': '0' });
    const { log, disk } = made;
    append(log, { key: 'a', value: '1' });
    append(log, { key: 'a', value: null });
    log.roll();
    await clean(made);
    await clean(made);
    expect(batchesIn(disk.contentOf(FILE))).toEqual([[1n, 0]]);
    disk.unlink(`${ROOT}/t-0/${'2'.padStart(20, '0')}.log`);
    expect((await reopened(made)).logEndOffset).toBe(2n);
  });

  it('KAFKA-20452: no batch is kept empty where others follow', async () => {
    const made = await newMemoryLog({ ...COMPACT, 'delete.retention.ms': '0' });
    const { log, disk } = made;
    append(log, { key: 'a', value: '1' });
    append(log, { key: 'a', value: null });
    log.roll();
    append(log, { key: 'b', value: '1' });
    await clean(made);
    await clean(made);
    expect(batchesIn(disk.contentOf(FILE))).toEqual([]);
    expect(seen(log)).toEqual(['2 b=1']);
  });

  it('KAFKA-7556: the log starts where it did; whoever begins there gets the first survivor', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    for (let i = 0; i < 5; i++) append(log, { key: 'k', value: String(i) });
    log.roll();
    await clean(made);
    expect(log.logStartOffset).toBe(0n);
    for (let offset = 0n; offset <= 4n; offset++) {
      expect(log.read(offset, 1_000).records.readBigInt64BE(0)).toBe(4n);
    }
  });

  it('KAFKA-13305: a log without a checkpoint is dirty from its start', async () => {
    const { log } = await newMemoryLog(COMPACT);
    append(log, { key: 'a', value: '1' });
    log.roll();
    const { range } = describeCleaning(log, undefined, T0);
    expect(range).toMatchObject({ firstDirtyOffset: 0n, isCheckpointInvalid: false });
    expect(range.compactableBytes).toBe(log.sizeInBytes);
  });

  it('a batch that decompresses beyond max.decompressed.message.bytes ends the pass, with its place', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log, disk } = made;
    append(log, { key: 'a', value: '1' });
    const bomb = [{ key: 'b', value: 'x'.repeat(100_000) }];
    log.appendAsLeader(batchOf(bomb, { codec: 'zstd' }));
    log.roll();
    log.updateConfig(configOf({ ...COMPACT, 'max.decompressed.message.bytes': '1000' }));
    const before = Buffer.from(disk.contentOf(FILE));
    const failure: unknown = await clean(made).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LogStoreError);
    expect((failure as Error).message).toMatch(/0{20}\.log at byte \d+/);
    expect(disk.contentOf(FILE).equals(before)).toBe(true);
    expect(disk.list(`${ROOT}/t-0`).filter(({ name }) => name.endsWith('.cleaned'))).toEqual([]);
  });
});
