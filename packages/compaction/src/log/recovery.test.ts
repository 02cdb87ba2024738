import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { LogDirError, MalformedFileError, SegmentOverflowError } from '../errors.ts';
import type { MemoryDisk } from '../platform/memory-disk.ts';
import { markerBatch, plainBatch, T0 } from '../testing/batches.ts';
import { newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';
import type { Log } from './log.ts';

const DIR = `${ROOT}/t-0`;
const file = (base: number, suffix: string): string =>
  `${DIR}/${String(base).padStart(20, '0')}${suffix}`;
const names = (disk: MemoryDisk): string[] => disk.list(DIR).map((one) => one.name);

/** Two-record batches, two to a segment; a closed directory. */
async function closedLog(batches: number): Promise<Awaited<ReturnType<typeof newMemoryLog>>> {
  const size = plainBatch(2).length;
  const setup = await newMemoryLog({
    'internal.segment.bytes': String(2 * size),
    'index.interval.bytes': '10',
  });
  for (let i = 0; i < batches; i++) setup.log.appendAsLeader(plainBatch(2, { timestamp: T0 + i }));
  await setup.dir.close();
  return setup;
}

function unclean(disk: MemoryDisk, recoveryPoint = 0): void {
  disk.unlink(`${ROOT}/.kafka_cleanshutdown`);
  disk.writeFile(
    `${ROOT}/recovery-point-offset-checkpoint`,
    Buffer.from(`0\n1\nt 0 ${String(recoveryPoint)}\n`),
  );
}

describe('recovery of data', () => {
  it('cuts at the first damage and drops all later segments', async () => {
    for (const damage of ['bit', 'cut', 'zeros', 'junk'] as const) {
      const { disk, clock, config } = await closedLog(8);
      const target = file(4, '.log');
      const content = disk.readFile(target);
      const half = content.length / 2;
      if (damage === 'bit') content[half + 70] = (content[half + 70] ?? 0) ^ 4;
      if (damage === 'zeros') content.fill(0, half);
      const written = damage === 'cut' ? content.subarray(0, half + 20) : content;
      disk.writeFile(
        target,
        damage === 'junk'
          ? Buffer.concat([content.subarray(0, half), Buffer.from('junk')])
          : written,
      );
      unclean(disk);
      const dir = await openMemoryDir({ disk, clock, config });
      const log = dir.log('t', 0) as Log;
      expect(log.logEndOffset, damage).toBe(6n);
      expect(readAll(log)).toHaveLength(6);
      expect(log.appendAsLeader(plainBatch(2)).firstOffset).toBe(6n);
      await dir.close();
      expect(names(disk).filter((name) => name.endsWith('.log'))).toHaveLength(2);
    }
  });

  it('leaves alone what lies below the recovery point', async () => {
    const { disk, clock, config } = await closedLog(8);
    const content = disk.readFile(file(0, '.log'));
    content[80] = (content[80] ?? 0) ^ 4;
    disk.writeFile(file(0, '.log'), content);
    unclean(disk, 12);
    const dir = await openMemoryDir({ disk, clock, config });
    expect(dir.log('t', 0)?.logEndOffset).toBe(16n);
  });

  it('starts empty at a log start that lies behind the end', async () => {
    const { disk, clock, config } = await closedLog(4);
    disk.writeFile(`${ROOT}/log-start-offset-checkpoint`, Buffer.from('0\n1\nt 0 100\n'));
    unclean(disk);
    const dir = await openMemoryDir({ disk, clock, config });
    const log = dir.log('t', 0) as Log;
    expect([log.logStartOffset, log.logEndOffset]).toEqual([100n, 100n]);
    expect(log.leaderEpochs).toEqual([]);
    expect(log.appendAsLeader(plainBatch(1)).firstOffset).toBe(100n);
  });

  it('refuses offsets that an old cleaner spread over more than 2^31, and cuts nothing', async () => {
    const { disk, clock, config, dir } = await newMemoryLog();
    await dir.close();
    const content = Buffer.concat([plainBatch(1), plainBatch(1, { baseOffset: 2n ** 31n })]);
    disk.writeFile(file(0, '.log'), content);
    unclean(disk);
    await expect(openMemoryDir({ disk, clock, config })).rejects.toThrow(SegmentOverflowError);
    expect(disk.readFile(file(0, '.log'))).toEqual(content);
  });

  it('refuses message formats of before 0.11, and cuts nothing', async () => {
    const { disk, clock, config, dir } = await newMemoryLog();
    await dir.close();
    const old = Buffer.alloc(64);
    old.writeInt32BE(old.length - 12, 8);
    old.writeInt8(1, 16);
    old.writeUInt32BE(crc32(old.subarray(16)), 12);
    disk.writeFile(file(0, '.log'), old);
    unclean(disk);
    await expect(openMemoryDir({ disk, clock, config })).rejects.toThrow(LogDirError);
    expect(disk.readFile(file(0, '.log'))).toHaveLength(64);
  });
});

describe('recovery of indexes', () => {
  it('rebuilds what is missing, cut, preallocated or out of order, also after a clean shutdown', async () => {
    for (const damage of ['missing', 'cut', 'zeros', 'disorder', 'beyond'] as const) {
      for (const suffix of ['.index', '.timeindex']) {
        const { disk, clock, config } = await closedLog(8);
        const original = disk.readFile(file(4, suffix));
        expect(original.length).toBeGreaterThan(0);
        const content = {
          missing: original,
          cut: original.subarray(0, original.length - 3),
          zeros: Buffer.concat([original, Buffer.alloc(24)]),
          disorder: Buffer.concat([original, original]),
          beyond: Buffer.concat([
            original,
            Buffer.from('7fffffff7fffffff', 'hex'),
            Buffer.alloc(4),
          ]),
        }[damage];
        if (damage === 'missing') disk.unlink(file(4, suffix));
        else disk.writeFile(file(4, suffix), content);
        const dir = await openMemoryDir({ disk, clock, config });
        const log = dir.log('t', 0) as Log;
        expect(readAll(log)).toHaveLength(16);
        expect(log.offsetForTimestamp(T0 + 3)?.offset).toBe(6n);
        await dir.close();
        expect(disk.readFile(file(4, suffix)), `${damage} ${suffix}`).toEqual(original);
      }
    }
  });

  it('rebuilds the index of aborted transactions', async () => {
    const { disk, clock, config, log, dir } = await newMemoryLog();
    log.appendAsLeader(
      plainBatch(2, { producerId: 5n, producerEpoch: 0, baseSequence: 0, isTransactional: true }),
    );
    log.appendAsLeader(markerBatch('abort', 5n), { origin: 'coordinator' });
    await dir.close();
    const original = disk.readFile(file(0, '.txnindex'));
    disk.writeFile(file(0, '.txnindex'), Buffer.alloc(20));
    const again = await openMemoryDir({ disk, clock, config });
    const read = again.log('t', 0)?.read(0n, 1000, { isolation: 'readCommitted' });
    expect(read?.abortedTransactions).toHaveLength(1);
    await again.close();
    expect(disk.readFile(file(0, '.txnindex'))).toEqual(original);
  });

  it('removes indexes without a log, temporary and deleted files', async () => {
    const { disk, clock, config } = await closedLog(4);
    disk.writeFile(file(99, '.index'), Buffer.alloc(8));
    disk.writeFile(`${DIR}/leader-epoch-checkpoint.tmp`, Buffer.from('x'));
    disk.writeFile(file(0, '.log') + '.deleted', Buffer.from('x'));
    await openMemoryDir({ disk, clock, config });
    expect(names(disk).filter((name) => /deleted|tmp|99/.test(name))).toEqual([]);
  });

  it('refuses a leader epoch checkpoint that is junk', async () => {
    for (const text of ['1\n0\n', '0\n2\n0 0\n', '0\n1\nx y\n', '0\n2\n3 0\n2 5\n']) {
      const { disk, clock, config } = await closedLog(2);
      disk.writeFile(`${DIR}/leader-epoch-checkpoint`, Buffer.from(text));
      await expect(openMemoryDir({ disk, clock, config })).rejects.toThrow(MalformedFileError);
    }
  });
});

/** Segments 0 and 4 replaced by one at 0 that holds offsets 0-1 and 6-7, as a cleaner would. */
async function replacement(): Promise<{
  setup: Awaited<ReturnType<typeof closedLog>>;
  put: (state: '.cleaned' | '.swap') => void;
}> {
  const setup = await closedLog(8);
  const { disk } = setup;
  const half = plainBatch(2).length;
  const cleaned = Buffer.concat([
    disk.readFile(file(0, '.log')).subarray(0, half),
    disk.readFile(file(4, '.log')).subarray(half),
  ]);
  return {
    setup,
    put: (state) => {
      disk.writeFile(file(0, '.log') + state, cleaned);
      disk.writeFile(file(0, '.index') + state, Buffer.alloc(0));
      disk.writeFile(file(0, '.timeindex') + state, Buffer.alloc(0));
    },
  };
}

const OLD = Array.from({ length: 16 }, (_, i) => i);
const NEW = [0, 1, ...OLD.slice(6)];

describe('a replacement of segments that a crash interrupted', () => {
  async function offsetsAfter(setup: Awaited<ReturnType<typeof closedLog>>): Promise<number[]> {
    const dir = await openMemoryDir(setup);
    const log = dir.log('t', 0) as Log;
    expect(log.logEndOffset).toBe(16n);
    expect(names(setup.disk).filter((name) => /cleaned|swap|deleted/.test(name))).toEqual([]);
    return readAll(log).map((one) => Number(one.offset));
  }

  it('never happened while .cleaned files are written', async () => {
    const { setup, put } = await replacement();
    put('.cleaned');
    expect(await offsetsAfter(setup)).toEqual(OLD);
  });

  it('never happened while some are .cleaned and some .swap', async () => {
    const { setup, put } = await replacement();
    put('.cleaned');
    setup.disk.rename(file(0, '.timeindex') + '.cleaned', file(0, '.timeindex') + '.swap');
    expect(await offsetsAfter(setup)).toEqual(OLD);
  });

  it('counts once all are .swap, whether the old ones are there or not', async () => {
    for (let gone = 0; gone < 4; gone++) {
      const { setup, put } = await replacement();
      put('.swap');
      for (let i = 0; i < gone; i++) {
        const base = i < 2 ? 4 : 0;
        const suffix = i % 2 === 0 ? '.index' : '.log';
        setup.disk.rename(file(base, suffix), file(base, suffix) + '.deleted');
      }
      expect(await offsetsAfter(setup), String(gone)).toEqual(NEW);
    }
  });

  it('is finished when only some files have lost .swap', async () => {
    const { setup, put } = await replacement();
    put('.swap');
    for (const suffix of ['.log', '.index', '.timeindex']) {
      setup.disk.unlink(file(0, suffix));
      setup.disk.unlink(file(4, suffix));
    }
    setup.disk.rename(file(0, '.index') + '.swap', file(0, '.index'));
    expect(await offsetsAfter(setup)).toEqual(NEW);
  });
});
