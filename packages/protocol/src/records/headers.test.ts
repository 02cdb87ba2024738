import { describe, expect, it } from 'vitest';
import { CorruptRecordError } from '../bytes/protocol-error.ts';
import { RecordHeaders } from './headers.ts';

function encode(headers: RecordHeaders): Buffer {
  const bytes = Buffer.alloc(headers.encodedSize());
  expect(headers.encodeInto(bytes, 0)).toBe(bytes.length);
  return bytes;
}

/** As they come from a record: still encoded. */
function received(headers: RecordHeaders): RecordHeaders {
  return RecordHeaders.fromEncoded(encode(headers).subarray(1), headers.size);
}

const sample = (): RecordHeaders =>
  new RecordHeaders().add('b', '1').add('2', 'x').add('1', 'y').add('b', null).add('b', '3');

describe.each([
  ['new', sample],
  ['received', (): RecordHeaders => received(sample())],
])('%s RecordHeaders', (_, make) => {
  it('keep order and repetition', () => {
    const headers = make();
    expect([...headers].map((header) => [header.key, header.value?.toString() ?? null])).toEqual([
      ['b', '1'],
      ['2', 'x'],
      ['1', 'y'],
      ['b', null],
      ['b', '3'],
    ]);
    expect(headers.size).toBe(5);
    expect(headers.isEmpty).toBe(false);
  });

  it('are found by key', () => {
    const headers = make();
    expect(headers.all('b').map((header) => header.value?.toString())).toEqual([
      '1',
      undefined,
      '3',
    ]);
    expect(headers.last('b')?.value?.toString()).toBe('3');
    expect(headers.last('none')).toBe(undefined);
    expect(headers.all('none')).toEqual([]);
  });

  it('change by add and remove, and are encoded as changed', () => {
    const headers = make();
    headers.remove('none');
    expect(encode(headers).equals(encode(sample()))).toBe(true);
    headers.remove('b').add('z', new Uint8Array([1, 2]));
    expect(headers.size).toBe(3);
    const expected = new RecordHeaders()
      .add('2', 'x')
      .add('1', 'y')
      .add('z', Buffer.from([1, 2]));
    expect(encode(headers).equals(encode(expected))).toBe(true);
    expect([...received(headers)]).toEqual([...expected]);
  });

  it('have copies that live on their own', () => {
    const headers = make();
    const copy = headers.copy();
    copy.add('new', null);
    headers.remove('b');
    expect(copy.size).toBe(6);
    expect(headers.size).toBe(2);
    expect(copy.toArray().length).toBe(6);
    expect(headers.toArray().length).toBe(2);
  });

  it('show a value that was changed in place, also once encoded', () => {
    const headers = make();
    encode(headers);
    headers.last('2')!.value![0] = 0x7a;
    expect([...received(headers)][1]?.value?.toString()).toBe('z');
  });
});

describe('RecordHeaders', () => {
  it('pass on key bytes that are no UTF-8 as they came', () => {
    const wire = Buffer.from('02ff01', 'hex');
    const headers = RecordHeaders.fromEncoded(wire, 1);
    expect(headers.toArray()).toEqual([{ key: '\ufffd', value: null }]);
    expect(encode(headers).subarray(1).equals(wire)).toBe(true);
  });

  it.each(['', '02', '0261', '026104', '02610461', '03', 'ffffffffff01', '04618180808080'])(
    'refuse the bytes %j',
    (hex) => {
      const headers = RecordHeaders.fromEncoded(Buffer.from(hex, 'hex'), 1);
      expect(() => headers.toArray()).toThrow(CorruptRecordError);
    },
  );

  it('come from any headers', () => {
    const headers = RecordHeaders.from([{ key: 'a', value: 'x' }, ...sample()]);
    expect(headers.size).toBe(6);
    expect(new RecordHeaders().isEmpty).toBe(true);
  });
});
