import { BatchIterator } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { CleaningAbortedError, CorruptBatchError } from '../errors.ts';
import type { Log } from '../log/log.ts';
import type { FakeClock } from '../platform/fake-clock.ts';
import type { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf } from '../testing/batches.ts';
import type { TestRecord } from '../testing/batches.ts';
import { cleanNow, toolsOf } from '../testing/cleaning.ts';
import { configOf, newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';
import { cleanableRange } from './cleanable-range.ts';
import { cleanLog } from './pass/clean-log.ts';
import { cleaningTaskOf } from './cleaning-task-of.ts';
import type { CleanedGroup } from './cleaning-task.ts';

const COMPACT = { 'cleanup.policy': 'compact' };

const valuesOf = (log: Log): (string | null)[] => readAll(log).map((one) => one.value);

function append(log: Log, ...records: TestRecord[]): void {
  log.appendAsLeader(batchOf(records));
}

/** A batch as a leader has it, at an offset of its own. */
function appendAt(log: Log, baseOffset: bigint, record: TestRecord): void {
  log.appendAsFollower(batchOf([record], { baseOffset, leaderEpoch: 0 }));
}

const clean = (
  { log, disk, clock }: { log: Log; disk: MemoryDisk; clock: FakeClock },
  checkpoint?: bigint,
): ReturnType<typeof cleanNow> => cleanNow(log, toolsOf(disk, clock), checkpoint);

describe('what has gone wrong in other cleaners', () => {
  it('KAFKA-4529, 8522: a tombstone stays until delete.retention.ms after the pass that saw it', async () => {
    const made = await newMemoryLog({ ...COMPACT, 'delete.retention.ms': '10000' });
    const { log, clock } = made;
    append(log, { key: 'k', value: '1' });
    append(log, { key: 'k', value: null });
    log.roll();
    await clean(made);
    expect(valuesOf(log)).toEqual([null]);
    clock.advance(9_000);
    await clean(made);
    expect(valuesOf(log)).toEqual([null]);
    clock.advance(2_000);
    await clean(made);
    expect(valuesOf(log)).toEqual([]);
    expect(log.logEndOffset).toBe(2n);
  });

  it('kafkajs#326: an empty value is a value, only null deletes', async () => {
    const made = await newMemoryLog({ ...COMPACT, 'delete.retention.ms': '0' });
    append(made.log, { key: 'a', value: '' }, { key: 'b', value: null });
    made.log.roll();
    await clean(made);
    await clean(made);
    expect(readAll(made.log).map((one) => one.key)).toEqual(['a']);
  });

  it('KAFKA-4451, 5413, 6264: offsets that 32 bits do not span go into segments of their own', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    const offsets = [0n, 2n ** 31n + 1n, 2n ** 32n + 5n];
    for (const [index, offset] of offsets.entries()) {
      appendAt(log, offset, { key: `k${String(index)}`, value: 'x' });
    }
    log.roll();
    await clean(made);
    expect(readAll(log).map((one) => one.offset)).toEqual(offsets);
    expect(log.segments.map((one) => one.baseOffset).slice(0, 3)).toEqual(offsets);
  });

  it('KAFKA-12889: empty segments between are put together', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    for (let index = 0n; index < 5n; index++) {
      appendAt(log, index * (2n ** 31n + 1n), { key: 'k', value: 'x' });
    }
    log.roll();
    await clean(made);
    const report = await clean(made);
    expect(readAll(log)).toHaveLength(1);
    expect(report?.nextFirstDirtyOffset).toBe(log.logEndOffset);
    expect(log.segments.length).toBeLessThanOrEqual(3);
  });

  it('KAFKA-4019, 6834: a batch larger than the buffers is cleaned', async () => {
    const made = await newMemoryLog(COMPACT);
    const large = 'x'.repeat(50_000);
    append(made.log, { key: 'a', value: large }, { key: 'b', value: large });
    append(made.log, { key: 'a', value: '2' });
    made.log.roll();
    await clean(made);
    expect(valuesOf(made.log)).toEqual([large, '2']);
  });

  it('KAFKA-6854, 5490, 7385: batches of which nothing is left but a sequence are read on and on', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log, disk, clock } = made;
    for (let sequence = 0; sequence < 3; sequence++) {
      log.appendAsLeader(
        batchOf([{ key: 'k', value: String(sequence) }], {
          producerId: 7n,
          producerEpoch: 0,
          baseSequence: sequence,
        }),
      );
    }
    append(log, { key: 'k', value: 'last' });
    log.roll();
    for (let pass = 0; pass < 3; pass++) await clean(made);
    expect(valuesOf(log)).toEqual(['last']);
    const dir = await openMemoryDir({ disk: disk.afterKill(), clock, config: configOf(COMPACT) });
    const reopened = dir.log('t', 0) as Log;
    expect(reopened.logEndOffset).toBe(4n);
    expect(reopened.producers()[0]?.lastSequence).toBe(2);
  });

  it('KAFKA-2024, 2235, 3587, 3894: a segment with more keys than the map holds is cleaned in several passes', async () => {
    const { log, disk, clock } = await newMemoryLog(COMPACT);
    for (let round = 0; round < 2; round++) {
      for (let key = 0; key < 20; key++)
        append(log, { key: `k${String(key)}`, value: String(round) });
    }
    log.roll();
    let checkpoint: bigint | undefined;
    let passes = 0;
    while (checkpoint !== log.logEndOffset) {
      const report = await cleanNow(log, toolsOf(disk, clock, 7), checkpoint);
      expect(report?.nextFirstDirtyOffset ?? 0n).toBeGreaterThan(checkpoint ?? 0n);
      checkpoint = report?.nextFirstDirtyOffset;
      passes++;
    }
    expect(passes).toBeGreaterThan(2);
    expect(valuesOf(log)).toEqual(Array.from({ length: 20 }, () => '1'));
  });

  const damages: Readonly<Record<string, number>> = { 'a record': 64, 'its base offset': 0 };
  for (const [what, at] of Object.entries(damages)) {
    it(`KAFKA-7215: a batch damaged in ${what} is named with file and byte, and nothing is touched`, async () => {
      const made = await newMemoryLog(COMPACT);
      const { log, disk } = made;
      append(log, { key: 'a', value: '1' });
      append(log, { key: 'b', value: '1' });
      append(log, { key: 'a', value: '2' });
      log.roll();
      await log.flush();
      const path = `${ROOT}/t-0/00000000000000000000.log`;
      const content = disk.contentOf(path);
      const batches = new BatchIterator(Buffer.from(content));
      batches.next();
      const position = batches.next()?.position ?? 0;
      content.writeUInt8(content.readUInt8(position + at) ^ 0xff, position + at);
      const before = disk.list(`${ROOT}/t-0`);
      const bytes = Buffer.from(disk.contentOf(path));
      const failure = await clean(made).then(
        () => null,
        (error: unknown) => error as Error,
      );
      expect(failure).toBeInstanceOf(CorruptBatchError);
      expect(failure?.message).toContain(`${path} at byte ${String(position)}`);
      expect(disk.list(`${ROOT}/t-0`)).toEqual(before);
      expect(disk.contentOf(path).equals(bytes)).toBe(true);
    });
  }

  it('KAFKA-7322: segments that went meanwhile end the pass, and nothing of it stays', async () => {
    const made = await newMemoryLog({ ...COMPACT, 'internal.segment.bytes': '100' });
    const { log, disk } = made;
    for (let i = 0; i < 4; i++) append(log, { key: 'k', value: String(i) });
    const gone = { sources: [0n, 9n], cleaned: [0n], modifiedMs: 0 };
    await expect(log.replaceSegments(gone)).rejects.toThrow(CleaningAbortedError);
    const active = log.segments.at(-1)?.baseOffset as bigint;
    const appendedTo = { sources: [active], cleaned: [active], modifiedMs: 0 };
    await expect(log.replaceSegments(appendedTo)).rejects.toThrow(/appended to/);
    expect(disk.list(`${ROOT}/t-0`).filter(({ name }) => name.endsWith('.cleaned'))).toEqual([]);
    expect(valuesOf(log)).toHaveLength(4);
  });

  it('keeps its sources when what was to replace them is gone', async () => {
    const { log, disk, clock } = await newMemoryLog(COMPACT);
    append(log, { key: 'k', value: '1' });
    append(log, { key: 'k', value: '2' });
    log.roll();
    const range = cleanableRange(log, undefined, clock.now());
    const pass = cleanLog(cleaningTaskOf(log, range, clock.now()), toolsOf(disk, clock));
    const group = pass.next().value as CleanedGroup;
    disk.unlink(`${ROOT}/t-0/00000000000000000000.log.cleaned`);
    await expect(log.replaceSegments(group)).rejects.toThrow('00.log.cleaned is gone');
    expect(valuesOf(log)).toEqual(['1', '2']);
    expect(disk.list(log.directory).filter(({ name }) => name.endsWith('.cleaned'))).toEqual([]);
  });

  it('KAFKA-1641: a checkpoint outside of the log starts over', async () => {
    const made = await newMemoryLog(COMPACT);
    append(made.log, { key: 'k', value: '1' });
    append(made.log, { key: 'k', value: '2' });
    made.log.roll();
    const report = await clean(made, 99n);
    expect(report?.nextFirstDirtyOffset).toBe(2n);
    expect(valuesOf(made.log)).toEqual(['2']);
  });

  it('KAFKA-1819: the checkpoint of a deleted log does not pass to the next of its name', async () => {
    const { log, dir, config } = await newMemoryLog(COMPACT);
    await dir.updateCleanerOffset(log, 5n);
    expect(dir.cleanerOffsets.get('t-0')).toBe(5n);
    await dir.deleteLog('t', 0);
    await dir.updateCleanerOffset(log, 6n);
    expect(dir.cleanerOffsets.has('t-0')).toBe(false);
    dir.createLog('t', 0, null, config);
    expect(dir.cleanerOffsets.has('t-0')).toBe(false);
  });
});

describe('the cleaner checkpoint', () => {
  it('is there after a kill once the promise resolved', async () => {
    const { log, dir, disk, clock, config } = await newMemoryLog(COMPACT);
    append(log, { key: 'k', value: '1' }, { key: 'k', value: '2' });
    log.roll();
    await log.flush();
    await dir.updateCleanerOffset(log, 1n);
    const again = await openMemoryDir({ disk: disk.afterPowerLoss(() => 0), clock, config });
    expect(again.cleanerOffsets.get('t-0')).toBe(1n);
  });
});
