import { describe, expect, it } from 'vitest';
import { OffsetOutOfRangeError, PolicyViolationError } from '../errors.ts';
import { plainBatch, recordsIn } from '../testing/batches.ts';
import { newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';
import type { Log } from './log.ts';

const CHECKPOINT = `${ROOT}/log-start-offset-checkpoint`;

describe('deleteRecords', () => {
  it('moves the start at once, also inside a batch (KAFKA-6975)', async () => {
    const { log } = await newMemoryLog();
    log.appendAsLeader(plainBatch(10));
    const durable = log.deleteRecords(5n);
    expect(log.logStartOffset).toBe(5n);
    expect(() => log.read(4n, 1000)).toThrow(OffsetOutOfRangeError);
    expect(recordsIn(log.read(5n, 1000).records)).toHaveLength(10);
    expect(readAll(log).map((one) => one.offset)).toEqual([5n, 6n, 7n, 8n, 9n]);
    expect(await durable).toBe(5n);
  });

  it('survives a power loss once it has been answered', async () => {
    const { log, disk, clock, config } = await newMemoryLog();
    log.appendAsLeader(plainBatch(10));
    await log.flush();
    await log.deleteRecords(7n);
    for (const choice of [0, 0.4, 0.99]) {
      const dir = await openMemoryDir({ disk: disk.afterPowerLoss(() => choice), clock, config });
      expect(dir.log('t', 0)?.logStartOffset).toBe(7n);
      expect(dir.log('t', 0)?.logEndOffset).toBe(10n);
    }
  });

  it('up to -1 leaves an empty log that goes on at its end (kafkajs#987)', async () => {
    const { log, dir, disk, clock, config } = await newMemoryLog();
    log.appendAsLeader(plainBatch(3));
    expect(await log.deleteRecords(-1n)).toBe(3n);
    expect([log.logStartOffset, log.highWatermark, log.logEndOffset]).toEqual([3n, 3n, 3n]);
    await dir.runRetention();
    await dir.close();
    const again = await openMemoryDir({ disk, clock, config });
    const reopened = again.log('t', 0) as Log;
    expect(reopened.logStartOffset).toBe(3n);
    expect(reopened.appendAsLeader(plainBatch(1)).firstOffset).toBe(3n);
  });

  it('refuses what lies above the high watermark, and topics without delete', async () => {
    const { log } = await newMemoryLog();
    log.appendAsLeader(plainBatch(3));
    await expect(log.deleteRecords(4n)).rejects.toThrow(OffsetOutOfRangeError);
    await expect(log.deleteRecords(-2n)).rejects.toThrow(OffsetOutOfRangeError);
    expect(await log.deleteRecords(2n)).toBe(2n);
    expect(await log.deleteRecords(1n)).toBe(2n);
    const compacted = await newMemoryLog({ 'cleanup.policy': 'compact' });
    await expect(compacted.log.deleteRecords(99n)).rejects.toThrow(PolicyViolationError);
  });

  it('writes one checkpoint for all calls of a tick', async () => {
    const { dir, disk, config } = await newMemoryLog();
    const logs = [1, 2, 3, 4].map((partition) => dir.createLog('t', partition, null, config));
    for (const log of logs) log.appendAsLeader(plainBatch(4));
    let renames = 0;
    disk.onOperation = (operation) => {
      if (operation.kind === 'rename' && operation.path.startsWith(CHECKPOINT)) renames++;
      return undefined;
    };
    await Promise.all(logs.map((log) => log.deleteRecords(2n)));
    expect(renames).toBe(1);
    expect(disk.readFile(CHECKPOINT).toString()).toBe('0\n4\nt 1 2\nt 2 2\nt 3 2\nt 4 2\n');
  });

  it('is written no more once whole segments are gone', async () => {
    const { log, dir, disk } = await newMemoryLog();
    log.appendAsLeader(plainBatch(4));
    log.roll();
    log.appendAsLeader(plainBatch(4));
    await log.deleteRecords(4n);
    expect(disk.readFile(CHECKPOINT).toString()).toBe('0\n1\nt 0 4\n');
    await dir.runRetention();
    expect(disk.readFile(CHECKPOINT).toString()).toBe('0\n0\n');
  });
});
