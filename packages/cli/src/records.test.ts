import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { dataTypes, type DataType } from './data-types.ts';
import { recordOfJson, recordOfText, type InputRecord } from './record-input.ts';
import { jsonLine, textLine, type OutputFormat, type OutputRecord } from './record-output.ts';

function type(name: string): DataType {
  const found = dataTypes.get(name);
  if (found === undefined) throw new Error(`no type ${name}`);
  return found;
}

const text = type('text');
const types = { key: text, value: text };

describe('data types', () => {
  it.each([
    ['text', 'Zürich 🌊', '5ac3bc7269636820f09f8c8a'],
    ['json', '{"a": 1}', '7b2261223a20317d'],
    ['hex', '00ff', '00ff'],
    ['base64', 'AP8=', '00ff'],
    ['integer', '-1', 'ffffffff'],
    ['long', '9223372036854775807', '7fffffffffffffff'],
    ['short', '258', '0102'],
    ['double', '1.5', '3ff8000000000000'],
    ['float', '1.5', '3fc00000'],
    ['boolean', 'true', '01'],
  ])('%s %s is the bytes that Kafka writes', (name, shown, hex) => {
    const bytes = type(name).fromText(shown);
    expect(bytes.toString('hex')).toBe(hex);
    expect(type(name).toText(bytes)).toBe(shown);
    const json: unknown = type(name).toJson(bytes);
    const again = typeof json === 'bigint' ? json.toString() : json;
    expect(type(name).toJson(type(name).fromJson(again))).toEqual(json);
  });

  it.each([
    ['json', '{'],
    ['hex', 'abc'],
    ['base64', 'A'],
    ['integer', '2147483648'],
    ['integer', '1.5'],
    ['long', '1e3'],
    ['long', '9223372036854775808'],
    ['double', ''],
    ['boolean', 'yes'],
    ['uuid', 'no'],
  ])('%s refuses %j', (name, shown) => {
    expect(() => type(name).fromText(shown)).toThrow();
  });

  it('shows bytes that are not what they should be in base64, and takes them back', () => {
    const bytes = Buffer.from('ff00', 'hex');
    for (const name of ['text', 'json', 'long', 'boolean']) {
      const shown = type(name).toJson(bytes);
      expect(shown).toEqual({ base64: '/wA=' });
      expect(type(name).fromJson(shown)).toEqual(bytes);
    }
  });
});

describe('lines of text', () => {
  const format = { keySeparator: ',', nullText: '-', ...types };

  it('are values, or keys and values, or null', () => {
    const plain = { ...format, keySeparator: undefined, nullText: undefined };
    expect(recordOfText('a,b', plain)).toMatchObject({ key: null, value: Buffer.from('a,b') });
    expect(recordOfText('a,b,c', format)).toMatchObject({
      key: Buffer.from('a'),
      value: Buffer.from('b,c'),
    });
    expect(recordOfText('a,-', format)).toMatchObject({ key: Buffer.from('a'), value: null });
    expect(recordOfText('-,', format)).toMatchObject({ key: null, value: Buffer.alloc(0) });
    expect(() => recordOfText('ab', format)).toThrow("key separator ',' is missing");
  });

  it('name the part that is of another type', () => {
    const numbers = { ...format, key: type('long') };
    expect(() => recordOfText('x,1', numbers)).toThrow("its key: expected a long, not 'x'");
  });
});

describe('lines of JSON', () => {
  const record: OutputRecord = {
    partition: 2,
    offset: 9_007_199_254_740_993n,
    timestamp: 1_700_000_000_000,
    key: Buffer.from('k'),
    value: null,
    headers: new RecordHeaders()
      .add('a', 'x')
      .add('a', null)
      .add('b', Buffer.from([0xff])),
  };

  it('are read as they were written', () => {
    const line = jsonLine(record, 't', types);
    expect(line).toBe(
      '{"topic":"t","partition":2,"offset":"9007199254740993","timestamp":1700000000000,' +
        '"key":"k","value":null,"headers":[{"key":"a","value":"x"},{"key":"a","value":null},' +
        '{"key":"b","value":{"base64":"/w=="}}]}',
    );
    const read: InputRecord = recordOfJson(line, types);
    expect(read).toMatchObject({ partition: 2, timestamp: 1_700_000_000_000, value: null });
    expect(read.key?.toString()).toBe('k');
    expect(read.headers?.toArray()).toEqual(record.headers?.toArray());
  });

  it.each([
    ['[1]', /JSON object/],
    ['{"value": 1}', /its value: expected a string/],
    ['{"key": "k"}', /no value; a tombstone has "value": null/],
    ['{"value": "v", "part": 1}', /part is not known/],
    ['{"value": "v", "partition": -1}', /its partition is no whole number/],
    ['{"value": "v", "headers": {"a": "b"}}', /its headers are no list/],
    ['{"value": "v", "headers": [{"value": "b"}]}', /no "key"/],
    ['{"value": "v", "headers": [{"key": "a", "value": 5}]}', /"value" of a header/],
    ['{', /JSON/],
  ])('%s is refused in words', (line, message) => {
    expect(() => recordOfJson(line, types)).toThrow(message);
  });

  it('are columns as text', () => {
    const format: OutputFormat = {
      fields: ['partition', 'offset', 'timestamp', 'headers', 'key', 'value'],
      separator: '|',
      nullText: 'null',
      ...types,
    };
    expect(textLine(record, 't', format)).toBe(
      '2|9007199254740993|2023-11-14T22:13:20.000Z|a=x,a=null,b=0xff|k|null',
    );
    expect(() => textLine(record, 't', { ...format, fields: ['key'], key: type('long') })).toThrow(
      /key of t-2 at offset 9007199254740993 is no long/,
    );
  });
});
