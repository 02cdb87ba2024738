import { beforeEach, describe, expect, it } from 'vitest';
import { StorageFullError } from '../errors.ts';
import type { LogDir } from '../log-dir/log-dir.ts';
import type { Log } from '../log/log.ts';
import type { FakeClock } from '../platform/fake-clock.ts';
import type { MemoryDisk, Operation } from '../platform/memory-disk.ts';
import { batchOf } from '../testing/batches.ts';
import type { SeenRecord } from '../testing/batches.ts';
import { cleanNow, toolsOf } from '../testing/cleaning.ts';
import { configOf, newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';
import { seededRandom } from '../testing/seeded-random.ts';

const SETTINGS = {
  'cleanup.policy': 'compact',
  'internal.segment.bytes': '400',
  'index.interval.bytes': '50',
  'file.delete.delay.ms': '1000',
};

async function newLog(): Promise<{ disk: MemoryDisk; clock: FakeClock; dir: LogDir; log: Log }> {
  const made = await newMemoryLog(SETTINGS);
  for (let round = 0; round < 6; round++) {
    for (const key of ['a', 'b', `own-${String(round)}`]) {
      const value = round === 4 && key === 'b' ? null : `${key}${String(round)}`;
      made.log.appendAsLeader(batchOf([{ key, value }]));
    }
    if (round % 2 === 1) made.log.roll();
  }
  made.log.appendAsLeader(batchOf([{ key: 'tail', value: 'x' }]));
  await made.log.flush();
  return made;
}

/** Opens what a kill or a power loss has left. */
async function reopen(disk: MemoryDisk, clock: FakeClock): Promise<Log> {
  const dir = await openMemoryDir({ disk, clock, config: configOf(SETTINGS) });
  return dir.log('t', 0) as Log;
}

const lastValues = (records: readonly SeenRecord[]): Record<string, string | null> =>
  Object.fromEntries(records.map((one) => [one.key ?? '', one.value] as const));

/** Names that only a replacement under way has. */
function leftovers(disk: MemoryDisk): string[] {
  return disk
    .list(`${ROOT}/t-0`)
    .map((entry) => entry.name)
    .filter((name) => /\.(cleaned|swap|deleted)$/.test(name));
}

describe('a pass that is killed', () => {
  let all: SeenRecord[];
  let survivors: SeenRecord[];
  let operations: Operation[];
  let first = 0;

  beforeEach(async () => {
    const { disk, clock, log } = await newLog();
    all = readAll(log);
    first = disk.operationCount + 1;
    operations = [];
    disk.onOperation = (operation) => {
      operations.push(operation);
      return undefined;
    };
    await cleanNow(log, toolsOf(disk, clock), undefined);
    survivors = readAll(log);
  });

  it('has removed something, in more than one group, when it is not', () => {
    expect(survivors.length).toBeLessThan(all.length);
    const swapped = operations.filter(
      (one) => one.kind === 'rename' && one.path.endsWith('.log.cleaned'),
    );
    expect(swapped.length).toBeGreaterThan(1);
  });

  const judge = (log: Log, disk: MemoryDisk): void => {
    const found = readAll(log);
    const offsets = new Set(found.map((one) => one.offset));
    // Every record that is there is one of before, and nothing that survives is missing, whatever of
    // the rest is.
    expect(all).toEqual(expect.arrayContaining(found));
    expect(survivors.filter((one) => !offsets.has(one.offset))).toEqual([]);
    expect(offsets.size).toBe(found.length);
    expect(lastValues(found)).toEqual(lastValues(all));
    expect(log.logEndOffset).toBe(BigInt(all.length));
    expect(leftovers(disk)).toEqual([]);
  };

  it('at any of its file operations leaves each group old or new, once (A12, P10, kafka-2118)', async () => {
    const last = first + operations.length;
    const states = new Set<string>();
    for (let at = first; at < last; at++) {
      for (const written of [0, 30]) {
        const { disk, clock, log } = await newLog();
        disk.killAt(at, written);
        await expect(cleanNow(log, toolsOf(disk, clock), undefined)).rejects.toThrow('killed');
        const after = disk.afterKill();
        states.add(
          leftovers(after)
            .map((name) => name.slice(20))
            .join(),
        );
        judge(await reopen(after, clock), after);
      }
    }
    // During .cleaned; some renamed; all renamed and the old ones there; some and all of them gone; after.
    expect(states.size).toBeGreaterThanOrEqual(6);
  });

  it('by a power loss leaves each group old or new, too', async () => {
    const random = seededRandom(5);
    const last = first + operations.length;
    for (let at = first; at < last; at++) {
      const { disk, clock, log } = await newLog();
      disk.killAt(at);
      await expect(cleanNow(log, toolsOf(disk, clock), undefined)).rejects.toThrow('killed');
      const after = disk.afterPowerLoss(() => random.next());
      judge(await reopen(after, clock), after);
    }
  });
});

describe('a pass on a disk that fails', () => {
  it('for want of space leaves the log as it was and no file, and the next one does it', async () => {
    const { disk, clock, log } = await newLog();
    const before = readAll(log);
    const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    disk.onOperation = ({ kind, path }) =>
      kind === 'write' && path.endsWith('.cleaned') ? { error: full, writtenBytes: 10 } : undefined;
    await expect(cleanNow(log, toolsOf(disk, clock), undefined)).rejects.toThrow(StorageFullError);
    expect(leftovers(disk)).toEqual([]);
    expect(readAll(log)).toEqual(before);
    expect(log.failure).toBeNull();
    disk.onOperation = null;
    expect(await cleanNow(log, toolsOf(disk, clock), undefined)).not.toBeNull();
    expect(lastValues(readAll(log))).toEqual(lastValues(before));
  });

  it('before the replacement counts takes it back', async () => {
    const { disk, clock, log } = await newLog();
    const before = readAll(log);
    let renames = 0;
    disk.onOperation = ({ kind }) =>
      kind === 'rename' && ++renames === 2 ? { error: new Error('EIO') } : undefined;
    await expect(cleanNow(log, toolsOf(disk, clock), undefined)).rejects.toThrow('EIO');
    expect(leftovers(disk)).toEqual([]);
    expect(log.failure).toBeNull();
    expect(readAll(log)).toEqual(before);
  });
});
