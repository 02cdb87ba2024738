import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordSerde, Serde } from './serde.ts';
import { serdes } from './serdes.ts';
import { SerializationError, WrongTypeError } from './serialization-error.ts';
import { Windowed } from './windowed-key.ts';

function hexOf<T>(serde: Serde<T>, value: T): string {
  return Buffer.from(serde.serialize(value, 't', null)).toString('hex');
}

/** Every form of a serde agrees, into buffers of every size, and nothing is written beyond the end. */
function roundTrip<T>(serde: RecordSerde<T>, value: T): T {
  const bytes = Buffer.from(serde.serialize(value, 't', null));
  for (let room = 0; room < bytes.length; room++) {
    expect(serde.write(value, Buffer.alloc(room + 3), 3)).toBe(-1);
  }
  const target = Buffer.alloc(bytes.length + 7, 0xee);
  expect(serde.write(value, target, 3)).toBe(3 + bytes.length);
  expect(target.subarray(3, 3 + bytes.length).equals(bytes)).toBe(true);
  expect(target.subarray(3 + bytes.length).every((byte) => byte === 0xee)).toBe(true);
  expect(serde.read(target, 3, 3 + bytes.length)).toEqual(serde.deserialize(bytes, 't', null));
  return serde.deserialize(bytes, 't', null);
}

describe('bytes, as Kafka writes them', () => {
  it.each<[string, string, string]>([
    ['string', hexOf(serdes.string(), 'é€😀'), 'c3a9e282acf09f9880'],
    ['string with a lone surrogate', hexOf(serdes.string(), 'a\ud800b'), '613f62'],
    ['string, empty', hexOf(serdes.string(), ''), ''],
    ['long', hexOf(serdes.long(), 258), '0000000000000102'],
    ['long, negative', hexOf(serdes.long(), -2), 'fffffffffffffffe'],
    ['long, largest exact', hexOf(serdes.long(), Number.MAX_SAFE_INTEGER), '001fffffffffffff'],
    ['long, smallest exact', hexOf(serdes.long(), Number.MIN_SAFE_INTEGER), 'ffe0000000000001'],
    ['bigint', hexOf(serdes.bigint(), -(2n ** 63n)), '8000000000000000'],
    ['integer', hexOf(serdes.integer(), -2), 'fffffffe'],
    ['short', hexOf(serdes.short(), 513), '0201'],
    ['double', hexOf(serdes.double(), 1.5), '3ff8000000000000'],
    ['float', hexOf(serdes.float(), 1.5), '3fc00000'],
    ['boolean', hexOf(serdes.boolean(), true), '01'],
    [
      'uuid',
      hexOf(serdes.uuid(), '0E8400E2-9B41-41D4-A716-446655440000'),
      Buffer.from('0e8400e2-9b41-41d4-a716-446655440000').toString('hex'),
    ],
    ['bytes', hexOf(serdes.bytes(), new Uint8Array([0, 255])), '00ff'],
    ['json', hexOf(serdes.json<unknown>(), { a: 'é' }), Buffer.from('{"a":"é"}').toString('hex')],
    [
      'timeWindowed',
      hexOf(serdes.timeWindowed(serdes.string(), 10), new Windowed('k', 0x1_0000_0001, 11)),
      '6b0000000100000001',
    ],
  ])('%s', (_name, actual, expected) => {
    expect(actual).toBe(expected);
  });
});

describe('round trips', () => {
  it.each<[string, fc.Arbitrary<unknown>, RecordSerde<never>]>([
    ['string', fc.string({ unit: 'grapheme', maxLength: 40 }), serdes.string() as never],
    ['long', fc.maxSafeInteger(), serdes.long() as never],
    ['bigint', fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), serdes.bigint() as never],
    ['integer', fc.integer(), serdes.integer() as never],
    ['short', fc.integer({ min: -32768, max: 32767 }), serdes.short() as never],
    ['double', fc.double(), serdes.double() as never],
    ['float', fc.float(), serdes.float() as never],
    ['boolean', fc.boolean(), serdes.boolean() as never],
    ['uuid', fc.uuid(), serdes.uuid() as never],
    ['json', fc.jsonValue().filter((value) => value !== null), serdes.json()],
  ])('%s', (_name, values, serde) => {
    fc.assert(
      fc.property(values, (value) => {
        const expected: unknown = serde.name === 'json' ? JSON.parse(JSON.stringify(value)) : value;
        expect(roundTrip(serde, value as never)).toEqual(expected);
      }),
    );
  });

  it('string: lengths around the loops, ASCII and not', () => {
    for (let length = 0; length <= 40; length++) {
      for (const end of ['', 'é', '€', '😀']) {
        const text = 'x'.repeat(length) + end;
        expect(roundTrip(serdes.string(), text)).toBe(text);
        expect(roundTrip(serdes.string(), end + 'x'.repeat(length))).toBe(end + 'x'.repeat(length));
      }
    }
  });

  it('bytes are copied when read', () => {
    const source = Buffer.from([1, 2, 3]);
    const read = serdes.bytes().read(source, 0, 3);
    source.fill(9);
    expect([...read]).toEqual([1, 2, 3]);
  });

  it('timeWindowed: the end follows from the size', () => {
    const serde = serdes.timeWindowed(serdes.string(), 10);
    expect(roundTrip(serde, new Windowed('key', 20, 30))).toEqual(new Windowed('key', 20, 30));
    expect(serde.unhashedSuffixBytes).toBe(8);
  });
});

describe('lists', () => {
  it('round trip with entries of any length, in buffers of any size', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }), (value) => {
        expect(roundTrip(serdes.list(serdes.string()), value)).toEqual(value);
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.option(fc.integer()), { maxLength: 3 }), (value) => {
        const serde = serdes.list(serdes.integer(), { nulls: true }) as RecordSerde<
          (number | null)[]
        >;
        expect(roundTrip(serde, value)).toEqual(value);
      }),
    );
  });

  it('refuse null entries unless they are allowed for', () => {
    const withNull = serdes.list(serdes.string(), { nulls: true }).serialize([null], 't', null);
    expect(() => serdes.list(serdes.string()).deserialize(withNull, 't', null)).toThrow('nulls');
    expect(() => serdes.list(serdes.long()).serialize([null as never], 't', null)).toThrow('nulls');
  });

  it('that claim more entries than they have bytes are refused before memory is taken', () => {
    const huge = Buffer.from('017fffffff', 'hex');
    expect(() => serdes.list(serdes.string()).deserialize(huge, 't', null)).toThrow('2147483647');
  });

  it('longer than the first buffer are written', () => {
    const long = Array.from({ length: 1_000 }, (_, i) => `entry ${String(i)}`);
    const bytes = serdes.list(serdes.string()).serialize(long, 't', null);
    expect(serdes.list(serdes.string()).deserialize(bytes, 't', null)).toEqual(long);
  });
});

describe('what a serde refuses', () => {
  const bytes = (length: number): Buffer => Buffer.alloc(length, 0xff);
  it.each<[string, () => unknown]>([
    ['long: 2^53', () => serdes.long().serialize(2 ** 53, 't', null)],
    ['long: a fraction', () => serdes.long().serialize(1.5, 't', null)],
    ['long: 7 bytes', () => serdes.long().deserialize(bytes(7), 't', null)],
    [
      'long: more than a number holds',
      () => serdes.long().deserialize(Buffer.from('0020000000000000', 'hex'), 't', null),
    ],
    [
      'long: less than a number holds',
      () => serdes.long().deserialize(Buffer.from('ffe0000000000000', 'hex'), 't', null),
    ],
    ['bigint: 2^63', () => serdes.bigint().serialize(2n ** 63n, 't', null)],
    ['bigint: 9 bytes', () => serdes.bigint().deserialize(bytes(9), 't', null)],
    ['integer: 2^31', () => serdes.integer().serialize(2 ** 31, 't', null)],
    ['integer: 3 bytes', () => serdes.integer().deserialize(bytes(3), 't', null)],
    ['short: 40000', () => serdes.short().serialize(40000, 't', null)],
    ['float: 8 bytes', () => serdes.float().deserialize(bytes(8), 't', null)],
    ['boolean: 2', () => serdes.boolean().deserialize(Buffer.from([2]), 't', null)],
    ['uuid: no UUID', () => serdes.uuid().serialize('x', 't', null)],
    ['uuid: no UUID in the bytes', () => serdes.uuid().deserialize(bytes(36), 't', null)],
    ['void: bytes', () => serdes.void().deserialize(bytes(1), 't', null)],
    ['json: undefined', () => serdes.json<unknown>().serialize(undefined, 't', null)],
    ['json: a bigint', () => serdes.json<unknown>().serialize({ a: 1n }, 't', null)],
    ['json: a cycle', () => serdes.json<unknown>().serialize(cyclic(), 't', null)],
    ['json: no JSON', () => serdes.json().deserialize(Buffer.from('{'), 't', null)],
    [
      'timeWindowed: too short',
      () => serdes.timeWindowed(serdes.string(), 1).deserialize(bytes(7), 't', null),
    ],
  ])('%s', (_name, act) => {
    expect(act).toThrow(SerializationError);
  });

  function cyclic(): unknown {
    const value: Record<string, unknown> = {};
    value['self'] = value;
    return value;
  }
});

describe('values of another type than the serde writes', () => {
  const text = serdes.string();
  it.each<[string, RecordSerde<never>, unknown]>([
    ['string', text as never, 1],
    ['string of another encoding', serdes.string('UTF-16') as never, 1],
    ['long', serdes.long() as never, '1'],
    ['bigint', serdes.bigint() as never, 1],
    ['integer', serdes.integer() as never, 1n],
    ['short', serdes.short() as never, null],
    ['double', serdes.double() as never, 'x'],
    ['float', serdes.float() as never, undefined],
    ['boolean', serdes.boolean() as never, 1],
    ['uuid', serdes.uuid() as never, 1],
    ['bytes', serdes.bytes() as never, 'x'],
    ['void', serdes.void() as never, 1],
    ['list', serdes.list(text) as never, 'x'],
    ['list entry', serdes.list(text) as never, [1]],
    ['timeWindowed', serdes.timeWindowed(text, 1) as never, 'k'],
    ['sessionWindowed', serdes.sessionWindowed(text) as never, {}],
  ])('are refused as the mistake that they are: %s', (_name, serde, value) => {
    expect(() => serde.write(value as never, Buffer.alloc(99), 0)).toThrow(WrongTypeError);
    expect(() => serde.serialize(value as never, 't', null)).toThrow(WrongTypeError);
  });
});

describe('map keys are equal exactly when the bytes are', () => {
  it.each<[string, fc.Arbitrary<unknown>, RecordSerde<never>]>([
    ['string', fc.string({ unit: 'binary', maxLength: 3 }), serdes.string() as never],
    ['bigint', fc.bigInt(-3n, 3n), serdes.bigint() as never],
    ['bytes', fc.uint8Array({ maxLength: 2 }), serdes.bytes() as never],
    [
      'uuid',
      fc.constantFrom('A', 'a').map((c) => c.repeat(8) + '-0000-4000-8000-000000000000'),
      serdes.uuid() as never,
    ],
  ])('%s', (_name, values, serde) => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const sameBytes = hexOf(serde, a as never) === hexOf(serde, b as never);
        expect(serde.mapKey?.(a as never) === serde.mapKey?.(b as never)).toBe(sameBytes);
      }),
    );
  });
});
