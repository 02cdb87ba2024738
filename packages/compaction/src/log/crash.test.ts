import { describe, expect, it } from 'vitest';
import { LogStoreError } from '../errors.ts';
import type { LogDir } from '../log-dir/log-dir.ts';
import type { Log } from './log.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { KilledError, MemoryDisk } from '../platform/memory-disk.ts';
import { markerBatch, plainBatch, T0 } from '../testing/batches.ts';
import { configOf, openMemoryDir, readAll } from '../testing/memory-log-dir.ts';
import { seededRandom } from '../testing/seeded-random.ts';

/** What the run was told, up to where it died. */
interface Told {
  /** Values by offset of acknowledged records. */
  readonly appended: Map<bigint, string>;
  /** What an append in hand may have left. */
  inHand: { readonly from: bigint; readonly count: number } | null;
  flushedTo: bigint;
  deletedTo: bigint;
  /** What a delete in hand may have reached. */
  deletingTo: bigint;
  lastSequence: number;
  /** The topic `gone` was made, deleted and made again: it has this many records. */
  remadeWith: number | null;
}

const config = configOf({
  'internal.segment.bytes': '700',
  'index.interval.bytes': '100',
  'retention.bytes': '1500',
});

async function scenario(dir: LogDir, log: Log, told: Told): Promise<void> {
  const append = (count: number, options: Parameters<typeof plainBatch>[1] = {}): void => {
    told.inHand = { from: log.logEndOffset, count };
    const { firstOffset } = log.appendAsLeader(plainBatch(count, options));
    for (let i = 0; i < count; i++) told.appended.set(firstOffset + BigInt(i), `v${String(i)}`);
    told.inHand = null;
  };
  const flush = async (): Promise<void> => {
    const end = log.logEndOffset;
    await log.flush();
    told.flushedTo = end;
  };
  const deleteTo = async (offset: bigint): Promise<void> => {
    told.deletingTo = offset;
    await log.deleteRecords(offset);
    told.deletedTo = offset;
  };
  for (let sequence = 0; sequence < 12; sequence += 3) {
    append(3, { producerId: 7n, producerEpoch: 0, baseSequence: sequence });
    told.lastSequence = sequence + 2;
  }
  await flush();
  append(2, { producerId: 8n, producerEpoch: 0, baseSequence: 0, isTransactional: true });
  await deleteTo(4n);
  append(5);
  log.appendAsLeader(markerBatch('abort', 8n), { origin: 'coordinator' });
  append(8);
  await dir.checkpoint();
  append(8);
  await dir.runRetention();
  await flush();
  const gone = dir.createLog('gone', 0, null, config);
  gone.appendAsLeader(plainBatch(5));
  await gone.deleteRecords(3n);
  await dir.checkpoint();
  await dir.deleteLog('gone', 0);
  const remade = dir.createLog('gone', 0, null, config);
  told.remadeWith = 0;
  remade.appendAsLeader(plainBatch(1));
  told.remadeWith = 1;
  append(8);
  await deleteTo(log.highWatermark - 1n);
  await dir.runRetention();
  append(1);
  // The start is then a segment's base, and no checkpoint names it any more.
  log.roll();
  await deleteTo(log.highWatermark);
  await dir.runRetention();
  append(2);
}

function newTold(): Told {
  return {
    appended: new Map(),
    inHand: null,
    flushedTo: 0n,
    deletedTo: 0n,
    deletingTo: 0n,
    lastSequence: -1,
    remadeWith: null,
  };
}

/** Runs the scenario until the disk dies; how many operations there are without that. */
async function run(disk: MemoryDisk, told: Told): Promise<void> {
  const clock = new FakeClock(T0);
  disk.nowMs = clock.now();
  const dir = await openMemoryDir({ disk, clock, config });
  await scenario(dir, dir.createLog('t', 0, null, config), told);
  await dir.close();
  told.flushedTo = lastOffsetOf(told) + 1n;
  // Once more on what was shut down in order.
  const again = await openMemoryDir({ disk, clock, config });
  const log = again.log('t', 0) as Log;
  for (let i = 0; i < 3; i++) {
    told.inHand = { from: log.logEndOffset, count: 4 };
    const { firstOffset } = log.appendAsLeader(plainBatch(4));
    for (let j = 0; j < 4; j++) told.appended.set(firstOffset + BigInt(j), `v${String(j)}`);
    told.inHand = null;
  }
}

function lastOffsetOf(told: Told): bigint {
  return [...told.appended.keys()].at(-1) ?? -1n;
}

async function runUntilDeath(disk: MemoryDisk, told: Told): Promise<void> {
  try {
    await run(disk, told);
  } catch (error) {
    const isDeath = error instanceof KilledError || error instanceof LogStoreError;
    if (!isDeath || !disk.isKilled) throw error;
  }
}

async function reopen(disk: MemoryDisk): Promise<{ dir: LogDir; log: Log | undefined }> {
  const dir = await openMemoryDir({ disk, clock: new FakeClock(T0), config });
  return { dir, log: dir.log('t', 0) };
}

/** What must hold of a log that was found, whatever was lost. */
function expectConsistent(log: Log, told: Told, isPowerLoss: boolean): void {
  const seen = readAll(log).filter((record) => !record.isControl);
  for (const record of seen) {
    const { inHand } = told;
    const isInHand =
      inHand !== null &&
      record.offset >= inHand.from &&
      record.offset < inHand.from + BigInt(inHand.count);
    const value = told.appended.get(record.offset);
    if (value === undefined)
      expect(isInHand, `unknown record at ${String(record.offset)}`).toBe(true);
    else expect(record.value).toBe(value);
  }
  const offsets = new Set(seen.map((record) => record.offset));
  // Retention may have taken what retention.bytes allows; the start tells.
  const mustHaveTo = isPowerLoss ? told.flushedTo : log.logEndOffset;
  for (const offset of told.appended.keys()) {
    const isDue = offset >= log.logStartOffset && (!isPowerLoss || offset < mustHaveTo);
    if (isDue) expect(offsets.has(offset), `record ${String(offset)} is lost`).toBe(true);
  }
  if (!isPowerLoss) {
    expect(log.logEndOffset > lastOffsetOf(told)).toBe(true);
  }
  // Deleted records stay deleted; a start is never ahead of what was asked for or retained.
  expect(log.logStartOffset >= told.deletedTo, 'deleted records came back').toBe(true);
  expect(log.logEndOffset >= log.logStartOffset).toBe(true);
  expect(log.logEndOffset >= told.flushedTo, 'flushed records are gone').toBe(true);
}

/** A log made again under an old name has inherited nothing. */
function expectRemade(dir: LogDir, told: Told, isPowerLoss: boolean): void {
  if (told.remadeWith === null) return;
  const remade = dir.log('gone', 0);
  if (!isPowerLoss) expect(remade?.logEndOffset).toBeGreaterThanOrEqual(BigInt(told.remadeWith));
  expect(remade?.logStartOffset ?? 0n).toBe(0n);
}

async function expectUsable(dir: LogDir, log: Log): Promise<void> {
  const before = log.logEndOffset;
  expect(log.appendAsLeader(plainBatch(2)).firstOffset).toBe(before);
  await dir.runRetention();
  await dir.close();
}

describe('a process killed at any operation', () => {
  it('leaves a log with everything that was acknowledged', async () => {
    const whole = new MemoryDisk();
    const writes = new Set<number>();
    whole.onOperation = ({ kind, number }) => {
      if (kind === 'write') writes.add(number);
      return undefined;
    };
    await run(whole, newTold());
    const operations = whole.operationCount;
    expect(operations).toBeGreaterThan(80);
    for (let number = 1; number <= operations; number++) {
      for (const writtenBytes of writes.has(number) ? [0, 30, 75, 1 << 20] : [0]) {
        const disk = new MemoryDisk();
        disk.killAt(number, writtenBytes);
        const told = newTold();
        await runUntilDeath(disk, told);
        const { dir, log } = await reopen(disk.afterKill());
        const label = `killed at operation ${String(number)} of ${String(operations)}, ${String(writtenBytes)} bytes`;
        if (!log) {
          expect(told.appended.size, label).toBe(0);
          continue;
        }
        try {
          expectConsistent(log, told, false);
          expectRemade(dir, told, false);
          const producer = log.producers().find((one) => one.producerId === 7n);
          // As in Kafka, a restart forgets producers whose records are all below the log start.
          if (told.lastSequence >= 0 && log.logStartOffset <= BigInt(told.lastSequence)) {
            expect(producer?.lastSequence ?? -1, label).toBeGreaterThanOrEqual(told.lastSequence);
          }
          await expectUsable(dir, log);
        } catch (error) {
          throw new Error(label, { cause: error });
        }
      }
    }
  }, 120_000);
});

describe('a power loss at any operation', () => {
  it('leaves a log with everything that was flushed, and nothing deleted', async () => {
    const whole = new MemoryDisk();
    await run(whole, newTold());
    const operations = whole.operationCount;
    for (let number = 1; number <= operations; number++) {
      for (let seed = 0; seed < 6; seed++) {
        const disk = new MemoryDisk();
        disk.killAt(number, seed * 40);
        const told = newTold();
        await runUntilDeath(disk, told);
        const random = seededRandom(number * 100 + seed);
        const { dir, log } = await reopen(disk.afterPowerLoss(random.next));
        const label = `power lost at operation ${String(number)} of ${String(operations)}, seed ${String(seed)}`;
        if (!log) {
          expect(told.flushedTo, label).toBe(0n);
          expect(told.deletedTo, label).toBe(0n);
          continue;
        }
        try {
          expectConsistent(log, told, true);
          expectRemade(dir, told, true);
          await expectUsable(dir, log);
        } catch (error) {
          throw new Error(label, { cause: error });
        }
      }
    }
  }, 120_000);
});
