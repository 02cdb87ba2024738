import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { DeserializationError } from '../../errors.ts';
import { TaskDouble } from '../../operators/testing-support/task-double.ts';
import { stringSerde } from '../../serdes/string.ts';
import { RecordBuffer } from './record-buffer.ts';
import { restoreInto } from './testing-support/changelog-cursor.ts';

function open(graceMs: number) {
  const task = new TaskDouble();
  const options = { name: 's', topic: 'test-s-changelog', key: stringSerde, value: stringSerde };
  const buffer = task.open(new RecordBuffer<string, string>(options, graceMs));
  const put = (key: string, value: string, timestamp: number): boolean =>
    buffer.put(key, value, timestamp, null, 'l', 0, BigInt(timestamp));
  const letGo = (): string[] => {
    const texts: string[] = [];
    for (let record = buffer.due; record !== undefined; record = buffer.due) {
      const { timestamp, topic, offset } = record;
      const value = buffer.valueOf(record);
      texts.push(
        `${buffer.keyOf(record)}=${value}@${String(timestamp)} ${String(topic)}/${String(offset)}`,
      );
      buffer.remove(record);
    }
    return texts;
  };
  return { task, buffer, put, letGo };
}

// As Kafka Streams 4.4 wrote it: the first record of the golden case stream-table-buffer.
const recordedKey = '0000000000000000056100000001';
const recordedValue =
  '00000000000000050000000000000000000000016c000000000000000100000001680000000131ffffffffffffffff000000024c310000000000000000';

describe('buffer of a join with grace', () => {
  it('lets records go by timestamp, key bytes and arrival, once stream time is past the grace', () => {
    const { put, letGo } = open(10);
    expect([put('b', '1', 5), put('a', '2', 5), put('b', '3', 5), put('ab', '4', 4)]).toEqual(
      Array.from({ length: 4 }, () => true),
    );
    expect(letGo()).toEqual([]);
    put('z', '5', 14);
    expect(letGo()).toEqual(['ab=4@4 l/4']);
    put('z', '6', 20);
    expect(letGo()).toEqual(['a=2@5 l/5', 'b=1@5 l/5', 'b=3@5 l/5']);
  });

  it('refuses a record whose time has gone by, and takes one whose time is now', () => {
    const { put, letGo } = open(10);
    put('a', '1', 20);
    expect(put('a', '2', 9)).toBe(false);
    expect(put('a', '3', 10)).toBe(true);
    expect(letGo()).toEqual(['a=3@10 l/10']);
  });

  it('writes each record to its changelog at once, and a tombstone when it is let go', () => {
    const { task, buffer, letGo } = open(0);
    const headers = new RecordHeaders().add('h', '1');
    buffer.put('a', 'L1', 5, headers, 'l', 0, 0n);
    expect(task.sent[0]?.headers).toBeNull();
    expect(task.takeSent()).toEqual([`s-changelog ${recordedKey}=${recordedValue}@-1`]);
    expect(letGo()).toEqual(['a=L1@5 l/0']);
    expect(task.takeSent()).toEqual([`s-changelog ${recordedKey}=null@-1`]);
  });

  it('restores records, stream time and number of arrival', () => {
    const { task, buffer, put, letGo } = open(10);
    const key = recordedKey;
    restoreInto(buffer, [
      { key, value: recordedValue },
      { key: '0000000000000000136200000007', value: recordedValue },
      { key: '0000000000000000136200000007', value: null },
    ]);
    expect(buffer.recordCount).toBe(1);
    expect(task.sent).toEqual([]);
    // Stream time is 19, from a record that was let go.
    expect(put('a', 'late', 8)).toBe(false);
    expect(put('a', 'x', 15)).toBe(true);
    expect(task.takeSent().map((text) => text.split('=')[0])).toEqual([
      's-changelog 00000000000000000f6100000008',
    ]);
    expect(letGo()).toEqual(['a=L1@5 l/0']);
  });

  it('stays as small as what it keeps, however much passes through', () => {
    const { buffer, put, letGo } = open(100);
    for (let i = 0; i < 20_000; i++) {
      put(`k${String(i % 7)}`, 'v', i);
      letGo();
      expect(buffer.recordCount).toBeLessThanOrEqual(100);
    }
  });

  it.each([
    ['a short key', recordedKey.slice(0, -4), recordedValue],
    ['a key of another kind', `01${recordedKey.slice(2)}`, recordedValue],
    ['a cut value', recordedKey, recordedValue.slice(0, 60)],
    [
      'a record without a value',
      recordedKey,
      `${recordedValue.slice(0, 98)}ffffffff${'00'.repeat(8)}`,
    ],
    ['a key longer than the record says', null, recordedValue],
  ])('refuses %s, and says where it is', (_what, key, value) => {
    const { buffer } = open(10);
    const restore = (): void => {
      restoreInto(buffer, [{ key, value }], 5n);
    };
    expect(restore).toThrow(DeserializationError);
    expect(restore).toThrow(
      /^Buffer s cannot be restored: the record of test-s-changelog-0 at offset 5 /,
    );
    expect(buffer.recordCount).toBe(0);
  });
});
