import { describe, expect, it } from 'vitest';
import { LogDirError, LogDirNeedsRecoveryError } from '../errors.ts';
import type { LogDir } from '../log-dir/log-dir.ts';
import type { Log } from '../log/log.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import type { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf, markerBatch } from '../testing/batches.ts';
import { toolsOf } from '../testing/cleaning.ts';
import { configOf, newMemoryLog, readAll, ROOT } from '../testing/memory-log-dir.ts';
import { cleanOnce } from './clean-once.ts';
import { describeCleaning } from './describe-cleaning.ts';
import { openForCleaning, openForLooking } from './open-for-cleaning.ts';
import type { OfflineOptions } from './open-for-cleaning.ts';
import { rehearseCleaning } from './rehearse-cleaning.ts';

const SETTINGS = { 'cleanup.policy': 'compact', 'internal.segment.bytes': '300' };
const clock = new FakeClock();

function optionsOf(disk: MemoryDisk): OfflineOptions {
  return {
    disk,
    clock,
    configOf: () => ({ ...configOf(SETTINGS), fileDeleteDelayMs: 0 }),
    locker: { acquire: () => Promise.resolve({ release: () => Promise.resolve() }) },
  };
}

/** A directory that was shut down, with superseded records over several segments. */
async function filled(): Promise<MemoryDisk> {
  const { dir, disk, log } = await newMemoryLog(SETTINGS);
  for (let i = 0; i < 20; i++) {
    log.appendAsLeader(batchOf([{ key: `k${String(i % 7)}`, value: String(i) }]));
  }
  log.roll();
  await dir.close();
  return disk.afterKill();
}

const tableOf = (log: Log): unknown =>
  Object.fromEntries(readAll(log).map(({ key, value }) => [key, value]));

/** What `millrace clean` does with the one log. */
async function clean(disk: MemoryDisk): Promise<void> {
  const dir = await openForCleaning(ROOT, optionsOf(disk));
  try {
    const log = dir.log('t', 0) as Log;
    const { range } = describeCleaning(log, dir.cleanerOffsets.get('t-0'), clock.now());
    const tools = toolsOf(disk, clock);
    const { nextFirstDirtyOffset } = await cleanOnce(log, range, tools, clock.now());
    await dir.updateCleanerOffset(log, nextFirstDirtyOffset);
  } finally {
    await dir.close();
  }
}

async function looked<T>(disk: MemoryDisk, look: (dir: LogDir) => T): Promise<T> {
  const { dir } = await openForLooking(ROOT, optionsOf(disk));
  try {
    return look(dir);
  } finally {
    await dir.close();
  }
}

describe('a directory that is only looked at', () => {
  it('has not one operation made on it, though passes are rehearsed, also if it cannot be written', async () => {
    const disk = await filled();
    disk.onOperation = (operation) => ({
      error: Object.assign(new Error(`EROFS: read-only, ${operation.kind}`), { code: 'EROFS' }),
    });
    const before = disk.operationCount;
    const { dir, disk: seen } = await openForLooking(ROOT, optionsOf(disk));
    const log = dir.log('t', 0) as Log;
    const { range } = describeCleaning(log, undefined, clock.now());
    const { removed } = rehearseCleaning(log, range, toolsOf(seen, clock), clock.now());
    expect(removed.records).toBe(13);
    await dir.close();
    expect(disk.operationCount).toBe(before);
    const failure: unknown = await clean(disk).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LogDirError);
    expect((failure as Error).message).toMatch(/could not .* \/data\/.*EROFS/);
  });

  it('and would lose records by being opened is refused, with every place', async () => {
    const disk = await filled();
    const file = `${ROOT}/t-0/${'0'.repeat(20)}.log`;
    disk.unlink(`${ROOT}/.kafka_cleanshutdown`);
    disk.unlink(`${ROOT}/recovery-point-offset-checkpoint`);
    const handle = disk.open(file, 'readWrite');
    handle.truncate(handle.sizeBytes() - 1);
    const before = disk.operationCount;
    for (const open of [openForLooking, openForCleaning]) {
      const failure: unknown = await open(ROOT, optionsOf(disk)).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(LogDirNeedsRecoveryError);
      expect((failure as Error).message).toMatch(
        /0{20}\.log at byte \d+: \d+ bytes would be cut off/,
      );
      expect((failure as Error).message).toMatch(/bytes would go/);
    }
    expect(disk.operationCount).toBe(before);
  });
});

describe('what is above the high watermark', () => {
  const regions = async (checkpoint: string | null, options: OfflineOptions = {}) => {
    const { dir, disk, log } = await newMemoryLog(SETTINGS);
    const plain = (): void => {
      log.appendAsLeader(batchOf([{ key: 'k', value: 'x' }]));
      log.roll();
    };
    const producer = { producerId: 5n, producerEpoch: 0, baseSequence: 0, isTransactional: true };
    plain();
    log.appendAsLeader(batchOf([{ key: 'k', value: 'transactional' }], producer));
    log.roll();
    plain();
    log.appendAsLeader(markerBatch('commit', 5n), { origin: 'coordinator' });
    log.roll();
    plain();
    await dir.close();
    disk.unlink(`${ROOT}/replication-offset-checkpoint`);
    if (checkpoint !== null) {
      disk.writeFile(`${ROOT}/replication-offset-checkpoint`, Buffer.from(checkpoint));
    }
    const looked = await openForLooking(ROOT, { ...optionsOf(disk), ...options });
    const { range } = describeCleaning(looked.dir.log('t', 0) as Log, undefined, clock.now());
    await looked.dir.close();
    return range.firstUncleanableOffset;
  };

  it('is not cleaned, nor a transaction that is decided only there (KAFKA-13194)', async () => {
    expect(await regions('0\n1\nt 0 5\n')).toBe(5n);
    expect(await regions('0\n1\nt 0 4\n')).toBe(4n);
    // The marker, at 3, is above.
    expect(await regions('0\n1\nt 0 3\n')).toBe(1n);
    expect(await regions('0\n1\nt 0 1\n')).toBe(1n);
    expect(await regions('0\n0\n')).toBe(0n);
  });

  it('is nothing where there is no such checkpoint, or all logs are on this broker alone', async () => {
    expect(await regions(null)).toBe(5n);
    expect(await regions('0\n1\nt 0 1\n', { highWatermarks: 'log-end' })).toBe(5n);
  });
});

describe('a directory that is cleaned', () => {
  it('knows nothing of a partition that was moved away, and begins anew with one that came (KAFKA-8362)', async () => {
    const from = await filled();
    const to = await filled();
    from.writeFile(`${ROOT}/cleaner-offset-checkpoint`, Buffer.from('0\n1\nt 0 20\n'));
    to.rename(`${ROOT}/t-0`, `${ROOT}/u-0`);
    to.makeDirectory(`${ROOT}/t-0`);
    for (const { name } of from.list(`${ROOT}/t-0`)) {
      to.writeFile(`${ROOT}/t-0/${name}`, from.readFile(`${ROOT}/t-0/${name}`));
    }
    await from.removeTree(`${ROOT}/t-0`);
    from.makeDirectory(`${ROOT}/v-0`);
    await (await openForCleaning(ROOT, optionsOf(from))).close();
    expect(from.readFile(`${ROOT}/cleaner-offset-checkpoint`).toString()).toBe('0\n0\n');
    await clean(to);
    expect(to.readFile(`${ROOT}/cleaner-offset-checkpoint`).toString()).toBe('0\n1\nt 0 20\n');
    await looked(to, (dir) => {
      expect(readAll(dir.log('t', 0) as Log)).toHaveLength(7);
    });
  });

  it('has all of its last values after a full disk at any write, and is cleaned once there is room', async () => {
    const table = await looked(await filled(), (dir) => tableOf(dir.log('t', 0) as Log));
    let failures = 0;
    for (let fullFrom = 1; ; fullFrom++) {
      const disk = await filled();
      let writes = 0;
      disk.onOperation = (operation) => {
        if (operation.kind !== 'write' && operation.kind !== 'create') return undefined;
        if (++writes < fullFrom) return undefined;
        const error = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
        return { error, writtenBytes: Math.floor(operation.bytes / 2) };
      };
      const failure: unknown = await clean(disk).then(
        () => null,
        (error: unknown) => error,
      );
      if (failure === null) break;
      failures++;
      expect(failure).toMatchObject({ code: 'LOG_STORAGE_FULL' });
      expect((failure as Error).message).toMatch(/no space left to .* \/data\/.*free space/);
      disk.onOperation = null;
      expect(await looked(disk, (dir) => tableOf(dir.log('t', 0) as Log))).toEqual(table);
      await clean(disk);
      await looked(disk, (dir) => {
        const log = dir.log('t', 0) as Log;
        expect(tableOf(log)).toEqual(table);
        expect(readAll(log)).toHaveLength(7);
        expect(log.logEndOffset).toBe(20n);
      });
    }
    expect(failures).toBeGreaterThan(10);
  });
});
