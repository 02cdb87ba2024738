import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogDir, parseLogConfig } from '@millrace/compaction';
import {
  BatchBuilder,
  encodeControlBatch,
  encodeVersioned,
  GroupMetadataKey,
  GroupMetadataValue,
  OffsetCommitKey,
  OffsetCommitValue,
  RecordHeaders,
  TransactionLogKey,
  TransactionLogValue,
} from '@millrace/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { millrace } from './test-support/millrace.ts';

const T = 1_700_000_000_000;

type Pair = readonly [Buffer | null, Buffer | null];

function batch(baseOffset: bigint, pairs: readonly Pair[], headers?: RecordHeaders): Buffer {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
  for (const [key, value] of pairs) builder.appendBytes(T, key, value, headers ?? null);
  return Buffer.from(builder.build({ baseOffset }));
}

/** The first columns of a line. */
function columns(line: string | undefined): string[] {
  return (line ?? '').split(/ +/);
}

const text = (value: string): Buffer => Buffer.from(value);

describe('dump-log', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'millrace-dump-'));
  });

  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  async function write(partition: string, name: string, content: Buffer): Promise<string> {
    await mkdir(join(directory, partition), { recursive: true });
    const path = join(directory, partition, `${name.padStart(20, '0')}.log`);
    await writeFile(path, content);
    return path;
  }

  async function records(partition: string): Promise<object[]> {
    const path = join(directory, partition);
    const { code, out } = await millrace('dump-log', path, '--records', '--json');
    expect(code).toBe(0);
    return out
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string })
      .filter(({ kind }) => kind === 'record');
  }

  it('shows batches in columns, and records below them', async () => {
    const headers = new RecordHeaders().add('h', 'x');
    const one = batch(7n, [[text('k'), text('v')]], headers);
    const two = batch(8n, [
      [null, null],
      [text('é'), Buffer.from([0xff])],
    ]);
    const marker = encodeControlBatch({
      baseOffset: 10n,
      producerId: 5n,
      producerEpoch: 1,
      type: 'abort',
      coordinatorEpoch: 3,
      timestamp: T,
      leaderEpoch: 2,
    });
    const content = Buffer.concat([one, two, marker]);
    const path = await write('t-0', '7', content);
    const { code, out, err } = await millrace('dump-log', path, '--records');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const lines = out.split('\n');
    const time = '2023-11-14T22:13:20.000Z';
    expect(lines[0]).toBe(`${path}: ${String(content.length)} bytes`);
    expect(lines[1]).toMatch(/^OFFSETS +RECORDS +POSITION +BYTES +CODEC +MAX TIMESTAMP/);
    expect(columns(lines[2]).slice(0, 6)).toEqual([
      '7',
      '1',
      '0',
      String(one.length),
      'none',
      time,
    ]);
    expect(lines[3]).toBe(`  7  ${time}  key "k"  value "v"  headers [{"key":"h","value":"x"}]`);
    expect(columns(lines[4]).slice(0, 4)).toEqual([
      '8-9',
      '2',
      String(one.length),
      String(two.length),
    ]);
    expect(lines[5]).toBe(`  8  ${time}  key null  value null`);
    expect(lines[6]).toBe(`  9  ${time}  key "é"  value {"base64":"/w=="}`);
    expect(lines[7]).toMatch(/5 epoch 1 .* transactional {2}control$/);
    expect(lines[8]).toBe(`  10  ${time}  key {"control":"abort"}  value {"coordinatorEpoch":3}`);
    expect(lines[9]).toBe('3 batches, 4 records, offsets 7 to 10; no damage');
  });

  it('decodes the records of internal topics, and shows those of later kinds as they are', async () => {
    const offsetKey = encodeVersioned(OffsetCommitKey, 1, { group: 'g', topic: 't', partition: 2 });
    const offset = { offset: 9_007_199_254_740_993n, metadata: 'm', commitTimestamp: BigInt(T) };
    const group = {
      protocolType: 'consumer',
      generation: 4,
      protocol: 'range',
      leader: null,
      members: [],
    };
    await write(
      '__consumer_offsets-3',
      '0',
      batch(0n, [
        [offsetKey, encodeVersioned(OffsetCommitValue, 3, offset)],
        [offsetKey, null],
        [
          encodeVersioned(GroupMetadataKey, 2, { group: 'g' }),
          encodeVersioned(GroupMetadataValue, 3, group),
        ],
        [Buffer.from([0, 99, 65]), text('new')],
      ]),
    );
    expect(await records('__consumer_offsets-3')).toMatchObject([
      {
        key: { group: 'g', topic: 't', partition: 2 },
        value: { offset: '9007199254740993', metadata: 'm', commitTimestamp: String(T) },
      },
      { key: { group: 'g' }, value: null },
      { key: { group: 'g' }, value: { generation: 4, protocol: 'range', members: [] } },
      { key: '\u0000cA', value: 'new' },
    ]);

    const transaction = {
      producerId: 1n,
      producerEpoch: 0,
      transactionTimeoutMs: 1,
      transactionStatus: 1,
      transactionPartitions: [{ topic: 't', partitionIds: [0] }],
      transactionLastUpdateTimestampMs: 1n,
      transactionStartTimestampMs: 1n,
    };
    await write(
      '__transaction_state-0',
      '0',
      batch(0n, [
        [
          encodeVersioned(TransactionLogKey, 0, { transactionalId: 'x' }),
          encodeVersioned(TransactionLogValue, 0, transaction),
        ],
      ]),
    );
    expect(await records('__transaction_state-0')).toMatchObject([
      {
        key: { transactionalId: 'x' },
        value: { producerId: '1', transactionPartitions: [{ topic: 't', partitionIds: [0] }] },
      },
    ]);
  });

  it('tells every damage, with place and offset, and what to do', async () => {
    const bad = batch(0n, [[text('k'), text('v')]]);
    bad[bad.length - 2] = (bad[bad.length - 2] ?? 0) ^ 1;
    const whole = batch(1n, [[text('k'), text('v')]]);
    const path = await write('t-0', '0', Buffer.concat([bad, whole, whole.subarray(0, 30)]));
    const { code, out, err } = await millrace('dump-log', path, '--damage');
    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      `${path}: ${String(2 * bad.length + 30)} bytes`,
      '2 batches, 2 records, offsets 0 to 1; 2 damaged places',
    ]);
    const lines = err.split('\n');
    expect(lines[0]).toContain(`${path}: damaged at position 0, offset 0, ${bad.length} bytes`);
    expect(lines[1]).toContain(
      `damaged at position ${String(2 * bad.length)}, offset 2, 30 bytes: 30 bytes are left`,
    );
    expect(lines[2]).toContain('2 damaged places in 1 file');
  });

  describe('beside a segment', () => {
    const stem = (): string => join(directory, 't-0', '0'.repeat(20));

    /** A transaction that was aborted, and a plain record per index entry after it. */
    async function fill(): Promise<void> {
      const dir = await LogDir.open(directory);
      const config = parseLogConfig(new Map([['index.interval.bytes', '0']]));
      const log = dir.createLog('t', 0, null, config);
      const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
      builder.appendBytes(T, text('k'), text('v'), null);
      const producer = { producerId: 5n, producerEpoch: 1, baseSequence: 0 };
      log.appendAsLeader(Buffer.from(builder.build({ ...producer, isTransactional: true })));
      const marker = { baseOffset: 0n, coordinatorEpoch: 0, timestamp: T, leaderEpoch: 0 };
      log.appendAsLeader(encodeControlBatch({ ...marker, ...producer, type: 'abort' }), {
        origin: 'coordinator',
      });
      for (let i = 1; i < 4; i++) {
        const next = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
        next.appendBytes(T + i, text('k'), text('v'), null);
        log.appendAsLeader(Buffer.from(next.build({})));
      }
      await dir.close();
    }

    async function verify(path = join(directory, 't-0')): Promise<{ code: number; err: string }> {
      const { code, err } = await millrace('dump-log', path, '--verify', '--damage');
      return { code, err };
    }

    it('verifies the indexes, also of a segment that is not in use', async () => {
      await fill();
      expect(await verify()).toEqual({ code: 0, err: '' });
      for (const suffix of ['.index', '.timeindex', '.txnindex', '.log']) {
        await rename(`${stem()}${suffix}`, `${stem()}${suffix}.deleted`);
      }
      expect(await verify()).toEqual({ code: 0, err: '' });
      expect(await verify(`${stem()}.log.deleted`)).toEqual({ code: 0, err: '' });
      await rm(`${stem()}.index.deleted`);
      expect((await verify()).err).toContain(
        '.index.deleted: damaged at position 0: the file is missing',
      );
    });

    it.each([
      ['.index', 4, 'it names position', 'where no batch begins'],
      ['.index', 3, 'it names offset', 'where a batch ends with'],
      ['.timeindex', 7, 'which has', 'it gives the batch'],
      ['.timeindex', 11, 'with which no batch ends', 'it names offset'],
      ['.txnindex', 25, 'where no such marker is', 'producer 5'],
    ])('tells a wrong entry of the %s (byte %i)', async (suffix, at, ...parts) => {
      await fill();
      const bytes = await readFile(stem() + suffix);
      bytes.writeUInt8((bytes[at] ?? 0) ^ 0x40, at);
      await writeFile(stem() + suffix, bytes);
      const { code, err } = await verify();
      expect(code).toBe(1);
      expect(err).toContain(`${stem()}${suffix}: damaged at position`);
      for (const part of parts) expect(err).toContain(part);
      expect(err).toMatch(/damaged places? in 1 file\.$/);
      expect((await millrace('dump-log', join(directory, 't-0'))).code).toBe(0);
    });

    it('tells an aborted transaction that readers would see', async () => {
      await fill();
      await writeFile(`${stem()}.txnindex`, '');
      const { err } = await verify();
      expect(err).toContain(
        'it lacks the transaction of producer 5 from offset 0 on that was aborted at 1',
      );
    });

    it('takes reserved room for no entries, and a file that is no whole entries for damage', async () => {
      await fill();
      const bytes = await readFile(`${stem()}.index`);
      await writeFile(`${stem()}.index`, Buffer.concat([bytes, Buffer.alloc(80)]));
      expect(await verify()).toEqual({ code: 0, err: '' });
      await writeFile(`${stem()}.index`, Buffer.concat([bytes, Buffer.alloc(3)]));
      expect((await verify()).err).toContain('are no multiple of the 8 of an entry');
    });

    it('shows indexes, snapshots and checkpoints entry by entry', async () => {
      await fill();
      const entries = async (path: string): Promise<object[]> => {
        const { code, out } = await millrace('dump-log', path, '--json');
        expect(code).toBe(0);
        return out.split('\n').map((line) => JSON.parse(line) as object);
      };
      expect((await entries(`${stem()}.index`))[0]).toMatchObject({
        kind: 'entry',
        contents: 'offset-index',
        offset: '1',
      });
      expect((await entries(`${stem()}.timeindex`)).at(-1)).toMatchObject({
        timestamp: String(T + 3),
        offset: '4',
      });
      expect(await entries(`${stem()}.txnindex`)).toMatchObject([
        { producerId: '5', firstOffset: '0', lastOffset: '1', lastStableOffset: '2' },
      ]);
      const snapshot = join(directory, 't-0', '00000000000000000005.snapshot');
      expect(await entries(snapshot)).toMatchObject([
        { contents: 'producer-snapshot', producerId: '5', producerEpoch: 1, lastSequence: 0 },
      ]);
      expect(await entries(join(directory, 't-0', 'leader-epoch-checkpoint'))).toMatchObject([
        { epoch: 0, startOffset: '0' },
      ]);
      const file = join(directory, 'cleaner-offset-checkpoint');
      await writeFile(file, '0\n1\nt 0 4\n');
      const { out } = await millrace('dump-log', file);
      expect(out.split('\n')).toEqual([
        `${file}: offset checkpoint, 1 entry`,
        'TOPIC  PARTITION  OFFSET',
        't              0       4',
      ]);
      await writeFile(file, '0\n2\nt 0 4\n');
      expect(await millrace('dump-log', file)).toMatchObject({
        code: 1,
        err: expect.stringContaining(`${file}: 1 entries where 2 are announced`) as string,
      });
      await writeFile(snapshot, 'cut');
      expect((await millrace('dump-log', snapshot)).err).toContain(`${snapshot}: cut`);
    });
  });

  it('says what there is when it is no segment', async () => {
    await write('t-0', '0', Buffer.alloc(0));
    await write('t-1', '0', Buffer.alloc(0));
    expect((await millrace('dump-log', directory)).err).toContain('name one of them: t-0, t-1.');
    expect((await millrace('dump-log', join(directory, 't-7'))).err).toContain('There is no file');
    await mkdir(join(directory, 't-0', 'empty'));
    const empty = await millrace('dump-log', join(directory, 't-0', 'empty'));
    expect(empty).toMatchObject({ code: 1, out: '' });
    expect(empty.err).toContain('There is no log segment in');
  });
});
