import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from '@millrace/broker';
import { FakeClock, LogDir, parseLogConfig } from '@millrace/compaction';
import { BatchBuilder } from '@millrace/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { millrace, type Result } from './test-support/millrace.ts';

const T = 1_700_000_000_000;
const COMPACT = ['--config', 'cleanup.policy=compact'];
const DAY_MS = 86_400_000;

function batch(key: string, value: string | null): Buffer {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
  const bytes = value === null ? null : Buffer.from(value);
  builder.appendBytes(T, Buffer.from(key), bytes, null);
  return Buffer.from(builder.build({}));
}

describe('clean', () => {
  let root: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'millrace-clean-'));
  });

  afterEach(async () => {
    await rm(root, { recursive: true });
  });

  /** Logs of 10 records of 2 keys, of which the last is in the active segment. */
  async function fill(...names: string[]): Promise<void> {
    const dir = await LogDir.open(root, { clock: new FakeClock(T) });
    for (const name of names) {
      const log = dir.createLog(name, 0, null, parseLogConfig(new Map()));
      for (let i = 0; i < 9; i++) log.appendAsLeader(batch(`k${i % 2}`, i === 8 ? null : `v${i}`));
      log.roll();
      log.appendAsLeader(batch('k0', 'active'));
    }
    await dir.close();
  }

  /** Every byte and time below the directory. */
  async function everything(directory = root): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {};
    for (const name of (await readdir(directory)).sort()) {
      const path = join(directory, name);
      const stat = await lstat(path, { bigint: true });
      const content = stat.isFile() ? (await readFile(path)).toString('hex') : null;
      found[path] = [stat.mtimeNs, stat.ino, content];
      if (stat.isDirectory()) Object.assign(found, await everything(path));
    }
    found[directory] = (await lstat(directory, { bigint: true })).mtimeNs;
    return found;
  }

  const logFile = (name: string): string => join(root, name, '00000000000000000000.log');

  async function checkpoint(): Promise<string> {
    return readFile(join(root, 'cleaner-offset-checkpoint'), 'utf8');
  }

  /** Fails, with this in its message, and changes nothing. */
  async function expectRefusal(
    args: readonly string[],
    ...parts: (string | RegExp)[]
  ): Promise<Result> {
    const before = await everything();
    const result = await millrace('clean', '--dir', root, ...args);
    expect(result.code).not.toBe(0);
    for (const part of parts) expect(result.err).toMatch(part);
    const after = await everything();
    // Holding the directory leaves the holder's name.
    const withoutLock = (all: Record<string, unknown>): unknown =>
      Object.entries(all).filter(([path]) => path !== join(root, '.lock'));
    expect(withoutLock(after)).toEqual(withoutLock(before));
    return result;
  }

  it('shows regions, ratio and reason of each log, and what a pass would remove, without a trace', async () => {
    await fill('a', 'b');
    await writeFile(join(root, 'cleaner-offset-checkpoint'), '0\n1\nb 0 9\n');
    const before = await everything();
    const { code, out, err } = await millrace('clean', '--dir', root, '--dry-run', ...COMPACT);
    expect(await everything()).toEqual(before);
    expect(code).toBe(0);
    expect(err).toBe('Nothing was changed: leave out --dry-run and --at to clean.');
    const bytes = (await lstat(logFile('a-0'))).size;
    expect(out.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
      'a-0: eligible, dirty ratio 1.000 reaches min.cleanable.dirty.ratio=0.5',
      ' REGION OFFSETS BYTES',
      ` compactable 0-9 ${bytes}`,
      expect.stringMatching(/^ active 9-10 \d+$/),
      expect.stringMatching(
        /^ a pass would remove 7 of 9 records \(0 of 1 tombstone\), 0 of 0 markers, \d+ of \d+ bytes$/,
      ),
      'b-0: not eligible, nothing is dirty but the active segment',
      ' REGION OFFSETS BYTES',
      ` clean 0-9 ${bytes}`,
      expect.stringMatching(/^ active 9-10 \d+$/),
      '1 of 2 logs eligible',
    ]);
  });

  it('sees the logs as at another time, as a line of JSON each, without a trace', async () => {
    await fill('a');
    // The tombstone has its horizon from the first pass on.
    const lag = ['-c', 'delete.retention.ms=0', '-c', 'min.cleanable.dirty.ratio=0'];
    expect((await millrace('clean', '--dir', root, ...COMPACT, ...lag)).code).toBe(0);
    await writeFile(join(root, 'cleaner-offset-checkpoint'), '0\n0\n');
    const before = await everything();
    const at = async (time: number, ...more: string[]): Promise<Record<string, unknown>> => {
      const args = ['--at', `@${time}`, '--json', ...COMPACT, ...more];
      const { code, out } = await millrace('clean', '--dir', root, ...args);
      expect(code).toBe(0);
      return JSON.parse(out) as Record<string, unknown>;
    };
    const later = Date.now() + 1_000;
    expect(await at(later)).toMatchObject({
      topic: 'a',
      partition: 0,
      cleanupPolicy: ['compact'],
      isEligible: true,
      reason: 'dirty-ratio',
      dirtyRatio: 1,
      minDirtyRatio: 0.5,
      firstDirtyOffset: '0',
      firstUncleanableOffset: '9',
      wouldRemove: { records: 1, tombstones: 1, markers: 0 },
      wouldEndAt: '9',
      cleaned: null,
      error: null,
    });
    expect(await at(later - DAY_MS)).toMatchObject({ wouldRemove: { records: 0, tombstones: 0 } });
    const young = ['-c', `min.compaction.lag.ms=${DAY_MS}`];
    expect(await at(T + DAY_MS - 1, ...young)).toMatchObject({
      isEligible: false,
      reason: 'held-back',
      wouldRemove: null,
      regions: [{ kind: 'protected', startOffset: '0', endOffset: '9' }, { kind: 'active' }],
      hold: { by: 'min.compaction.lag.ms', offset: '0', limit: DAY_MS, untilMs: T + DAY_MS },
    });
    expect(await at(T + DAY_MS, ...young)).toMatchObject({ isEligible: true, hold: null });
    expect(await everything()).toEqual(before);
  });

  it('cleans what is eligible, in as many passes as the offset map needs, and writes the checkpoint', async () => {
    await fill('a', 'b', 'c');
    await writeFile(join(root, 'cleaner-offset-checkpoint'), '0\n1\nc 0 9\n');
    const small = [
      '-c',
      'log.cleaner.dedupe.buffer.size=48',
      '-c',
      'min.cleanable.dirty.ratio=0.1',
    ];
    const unasked = await readFile(logFile('b-0'));
    const args = [...COMPACT, ...small, 'a-0', 'c'];
    const { code, out } = await millrace('clean', '--dir', root, ...args);
    expect(code).toBe(0);
    expect(out).toMatch(/cleaned in [2-9] passes: \d+ bytes of \d+ are left/);
    expect(out).toMatch(/1 of 2 logs cleaned$/);
    expect((await checkpoint()).split('\n').slice(2).sort()).toEqual(['', 'a 0 9', 'c 0 9']);
    expect(await readFile(logFile('b-0'))).toEqual(unasked);
    const dump = await millrace('dump-log', join(root, 'a-0'), '--records', '--json');
    const lines = dump.out.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    const records = lines.filter(({ kind }) => kind === 'record');
    expect(records.map(({ offset, value }) => [offset, value])).toEqual([
      ['7', 'v7'],
      ['8', null],
      ['9', 'active'],
    ]);
    expect((await readdir(join(root, 'a-0'))).filter((name) => name.endsWith('.deleted'))).toEqual(
      [],
    );
    const again = await millrace('clean', '--dir', root, ...COMPACT, 'a');
    expect(again.out).toContain('a-0: not eligible, nothing is dirty but the active segment');
  });

  it("takes configuration from Millrace's topics.json, and --config before it", async () => {
    const broker = await startBroker({ dataDir: root, inProcess: true });
    const servers = ['-b', broker.bootstrapServers];
    const policy = ['--config', 'cleanup.policy=compact'];
    await millrace('topics', 'create', 'a', ...policy, ...servers);
    await millrace('topics', 'create', 'b', ...servers);
    const running = await millrace('clean', '--dir', root, '--dry-run');
    expect(running).toMatchObject({ code: 1, out: '' });
    expect(running.err).toMatch(new RegExp(`${root} is in use by process ${process.pid}`));
    await broker.close();
    const { out, err } = await millrace('clean', '--dir', root, '--dry-run');
    expect(out).toMatch(/a-0: not eligible, nothing is dirty/);
    expect(out).toMatch(/b-0: not eligible, cleanup.policy=delete has no compact/);
    expect(err).not.toContain('topics.json');
    const given = await millrace('clean', '--dir', root, '--dry-run', ...COMPACT, 'b');
    expect(given.out).toMatch(/^b-0: not eligible, nothing is dirty/);
    await writeFile(join(root, 'topics.json'), '{');
    expect((await millrace('clean', '--dir', root)).err).toMatch(/topics.json: is no JSON/);
  });

  it('takes only internal topics of a Kafka directory for compacted, and says so', async () => {
    await fill('a', '__consumer_offsets');
    const { out, err } = await millrace('clean', '--dir', root, '--dry-run');
    expect(out).toMatch(/^__consumer_offsets-0: eligible/);
    expect(out).toMatch(/a-0: not eligible, cleanup.policy=delete has no compact/);
    expect(err).toContain(`There is no topics.json in ${root}`);
    expect(err).toContain('--config says what is different');
  });

  it('cleans nothing above the high watermark that Kafka has left', async () => {
    await fill('a', 'b');
    await writeFile(join(root, 'replication-offset-checkpoint'), '0\n1\na 0 10\n');
    const args = ['--dry-run', '--json', ...COMPACT];
    const { out } = await millrace('clean', '--dir', root, ...args);
    const logs = out.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(logs).toMatchObject([
      { topic: 'a', isEligible: true },
      { topic: 'b', isEligible: false, hold: { by: 'last-stable-offset', openTransaction: null } },
    ]);
    expect((await millrace('clean', '--dir', root, ...COMPACT)).code).toBe(0);
    expect(await readFile(join(root, 'replication-offset-checkpoint'), 'utf8')).toContain('b 0 0');
  });

  it.each([
    [['--config', 'min.compaction.lag.sm=1'], /min.compaction.lag.sm is not known. Did you mean/],
    [['--config', 'cleanup.policy=compress'], /cleanup.policy=compress: expected/],
    [['--config', 'log.cleaner.dedupe.buffer.size=24'], /log.cleaner.dedupe.buffer.size: 24 bytes/],
    [['--config', 'log.cleaner.io.buffer.size=x'], /log.cleaner.io.buffer.size=x: expected/],
    [['--at', 'tomorrow'], /'tomorrow' is no time/],
  ])('explains what is wrong with %j', async (args, message) => {
    const { code, err } = await millrace('clean', '--dir', root, ...args);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  it('says what there is when it is no directory of logs, or no log of that name', async () => {
    const nowhere = join(root, 'nowhere');
    expect((await millrace('clean', '--dir', nowhere)).err).toContain('there is no such directory');
    await expectRefusal([], /holds no log/);
    await fill('orders');
    await expectRefusal(['order'], /no log of order in .*Did you mean orders/);
    const partition = await millrace('clean', '--dir', join(root, 'orders-0'));
    expect(partition.err).toContain('is the directory of one partition');
    expect(await readdir(join(root, 'orders-0'))).not.toContain('meta.properties');
  });

  describe('on a directory that something is wrong with', () => {
    const flip = async (file: string, at: number): Promise<void> => {
      const bytes = await readFile(file);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
      await writeFile(file, bytes);
    };

    it('leaves a log with a damaged batch as it is, names the place, and cleans the others', async () => {
      await fill('a', 'b');
      const damagedAt = (await readFile(logFile('a-0'))).readInt32BE(8) + 12;
      await flip(logFile('a-0'), damagedAt + 65);
      const before = await everything(join(root, 'a-0'));
      const { code, out, err } = await millrace('clean', '--dir', root, ...COMPACT);
      expect(code).toBe(1);
      expect(err).toContain('1 log could not be cleaned; the segments in question are as before');
      expect(err).toContain(`${logFile('a-0')} at byte ${damagedAt}: the stored CRC`);
      expect(out).toMatch(/b-0: eligible.*\n(.*\n)*.*cleaned: /);
      expect(await checkpoint()).toBe('0\n1\nb 0 9\n');
      const names = async (): Promise<string[]> => readdir(join(root, 'a-0'));
      expect(await names()).toEqual(
        Object.keys(before)
          .map((path) => path.slice(join(root, 'a-0').length + 1))
          .filter((name) => name !== '')
          .sort(),
      );
      expect((before[logFile('a-0')] as unknown[])[2]).toBe(
        (await readFile(logFile('a-0'))).toString('hex'),
      );
      const dry = await millrace('clean', '--dir', root, '--dry-run', ...COMPACT);
      expect(dry.code).toBe(1);
      expect(dry.err).toContain(`${logFile('a-0')} at byte ${damagedAt}`);
    });

    it('names the place where a file was cut behind the back of a clean shutdown', async () => {
      await fill('a', 'b');
      const file = logFile('a-0');
      const bytes = await readFile(file);
      await writeFile(file, bytes.subarray(0, -5));
      const { code, err } = await millrace('clean', '--dir', root, ...COMPACT);
      expect(code).toBe(1);
      expect(err).toMatch(/a-0: .*0{20}\.log at byte \d+: a size of \d+ bytes where \d+ are left/);
      expect(await readFile(file)).toEqual(bytes.subarray(0, -5));
      expect(await checkpoint()).toBe('0\n1\nb 0 9\n');

      const active = join(root, 'a-0', '00000000000000000009.log');
      await writeFile(active, (await readFile(active)).subarray(0, -5));
      await expectRefusal(COMPACT, /0{19}9\.log at byte 0: no record batch/);
    });

    it('leaves directories of replicas that move or have gone astray alone', async () => {
      await fill('a');
      const id = '0123456789abcdef0123456789abcdef';
      for (const suffix of [`.${id}-future`, `.${id}-stray`]) {
        await mkdir(join(root, `b-0${suffix}`));
        await writeFile(logFile(`b-0${suffix}`), 'x');
      }
      const before = await everything();
      const { code, err } = await millrace('clean', '--dir', root, ...COMPACT);
      expect(code).toBe(0);
      expect(err).toContain(
        `a directory that holds no log is left alone (path=${join(root, 'b-0')}`,
      );
      const after = await everything();
      const astray = (all: Record<string, unknown>): unknown =>
        Object.entries(all).filter(([path]) => path.includes(id));
      expect(astray(after)).toEqual(astray(before));
    });

    it('does not recover a log after a kill where that would cut records off', async () => {
      await fill('a');
      await rm(join(root, '.kafka_cleanshutdown'));
      await rm(join(root, 'recovery-point-offset-checkpoint'));
      const { out } = await millrace('clean', '--dir', root, '--dry-run', ...COMPACT);
      expect(out).toContain('a-0: eligible');
      const bytes = await readFile(logFile('a-0'));
      await writeFile(logFile('a-0'), bytes.subarray(0, -3));
      const place = /00000000000000000000.log at byte \d+: \d+ bytes would be cut off/;
      const active = /00000000000000000009.log: all of its \d+ bytes would go/;
      await expectRefusal(COMPACT, place, active, /nothing was done/);
      await expectRefusal(['--dry-run', ...COMPACT], place, active);
    });

    it('finishes a replacement that a crash interrupted, and drops one that never came to count', async () => {
      await fill('a');
      const file = logFile('a-0');
      await writeFile(`${file}.cleaned`, '');
      const dry = await millrace('clean', '--dir', root, '--dry-run', ...COMPACT);
      expect(dry).toMatchObject({
        code: 0,
        out: expect.stringContaining('a-0: eligible') as string,
      });
      expect(await readdir(join(root, 'a-0'))).toContain('00000000000000000000.log.cleaned');
      await rm(`${file}.cleaned`);
      await writeFile(`${file}.swap`, await readFile(file));
      const { code, out } = await millrace('clean', '--dir', root, ...COMPACT);
      expect(code).toBe(0);
      expect(out).toContain('1 of 1 log cleaned');
      expect(
        (await readdir(join(root, 'a-0'))).filter((name) => /cleaned|swap/.test(name)),
      ).toEqual([]);
    });

    it.each([
      ['garbage', 'garbage\n', /version garbage is not known/],
      ['a wrong version', '7\n0\n', /version 7 is not known/],
      ['a negative offset', '0\n1\na 0 -5\n', /line 3 is "a 0 -5"/],
      ['a huge count', '0\n999999999\na 0 5\n', /1 entries where 999999999 are announced/],
    ])('starts over where the cleaner checkpoint has %s', async (_, content, warning) => {
      await fill('a');
      await writeFile(join(root, 'cleaner-offset-checkpoint'), content);
      const { code, out, err } = await millrace('clean', '--dir', root, ...COMPACT);
      expect(code).toBe(0);
      expect(err).toMatch(/the cleaner starts from the beginning again/);
      expect(err).toMatch(warning);
      expect(out).toContain('compactable  0-9');
      expect(await checkpoint()).toBe('0\n1\na 0 9\n');
    });

    it('repairs a cleaner checkpoint that lies outside of the log', async () => {
      await fill('a');
      await writeFile(join(root, 'cleaner-offset-checkpoint'), '0\n1\na 0 99\n');
      const never = ['-c', 'min.compaction.lag.bytes=1000000'];
      const { code, out } = await millrace('clean', '--dir', root, ...COMPACT, ...never);
      expect(code).toBe(0);
      expect(out).toContain('lag-protected  0-9');
      expect(await checkpoint()).toBe('0\n1\na 0 0\n');
      await writeFile(join(root, 'log-start-offset-checkpoint'), '0\n1\na 0 3\n');
      const below = await millrace('clean', '--dir', root, ...COMPACT, ...never);
      expect(below.out).toContain('the cleaner checkpoint lies outside of the log');
      expect(await checkpoint()).toBe('0\n1\na 0 3\n');
    });

    it.each([
      'recovery-point-offset-checkpoint',
      'log-start-offset-checkpoint',
      'replication-offset-checkpoint',
    ])('refuses a %s that is junk', async (name) => {
      await fill('a');
      await writeFile(join(root, name), '0\n3\na 0 1\n');
      await expectRefusal(COMPACT, new RegExp(`${name}: 1 entries where 3 are announced`));
      await writeFile(join(root, name), '0\n1\na 0 -1\n');
      await expectRefusal(COMPACT, new RegExp(`${name}: line 3 is "a 0 -1"`));
    });

    it('loses nothing to a log start checkpoint beyond the end', async () => {
      await fill('a');
      await writeFile(join(root, 'log-start-offset-checkpoint'), '0\n1\na 0 99\n');
      await expectRefusal(COMPACT, /00000000000000000000.log: all of its \d+ bytes would go/);
    });

    it('refuses what another version of Kafka has written, where it cannot be read', async () => {
      await fill('a');
      const meta = join(root, 'meta.properties');
      const written = await readFile(meta, 'utf8');
      await writeFile(meta, written.replace('version=1', 'version=9'));
      await expectRefusal(COMPACT, /meta.properties: version 9 is not known/);

      await writeFile(meta, 'version=0\nbroker.id=3\n');
      expect((await millrace('clean', '--dir', root, ...COMPACT)).code).toBe(0);
      expect(await readFile(meta, 'utf8')).toBe('version=0\nbroker.id=3\n');

      // A message of magic 1 with key a and value b, as Kafka 0.10 writes it.
      const old = Buffer.from(
        '0000000000000000' +
          '00000018' +
          '00000000' +
          '0100' +
          '0000018bcfe56800' +
          '0000000161' +
          '0000000162',
        'hex',
      );
      const { crc32 } = await import('node:zlib');
      old.writeUInt32BE(crc32(old.subarray(16)), 12);
      await writeFile(logFile('a-0'), old);
      await rm(join(root, 'cleaner-offset-checkpoint'));
      const before = await everything(join(root, 'a-0'));
      const legacy = /00000000000000000000.log at byte 0: a message format of before Kafka 0.11/;
      for (const args of [COMPACT, [...COMPACT, '--dry-run']]) {
        const { code, err } = await millrace('clean', '--dir', root, ...args);
        expect(code).toBe(1);
        expect(err).toMatch(legacy);
      }
      // Read by recovery, it must not pass for damage either.
      await rm(join(root, '.kafka_cleanshutdown'));
      await rm(join(root, 'recovery-point-offset-checkpoint'));
      await expectRefusal(COMPACT, legacy);
      const contents = (all: Record<string, unknown>): unknown =>
        Object.entries(all).map(([path, found]) => [
          path,
          Array.isArray(found) ? (found[2] as unknown) : null,
        ]);
      expect(contents(await everything(join(root, 'a-0')))).toEqual(contents(before));
    });

    it("leaves a controller's metadata log alone", async () => {
      await mkdir(join(root, '__cluster_metadata-0'));
      await writeFile(logFile('__cluster_metadata-0'), batch('k', 'v'));
      await expectRefusal(COMPACT, /no log but that of a controller's metadata/);
      const before = await everything(join(root, '__cluster_metadata-0'));
      await fill('a');
      const { code, out } = await millrace('clean', '--dir', root, ...COMPACT);
      expect(code).toBe(0);
      expect(out).not.toContain('metadata');
      expect(await everything(join(root, '__cluster_metadata-0'))).toEqual(before);
    });

    it('follows links, to the directory as well as to a partition', async () => {
      await fill('a');
      const elsewhere = await mkdtemp(join(tmpdir(), 'millrace-clean-link-'));
      try {
        await symlink(root, join(elsewhere, 'data'));
        const held = await LogDir.open(root);
        const other = await millrace('clean', '--dir', join(elsewhere, 'data'), ...COMPACT);
        expect(other).toMatchObject({
          code: 1,
          err: expect.stringContaining('is in use by') as string,
        });
        await held.close();

        const { rename } = await import('node:fs/promises');
        await rename(join(root, 'a-0'), join(elsewhere, 'moved'));
        await symlink(join(elsewhere, 'moved'), join(root, 'a-0'));
        const { code, out } = await millrace('clean', '--dir', join(elsewhere, 'data'), ...COMPACT);
        expect(code).toBe(0);
        expect(out).toContain('1 of 1 log cleaned');
        expect((await lstat(join(root, 'a-0'))).isSymbolicLink()).toBe(true);
        const sizes = await readdir(join(elsewhere, 'moved'));
        expect(sizes.filter((name) => /cleaned|swap|deleted/.test(name))).toEqual([]);
      } finally {
        await rm(elsewhere, { recursive: true });
      }
    });

    it('is not for two at a time', async () => {
      await fill('a');
      const held = await LogDir.open(root);
      for (const args of [COMPACT, ['--dry-run'], ['--at', '2030-01-01']]) {
        await expectRefusal(args, new RegExp(`is in use by process ${process.pid}.*stop it`));
      }
      await held.close();
    });
  });
});
