import { describe, expect, expectTypeOf, it } from 'vitest';
import type { FetchRequest, FetchResponse } from './fetch.ts';
import { Fetch } from './fetch.ts';
import { array, bytes, int16, int32, int64, int8, string, struct } from './field.ts';
import type { Encodable } from './field.ts';
import { decodeMessage, encodeMessage } from './message.ts';
import { message } from './schema.ts';
import { parseVersions } from './version-range.ts';

const Sample = message({
  name: 'Sample',
  versions: '0-2',
  flexible: '1+',
  fields: {
    id: int32('0+'),
    names: array('0+', 'string', { nullable: '1+' }),
    inner: struct('2+', { code: int8('2+') }, { nullable: '2+', default: null }),
    limit: int64('1+', { default: 5n, tag: 0 }),
    note: string('1+', { nullable: '1+', default: null, tag: 3 }),
    parts: array('1+', { index: int16('1+'), data: bytes('1+') }, { tag: 1 }),
    origin: struct('1+', { node: int32('1+', { default: -1 }) }, { tag: 2 }),
  },
});

function tagged(...section: number[]): Buffer {
  return Buffer.from([0, 0, 0, 1, 1, ...section]);
}

describe('tagged fields', () => {
  it('are left out at their defaults and written in the order of their tags otherwise', () => {
    expect([...encodeMessage(Sample, 1, { id: 1, limit: 5n, origin: { node: -1 } })]).toEqual([
      ...tagged(0),
    ]);
    const full = {
      id: 1,
      names: null,
      inner: null,
      limit: 6n,
      note: 'n',
      parts: [{ index: 2, data: Buffer.from([9]) }],
      origin: { node: 3 },
    };
    const encoded = encodeMessage(Sample, 1, full);
    expect([...encoded]).toEqual([
      ...[0, 0, 0, 1, 0, 4],
      ...[0, 8, 0, 0, 0, 0, 0, 0, 0, 6],
      ...[1, 6, 2, 0, 2, 2, 9, 0],
      ...[2, 5, 0, 0, 0, 3, 0],
      ...[3, 2, 2, 0x6e],
    ]);
    expect(decodeMessage(Sample, 1, encoded)).toEqual(full);
  });

  it('skips unknown ones', () => {
    const decoded = decodeMessage(Sample, 1, tagged(2, 3, 2, 2, 0x6e, 77, 3, 1, 2, 3));
    expect(decoded).toMatchObject({ id: 1, note: 'n', limit: 5n });
  });

  it('takes the last of a tag that comes twice, and any order, as Kafka does', () => {
    const eight = [0, 0, 0, 0, 0, 0, 0];
    const decoded = decodeMessage(
      Sample,
      1,
      tagged(3, 3, 2, 2, 0x6e, 0, 8, ...eight, 1, 0, 8, ...eight, 2),
    );
    expect(decoded).toMatchObject({ limit: 2n, note: 'n' });
  });

  it('refuses a size that is not the size of the value', () => {
    expect(() => decodeMessage(Sample, 1, tagged(1, 3, 3, 2, 0x6e, 0))).toThrow(/note.*tag 3/);
    expect(() => decodeMessage(Sample, 1, tagged(1, 77, 100))).toThrow(/100 bytes/);
    expect(() => decodeMessage(Sample, 1, tagged(0xff, 0xff, 0xff, 0xff, 0x0f))).toThrow(/fit/);
  });

  it('cannot be declared for a version that is not flexible', () => {
    const Wrong = message({
      name: 'Wrong',
      versions: '0-1',
      flexible: '1+',
      fields: { a: int32('0+', { tag: 0 }) },
    });
    expect(() => encodeMessage(Wrong, 0, {})).toThrow(TypeError);
  });
});

describe('nullable and absent fields', () => {
  it('reads a nullable struct by the byte in front of it', () => {
    for (const inner of [null, { code: -7 }]) {
      const encoded = encodeMessage(Sample, 2, { inner });
      expect(decodeMessage(Sample, 2, encoded).inner).toEqual(inner);
    }
  });

  it('names the field that must not be null', () => {
    expect(() => encodeMessage(Sample, 0, { names: null })).toThrow(
      /Sample version 0: names: null/,
    );
    expect(() =>
      decodeMessage(Sample, 0, Buffer.from([0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff])),
    ).toThrow(/Sample version 0: names: null/);
  });

  it('gives every message arrays and structs of its own', () => {
    const first = decodeMessage(Sample, 0, encodeMessage(Sample, 0, {}));
    const second = decodeMessage(Sample, 0, encodeMessage(Sample, 0, {}));
    first.parts.push({ index: 1, data: Buffer.alloc(0) });
    first.origin.node = 4;
    expect(second).toMatchObject({ parts: [], origin: { node: -1 } });
  });
});

describe('counts', () => {
  it.each([
    [0, [0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff]],
    [0, [0, 0, 0, 1, 0x80, 0, 0, 0]],
    [0, [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]],
    [1, [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]],
    [1, [0, 0, 0, 1, 4, 1, 1]],
  ])(
    'that the frame cannot hold are refused before anything is read (version %i)',
    (version, bytes) => {
      expect(() => decodeMessage(Sample, version, Buffer.from(bytes))).toThrow(/names: /);
    },
  );
});

describe('types', () => {
  it('come from the declaration', () => {
    expectTypeOf<FetchRequest['clusterId']>().toEqualTypeOf<string | null>();
    expectTypeOf<
      FetchRequest['topics'][number]['partitions'][number]['fetchOffset']
    >().toEqualTypeOf<bigint>();
    expectTypeOf<
      FetchResponse['responses'][number]['partitions'][number]['records']
    >().toEqualTypeOf<Buffer | null>();
    expectTypeOf<FetchRequest['forgottenTopicsData'][number]['partitions']>().toEqualTypeOf<
      number[]
    >();
    expectTypeOf(Fetch.request).toExtend<{ readonly inferred?: FetchRequest }>();
    const partial: Encodable<FetchResponse> = { responses: [{ partitions: [{ errorCode: 1 }] }] };
    expect(partial).toBeDefined();
    // @ts-expect-error: an int64 is a bigint
    const wrong: Encodable<FetchRequest> = { topics: [{ partitions: [{ fetchOffset: 1 }] }] };
    expect(wrong).toBeDefined();
  });
});

describe('version ranges', () => {
  it('are read as in message definitions', () => {
    expect(parseVersions('3')).toEqual({ min: 3, max: 3 });
    expect(parseVersions('2-7')).toEqual({ min: 2, max: 7 });
    expect(parseVersions('9+')).toEqual({ min: 9, max: Infinity });
    expect(() => parseVersions('7-2')).toThrow(TypeError);
    expect(() => parseVersions('-1')).toThrow(TypeError);
  });
});
