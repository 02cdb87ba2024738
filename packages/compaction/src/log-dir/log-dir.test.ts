import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  InconsistentTopicIdError,
  LogDirError,
  LogDirLockedError,
  MalformedFileError,
  StorageFullError,
} from '../errors.ts';
import type { MemoryDisk, Operation, OperationKind } from '../platform/memory-disk.ts';
import { markerBatch, plainBatch } from '../testing/batches.ts';
import { configOf, newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';
import { LogDir } from './log-dir.ts';

const TOPIC_ID = 'c29tZS10b3BpYy1pZC1YWQ';

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe('a log directory on disk', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'log-dir-'));
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  it('has one owner, by whatever path it is reached', async () => {
    const dir = await LogDir.open(root);
    await expect(LogDir.open(root)).rejects.toThrow(LogDirLockedError);
    const other = `${root}-link`;
    symlinkSync(root, other);
    try {
      await expect(LogDir.open(other)).rejects.toThrow(
        new RegExp(`process ${String(process.pid)}`),
      );
    } finally {
      rmSync(other);
    }
    await dir.close();
    const again = await LogDir.open(root);
    await again.close();
  });

  it('is free again after kill -9 of its owner', async () => {
    const { dev, ino } = statSync(root, { bigint: true });
    const script = `require('node:net').createServer().listen({ path: '\\0millrace-log-dir-${String(dev)}-${String(ino)}' }, () => console.log('held'));`;
    const holder = spawn(process.execPath, ['-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await expect(LogDir.open(root)).rejects.toThrow(LogDirLockedError);
    holder.kill('SIGKILL');
    await once(holder, 'close');
    const dir = await LogDir.open(root);
    await dir.close();
  });

  it('keeps its ids, and refuses another cluster or node', async () => {
    const first = await LogDir.open(root, { nodeId: 7 });
    const { clusterId, directoryId } = first;
    expect(clusterId).toMatch(/^[\w-]{22}$/);
    await first.close();
    const again = await LogDir.open(root);
    expect([again.clusterId, again.directoryId, again.nodeId]).toEqual([clusterId, directoryId, 7]);
    await again.close();
    await expect(LogDir.open(root, { clusterId: 'AAAAAAAAAAAAAAAAAAAAAQ' })).rejects.toThrow(
      /belongs to cluster/,
    );
    await expect(LogDir.open(root, { nodeId: 8 })).rejects.toThrow(/belongs to node 7/);
  });

  it('reads the meta.properties of a Kafka broker, old and new', async () => {
    writeFileSync(
      path.join(root, 'meta.properties'),
      '#\n#Sat Jan 01 00:00:00 UTC 2025\ncluster.id=u7wOKKYvTVuZkHH7xpc4vw\nversion=1\nnode.id=3\ndirectory.id=fGDQdBGhLXBNz2TlJCEJGw\n',
    );
    const dir = await LogDir.open(root);
    expect([dir.clusterId, dir.directoryId, dir.nodeId]).toEqual([
      'u7wOKKYvTVuZkHH7xpc4vw',
      'fGDQdBGhLXBNz2TlJCEJGw',
      3,
    ]);
    await dir.close();
    writeFileSync(path.join(root, 'meta.properties'), 'version=0\nbroker.id=5\n');
    const old = await LogDir.open(root);
    expect(old.nodeId).toBe(5);
    await old.close();
    writeFileSync(path.join(root, 'meta.properties'), 'version=9\n');
    await expect(LogDir.open(root)).rejects.toThrow(MalformedFileError);
  });

  it('leaves foreign directories alone and removes deleted ones', async () => {
    for (const name of ['__cluster_metadata-0', 'lost+found', `old-3.${'a'.repeat(32)}-delete`]) {
      mkdirSync(path.join(root, name));
    }
    const dir = await LogDir.open(root);
    expect([...dir.logs()]).toEqual([]);
    await dir.close();
    const left = (name: string): boolean => readdirSync(root).includes(name);
    expect(left('__cluster_metadata-0')).toBe(true);
    expect(left('lost+found')).toBe(true);
    expect(left(`old-3.${'a'.repeat(32)}-delete`)).toBe(false);
  });

  it('writes partition.metadata as Kafka does, and refuses another topic id', async () => {
    const dir = await LogDir.open(root);
    const log = dir.createLog('t', 0, TOPIC_ID, configOf());
    expect(readFileSync(path.join(root, 't-0', 'partition.metadata'), 'utf8')).toBe(
      `version: 0\ntopic_id: ${TOPIC_ID}`,
    );
    expect(() => {
      log.assignTopicId('AAAAAAAAAAAAAAAAAAAAAQ');
    }).toThrow(InconsistentTopicIdError);
    await dir.close();
    const again = await LogDir.open(root);
    expect(again.log('t', 0)?.topicId).toBe(TOPIC_ID);
    await again.close();
  });
});

describe('the files of a log directory', () => {
  it('hold recovery points, high watermarks and the mark of a clean shutdown', async () => {
    const { dir, log, disk } = await newMemoryLog();
    log.appendAsLeader(plainBatch(3));
    await dir.checkpoint();
    const text = (name: string): string => disk.readFile(`${ROOT}/${name}`).toString();
    expect(text('recovery-point-offset-checkpoint')).toBe('0\n1\nt 0 0\n');
    expect(text('replication-offset-checkpoint')).toBe('0\n1\nt 0 3\n');
    await log.flush();
    await dir.checkpoint();
    expect(text('recovery-point-offset-checkpoint')).toBe('0\n1\nt 0 3\n');
    await dir.close();
    expect(JSON.parse(text('.kafka_cleanshutdown'))).toEqual({ version: 0, brokerEpoch: -1 });
  });

  it('that are junk keep the directory closed', async () => {
    for (const text of ['1\n0\n', '0\nx\n', '0\n2\nt 0 1\n', '0\n1\nt 0\n', '0\n1\nt 0 -1\n']) {
      const { dir, disk, clock, config } = await newMemoryLog();
      await dir.close();
      disk.writeFile(`${ROOT}/recovery-point-offset-checkpoint`, Buffer.from(text));
      await expect(openMemoryDir({ disk, clock, config }), text).rejects.toThrow(
        MalformedFileError,
      );
    }
  });

  it('may hold junk of the cleaner, who then starts again', async () => {
    const { dir, disk, clock, config } = await newMemoryLog();
    await dir.close();
    disk.writeFile(`${ROOT}/cleaner-offset-checkpoint`, Buffer.from('7\n'));
    const again = await openMemoryDir({ disk, clock, config });
    expect(again.cleanerOffsets.size).toBe(0);
  });

  it('forget logs that are gone, so that a new one inherits nothing (KAFKA-1819)', async () => {
    const { dir, log, disk, clock, config } = await newMemoryLog();
    log.appendAsLeader(plainBatch(9));
    log.roll();
    await log.deleteRecords(5n);
    disk.writeFile(`${ROOT}/cleaner-offset-checkpoint`, Buffer.from('0\n1\nt 0 5\n'));
    await dir.close();
    const again = await openMemoryDir({ disk, clock, config });
    expect(again.cleanerOffsets.get('t-0')).toBe(5n);
    await again.deleteLog('t', 0);
    for (const name of ['recovery-point', 'log-start', 'replication', 'cleaner']) {
      expect(disk.readFile(`${ROOT}/${name}-offset-checkpoint`).toString(), name).toBe('0\n0\n');
    }
    const fresh = again.createLog('t', 0, null, config);
    expect([fresh.logStartOffset, fresh.logEndOffset]).toEqual([0n, 0n]);
  });
});

describe('an entry of a log that is not there', () => {
  it('is gone before a log of that name can be made', async () => {
    const { dir, disk, clock, config } = await newMemoryLog();
    await dir.close();
    disk.writeFile(`${ROOT}/log-start-offset-checkpoint`, Buffer.from('0\n1\nu 0 500\n'));
    const again = await openMemoryDir({ disk, clock, config });
    again.createLog('u', 0, null, config).appendAsLeader(plainBatch(3));
    const killed = await openMemoryDir({ disk: disk.afterKill(), clock, config });
    const log = killed.log('u', 0);
    expect([log?.logStartOffset, log?.logEndOffset]).toEqual([0n, 3n]);
  });
});

describe('deleting a log', () => {
  it('takes it away at once and off the disk after file.delete.delay.ms', async () => {
    const { dir, log, disk, clock } = await newMemoryLog();
    log.appendAsLeader(plainBatch(2));
    const gone = dir.deleteLog('t', 0);
    expect(dir.log('t', 0)).toBeUndefined();
    expect(() => log.read(0n, 100)).toThrow(LogDirError);
    expect(() => log.appendAsLeader(plainBatch(1))).toThrow(LogDirError);
    await gone;
    const deleted = (): string[] =>
      disk
        .list(ROOT)
        .map((one) => one.name)
        .filter((name) => /^t-0\.[0-9a-f]{32}-delete$/.test(name));
    expect(deleted()).toHaveLength(1);
    clock.advance(60_000);
    await new Promise(setImmediate);
    expect(deleted()).toHaveLength(0);
    await dir.deleteLog('t', 0);
  });

  it('does not make room for a new one before its traces are gone', async () => {
    const { dir, config } = await newMemoryLog();
    const gone = dir.deleteLog('t', 0);
    expect(() => dir.createLog('t', 0, null, config)).toThrow(/being deleted/);
    await gone;
    dir.createLog('t', 0, null, config);
  });

  it('refuses names that are no topics, and logs that are there', async () => {
    const { dir, config } = await newMemoryLog();
    for (const name of ['', '.', '..', 'a/b', 'ä', 'x'.repeat(250)]) {
      expect(() => dir.createLog(name, 0, null, config), name).toThrow(LogDirError);
    }
    expect(() => dir.createLog('t', 0, null, config)).toThrow(/exists/);
  });
});

describe('a disk that fails', () => {
  it('full: the append is refused, nothing of it stays, the next one works', async () => {
    for (const written of [0, 10, 100]) {
      const { log, disk } = await newMemoryLog();
      log.appendAsLeader(plainBatch(3));
      disk.onOperation = ({ kind }: Operation) =>
        kind === 'write' ? { error: systemError('ENOSPC'), writtenBytes: written } : undefined;
      expect(() => log.appendAsLeader(plainBatch(3))).toThrow(StorageFullError);
      disk.onOperation = null;
      expect(log.appendAsLeader(plainBatch(2)).firstOffset).toBe(3n);
      expect(readAll(log)).toHaveLength(5);
    }
  });

  it('full during a roll: the log goes on once there is room', async () => {
    for (let at = 1; at < 8; at++) {
      const { log, disk } = await newMemoryLog({ 'internal.segment.bytes': '150' });
      log.appendAsLeader(plainBatch(3, { producerId: 1n, producerEpoch: 0, baseSequence: 0 }));
      let count = 0;
      disk.onOperation = ({ kind }) =>
        (kind === 'write' || kind === 'create') && ++count >= at
          ? { error: systemError('ENOSPC') }
          : undefined;
      try {
        log.appendAsLeader(plainBatch(3, { producerId: 1n, producerEpoch: 0, baseSequence: 3 }));
      } catch (error) {
        expect(error).toBeInstanceOf(StorageFullError);
      }
      disk.onOperation = null;
      log.appendAsLeader(plainBatch(3, { producerId: 1n, producerEpoch: 0, baseSequence: 3 }));
      expect(readAll(log), String(at)).toHaveLength(6);
    }
  });

  /** What a log does beside appending, on a disk that has no room for it, and then has. */
  async function whileFull(
    disk: MemoryDisk,
    kinds: readonly OperationKind[],
    work: () => unknown,
  ): Promise<void> {
    disk.onOperation = ({ kind }) =>
      kinds.includes(kind) ? { error: systemError('ENOSPC'), writtenBytes: 5 } : undefined;
    try {
      await work();
    } catch (error) {
      expect(error).toBeInstanceOf(StorageFullError);
    }
    // Whatever was only asked for has been tried by now.
    await new Promise((resolve) => setImmediate(resolve));
    disk.onOperation = null;
  }

  const NO_ROOM = ['write', 'create', 'makeDirectory'] as const;

  it('full when deleted records change the epochs and the log start: both are there after a start', async () => {
    const { log, dir, disk, clock, config } = await newMemoryLog();
    for (let i = 0; i < 4; i++) log.appendAsLeader(plainBatch(1), { leaderEpoch: i });
    await log.flush();
    await whileFull(disk, NO_ROOM, () => log.deleteRecords(2n));
    expect(log.failure).toBeNull();
    log.appendAsLeader(plainBatch(1), { leaderEpoch: 3 });
    expect(await log.deleteRecords(2n)).toBe(2n);
    await log.flush();
    const after = await openMemoryDir({ disk: disk.afterKill(), clock, config });
    expect(after.log('t', 0)?.logStartOffset).toBe(2n);
    expect(after.log('t', 0)?.leaderEpochs).toEqual(log.leaderEpochs);
    await dir.close();
  });

  it('full when an abort is written to the index: readers are told of it, then and after a start', async () => {
    const { log, dir, disk, clock, config } = await newMemoryLog();
    const producer = { producerId: 1n, producerEpoch: 0, isTransactional: true };
    log.appendAsLeader(plainBatch(2, { ...producer, baseSequence: 0 }));
    let refusedCount = 0;
    disk.onOperation = ({ kind, path: file }) => {
      if (kind !== 'create' || !file.endsWith('.txnindex') || refusedCount > 0) return undefined;
      refusedCount++;
      return { error: systemError('ENOSPC') };
    };
    log.appendAsLeader(markerBatch('abort', 1n), { origin: 'coordinator' });
    expect(refusedCount).toBe(1);
    const aborted = [{ producerId: 1n, firstOffset: 0n }];
    const isolation = { isolation: 'readCommitted' } as const;
    expect(log.read(0n, 1000, isolation).abortedTransactions).toMatchObject(aborted);
    expect(log.failure).toBeNull();
    await dir.close();
    const after = await openMemoryDir({ disk: disk.afterKill(), clock, config });
    expect(disk.stat(`${ROOT}/.kafka_cleanshutdown`)).not.toBeNull();
    expect(after.log('t', 0)?.read(0n, 1000, isolation).abortedTransactions).toMatchObject(aborted);
    await after.close();
  });

  it('full when indexes are written, or retention begins a segment: both succeed later', async () => {
    const { log, dir, disk, clock } = await newMemoryLog({
      'index.interval.bytes': '0',
      'retention.ms': '1000',
    });
    for (let i = 0; i < 5; i++) log.appendAsLeader(plainBatch(3));
    await whileFull(disk, NO_ROOM, () => log.flush());
    expect(log.failure).toBeNull();
    await log.flush();
    expect(log.recoveryPoint).toBe(15n);
    clock.advance(10_000_000);
    await whileFull(disk, NO_ROOM, () => log.runRetention());
    expect(log.failure).toBeNull();
    expect(log.runRetention().deletedSegments).toBe(1);
    expect(log.appendAsLeader(plainBatch(2)).firstOffset).toBe(15n);
    await dir.close();
  });

  it('full when it syncs: what was written may be lost, so the log goes out of service', async () => {
    const { log, dir, disk } = await newMemoryLog();
    log.appendAsLeader(plainBatch(1));
    await whileFull(disk, ['sync'], () => log.flush()).catch(() => undefined);
    expect(log.failure).toBeInstanceOf(LogDirError);
    disk.onOperation = null;
    await dir.close();
  });

  it('broken: the log goes out of service and says where', async () => {
    const { log, dir, disk } = await newMemoryLog();
    log.appendAsLeader(plainBatch(1));
    disk.onOperation = ({ kind }) => (kind === 'sync' ? { error: systemError('EIO') } : undefined);
    await expect(log.flush()).rejects.toThrow(/could not sync .*00000000000000000000\.log/);
    disk.onOperation = null;
    expect(() => log.appendAsLeader(plainBatch(1))).toThrow(LogDirError);
    expect(log.failure).toBeInstanceOf(LogDirError);
    await dir.close();
    // Not clean: the next start looks at everything.
    expect(disk.stat(`${ROOT}/.kafka_cleanshutdown`)).toBeNull();
  });
});
