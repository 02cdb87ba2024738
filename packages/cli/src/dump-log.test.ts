import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    expect(lines[2]).toContain('2 damaged places in 1 segment');
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
