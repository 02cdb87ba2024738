import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { DeserializationError } from '../../errors.ts';
import { TaskDouble } from '../../operators/testing-support/task-double.ts';
import { longSerde } from '../../serdes/numbers.ts';
import { stringSerde } from '../../serdes/string.ts';
import type { BufferedRecord } from './buffered-record.ts';
import { ChangeBuffer } from './change-buffer.ts';
import { restoreInto } from './testing-support/changelog-cursor.ts';

const topic = 'test-s-changelog';

function open(keepsHeaders = false) {
  const task = new TaskDouble();
  const options = { name: 's', topic, key: stringSerde, value: stringSerde };
  const buffer = task.open(new ChangeBuffer<string, string>(options, keepsHeaders));
  const put = (key: string, value: string | null, old: string | null, time: number): void => {
    buffer.put(time, key, value, old, time, null, 'in', 0, BigInt(time));
  };
  return { task, buffer, put };
}

/** `prior old->new @time ts/topic-partition@offset headers`, of what is let go next. */
function shown(buffer: ChangeBuffer<string, string>, record: BufferedRecord | undefined): string {
  if (record === undefined) return 'nothing';
  const { time, timestamp, offset, partition, headers } = record;
  const texts = [...(headers ?? [])].map(({ key, value }) => `${key}=${String(value)}`).join(',');
  return (
    `${buffer.keyOf(record)} ${String(buffer.priorOf(record))} ${String(buffer.oldOf(record))}->` +
    `${String(buffer.valueOf(record))} @${String(time)} ${String(timestamp)}/${String(record.topic)}-${String(partition)}@${String(offset)} ${texts}`
  );
}

// Bytes that Kafka Streams 4.4's own classes write or, in the old versions, read as is said beside.
const context =
  '000000000000000500000000000000060000000674c3b6706963000000030000000200000002c3a90000000178000000016effffffff';
const oldAndNew = '000000016f000000016e';
const version0 = `0000000000000032${oldAndNew}`;
const version1 = `0000000000000033${context}0000000a${oldAndNew}`;
const version2 = `${context}0000000a${oldAndNew}00000001700000000000000034`;
const version3 = `${context}0000000170${oldAndNew}0000000000000035`;
const fromContext = '5/töpic-3@6 é=x,n=null';

describe('suppress buffer', () => {
  it('keeps the last change of each key at the time of its first', () => {
    const { buffer, put } = open();
    put('b', '1', null, 5);
    put('a', '1', '0', 5);
    put('c', '1', null, 4);
    put('a', '2', '1', 9);
    expect(buffer.recordCount).toBe(3);
    expect(shown(buffer, buffer.first)).toBe('c null null->1 @4 4/in-0@4 ');
    buffer.remove(buffer.first as BufferedRecord);
    expect(shown(buffer, buffer.first)).toBe('a 0 1->2 @5 9/in-0@9 ');
    buffer.remove(buffer.first as BufferedRecord);
    expect(shown(buffer, buffer.first)).toBe('b null null->1 @5 5/in-0@5 ');
    buffer.remove(buffer.first as BufferedRecord);
    expect(buffer.first).toBeUndefined();
    expect(buffer.estimatedBytes).toBe(0);
  });

  it('writes its changelog before a commit, in version 3, one record per key that changed', () => {
    const { task, buffer } = open();
    const headers = new RecordHeaders().add('é', 'x').add('n', null);
    buffer.put(53, 'k', 'first', 'p', 1, null, 'other', 0, 0n);
    buffer.put(60, 'k', 'n', 'o', 5, headers, 'töpic', 3, 6n);
    expect(task.sent).toEqual([]);
    buffer.flush();
    expect(task.sent.map((sent) => sent.headers?.toArray())).toEqual([
      [{ key: 'v', value: Buffer.from([3]) }],
    ]);
    expect(task.takeSent()).toEqual([`s-changelog 6b=${version3}@-1`]);
    buffer.flush();
    expect(task.takeSent()).toEqual([]);
    buffer.remove(buffer.first as BufferedRecord);
    buffer.flush();
    expect(task.sent[0]?.headers).toBeNull();
    expect(task.takeSent()).toEqual(['s-changelog 6b=null@-1']);
  });

  it('writes an old value that is the prior one only once', () => {
    const { task, buffer } = open();
    buffer.put(54, 'k', null, 'p', -1, null, null, -1, -1n);
    buffer.flush();
    expect(task.takeSent()).toEqual([
      's-changelog 6b=ffffffffffffffffffffffffffffffff00000000ffffffff000000000000000170fffffffeffffffff0000000000000036@-1',
    ]);
  });

  it('counts bytes as Kafka Streams does', () => {
    const { buffer } = open();
    const headers = new RecordHeaders().add('é', 'x').add('n', null);
    buffer.put(53, 'k', 'n', 'p', 5, headers, 'töpic', 3, 6n);
    // 8 of time and 1 of key; the record was 31 with an old value of its own, which is the prior one here.
    expect(buffer.estimatedBytes).toBe(9 + 30);
    buffer.put(53, 'k', 'n', 'o', 5, headers, 'töpic', 3, 6n);
    expect(buffer.estimatedBytes).toBe(9 + 31);
  });

  it.each([
    ['0', version0, {}, 'k o o->n @50 99/test-s-changelog-0@7 '],
    ['1', version1, { v: '01' }, `k o o->n @51 ${fromContext}`],
    ['2', version2, { v: '02' }, `k p o->n @52 ${fromContext}`],
    ['3 under the number 2', version3, { v: '02' }, `k p o->n @53 ${fromContext}`],
    ['3', version3, { v: '03' }, `k p o->n @53 ${fromContext}`],
  ])('restores version %s', (_version, value, headers, expected) => {
    const { task, buffer } = open();
    restoreInto(buffer, [{ key: '6b', value, headers }], 7n);
    expect(shown(buffer, buffer.first)).toBe(expected);
    // What is restored is in the changelog already.
    buffer.flush();
    expect(task.sent).toEqual([]);
  });

  it('takes the prior value from what it knows when the changelog has none', () => {
    const { buffer } = open();
    restoreInto(buffer, [
      { key: '6b', value: version3, headers: { v: '03' } },
      { key: '6b', value: version0 },
    ]);
    expect(shown(buffer, buffer.first)).toBe('k p o->n @53 99/test-s-changelog-0@1 ');
  });

  it('restores tombstones, and stays small whatever the length of the changelog', () => {
    const { buffer } = open();
    const record = { key: '6b', value: version3, headers: { v: '03' } };
    const gone = { key: '6b', value: null };
    for (let i = 0; i < 50; i++) {
      restoreInto(buffer, Array.from({ length: 20 }, () => [record, record, gone]).flat());
      expect(buffer.recordCount).toBe(0);
      expect(buffer.estimatedBytes).toBe(0);
    }
    restoreInto(buffer, [gone, record, record]);
    expect(buffer.recordCount).toBe(1);
    expect(buffer.estimatedBytes).toBe(9 + 31);
  });

  it('writes what it restored with the same bytes', () => {
    const { task, buffer, put } = open();
    restoreInto(buffer, [{ key: '6b', value: version3, headers: { v: '03' } }]);
    put('k', '2', 'n', 70);
    buffer.flush();
    const changed =
      `${'0000000000000046'.repeat(2)}00000002696e0000000000000000000000017000000001` +
      `6e00000001320000000000000035`;
    expect(task.takeSent()).toEqual([`s-changelog 6b=${changed}@-1`]);
  });

  it.each([
    ['a cut record', version3.slice(0, -2), { v: '03' }],
    ['bytes left over', `${version3}00`, { v: '03' }],
    ['a topic longer than the record', `${version3.slice(0, 32)}7fffffff`, { v: '03' }],
    ['a negative length', `${version3.slice(0, 32)}fffffff0`, { v: '03' }],
    ['a header count that lies', `${context.slice(0, 60)}7fffffff`, { v: '03' }],
    ['nothing', '', { v: '03' }],
    ['a cut record of version 2', version2.slice(0, -4), { v: '02' }],
    ['a cut record of version 1', version1.slice(0, -4), { v: '01' }],
    ['a cut record of version 0', version0.slice(0, -4), {}],
    ['a version that does not exist', version3, { v: '04' }],
    ['a version without a number', version3, { v: null }],
    ['a record of something else', 'ff'.repeat(40), {}],
  ])('refuses %s, and says where it is', (_what, value, headers) => {
    const { buffer } = open();
    const restore = (): void => {
      restoreInto(
        buffer,
        [
          { key: '6b', value: null },
          { key: '6b', value, headers },
        ],
        41n,
      );
    };
    expect(restore).toThrow(DeserializationError);
    expect(restore).toThrow(
      /^Buffer s cannot be restored: the record of test-s-changelog-0 at offset 42 is none that a buffer writes: /,
    );
    expect(buffer.recordCount).toBe(0);
    expect(buffer.estimatedBytes).toBe(0);
  });

  it('refuses a record without a key', () => {
    const { buffer } = open();
    expect(() => {
      restoreInto(buffer, [{ key: null, value: version3, headers: { v: '03' } }]);
    }).toThrow('it has no key');
  });

  it('is as it was when a value cannot be serialized', () => {
    const task = new TaskDouble();
    const options = { name: 's', topic, key: stringSerde, value: longSerde };
    const buffer = task.open(new ChangeBuffer<string, number>(options, false));
    buffer.put(1, 'a', 1, null, 1, null, 'in', 0, 0n);
    expect(() => {
      buffer.put(2, 'a', 1.5, 1, 2, null, 'in', 0, 1n);
    }).toThrow(/long/);
    expect(buffer.valueOf(buffer.first as BufferedRecord)).toBe(1);
    expect(buffer.recordCount).toBe(1);
  });

  it('keeps headers as they were, whatever becomes of the record', () => {
    const { buffer } = open();
    const headers = new RecordHeaders().add('a', '1');
    buffer.put(1, 'k', '1', null, 1, headers, 'in', 0, 0n);
    headers.add('b', '2');
    expect(buffer.first?.headers?.size).toBe(1);
  });

  it('with the HEADERS format, keeps what old and prior values had, and restores it', () => {
    const { task, buffer } = open(true);
    const headers = new RecordHeaders().add('h', '1');
    buffer.put(1, 'k', '1', '0', 1, headers, 'in', 0, 0n);
    buffer.put(3, 'k', '2', '1', 3, null, 'in', 0, 1n);
    buffer.flush();
    const [sent] = task.sent;
    expect(sent?.headers?.toArray().map(({ key, value }) => [key, value?.toString('hex')])).toEqual(
      [
        ['v', '03'],
        ['vh.prior', '00ffffffffffffffff'],
        ['vh.old', '0a02026802310000000000000001'],
      ],
    );
    const restored = open(true);
    restoreInto(restored.buffer, [
      {
        key: '6b',
        value: (sent?.value as Buffer).toString('hex'),
        headers: {
          v: '03',
          'vh.prior': '00ffffffffffffffff',
          'vh.old': '0a02026802310000000000000001',
        },
      },
    ]);
    expect(restored.buffer.estimatedBytes).toBe(buffer.estimatedBytes);
    expect(shown(restored.buffer, restored.buffer.first)).toBe(shown(buffer, buffer.first));
  });

  it('unlogged, remembers no changed keys', () => {
    const options = { name: 's', topic, key: stringSerde, value: stringSerde };
    const buffer = new ChangeBuffer<string, string>(options, false);
    buffer.open(new TaskDouble().context, null);
    buffer.put(1, 'k', '1', null, 1, null, 'in', 0, 0n);
    buffer.remove(buffer.first as BufferedRecord);
    buffer.flush();
    expect(buffer.recordCount).toBe(0);
  });
});
