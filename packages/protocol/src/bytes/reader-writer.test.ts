import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  InvalidLengthError,
  InvalidValueError,
  ProtocolError,
  TruncatedError,
} from './protocol-error.ts';
import { Reader } from './reader.ts';
import { uuidToString, ZERO_UUID } from './uuid.ts';
import { Writer } from './writer.ts';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const bytes = fc.uint8Array({ maxLength: 40 }).map((value) => Buffer.from(value));

/** One field: how it is written, and read back. */
const field: fc.Arbitrary<readonly [unknown, (w: Writer) => void, (r: Reader) => unknown]> =
  fc.oneof(
    entry(fc.integer({ min: -128, max: 127 }), 'writeInt8', 'readInt8'),
    entry(fc.boolean(), 'writeBoolean', 'readBoolean'),
    entry(fc.integer({ min: -32768, max: 32767 }), 'writeInt16', 'readInt16'),
    entry(fc.integer({ min: 0, max: 65535 }), 'writeUint16', 'readUint16'),
    entry(fc.integer(), 'writeInt32', 'readInt32'),
    entry(fc.integer({ min: 0, max: 2 ** 32 - 1 }), 'writeUint32', 'readUint32'),
    entry(int64, 'writeInt64', 'readInt64'),
    entry(fc.double(), 'writeFloat64', 'readFloat64'),
    entry(fc.integer(), 'writeVarint', 'readVarint'),
    entry(int64, 'writeVarlong', 'readVarlong'),
    entry(fc.integer({ min: 0, max: 2 ** 32 - 1 }), 'writeUnsignedVarint', 'readUnsignedVarint'),
    entry(text, 'writeString', 'readString'),
    entry(fc.option(text), 'writeNullableString', 'readNullableString'),
    entry(text, 'writeCompactString', 'readCompactString'),
    entry(fc.option(text), 'writeCompactNullableString', 'readCompactNullableString'),
    entry(bytes, 'writeSizedBytes', 'readSizedBytes'),
    entry(fc.option(bytes), 'writeNullableSizedBytes', 'readNullableSizedBytes'),
    entry(bytes, 'writeCompactBytes', 'readCompactBytes'),
    entry(fc.option(bytes), 'writeCompactNullableBytes', 'readCompactNullableBytes'),
    entry(
      fc.uint8Array({ minLength: 16, maxLength: 16 }).map((id) => uuidToString(Buffer.from(id))),
      'writeUuid',
      'readUuid',
    ),
  );

function entry<T>(
  values: fc.Arbitrary<T>,
  write: keyof Writer,
  read: keyof Reader,
): fc.Arbitrary<readonly [unknown, (w: Writer) => void, (r: Reader) => unknown]> {
  return values.map((value) => [
    value,
    (writer: Writer): void => {
      (writer[write] as (value: T) => void).call(writer, value);
    },
    (reader: Reader): unknown => (reader[read] as () => unknown).call(reader),
  ]);
}

describe('Writer and Reader', () => {
  it('read what was written, wherever the frame starts', () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 30 }), (fields) => {
        const writer = new Writer(16);
        for (const [, write] of fields) write(writer);
        const frame = Buffer.concat([Buffer.from('..'), writer.toBuffer(), Buffer.from('..')]);
        const reader = new Reader(frame, 2, frame.length - 2);
        for (const [value, , read] of fields) expect(read(reader)).toEqual(value);
        expect(reader.remaining).toBe(0);
      }),
    );
  });

  it('never read past the end of the frame, whatever is cut', () => {
    fc.assert(
      fc.property(fc.array(field, { minLength: 1, maxLength: 10 }), fc.nat(), (fields, at) => {
        const writer = new Writer();
        for (const [, write] of fields) write(writer);
        const end = at % Math.max(1, writer.length);
        // The bytes go on behind the frame's end: a reader that looks there would find them.
        const reader = new Reader(writer.toBuffer(), 0, end);
        expect(() => {
          for (const [, , read] of fields) read(reader);
        }).toThrow(ProtocolError);
        expect(reader.position).toBeLessThanOrEqual(end);
      }),
    );
  });

  it('fails with nothing but its own errors on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(field), (random, fields) => {
        const reader = new Reader(Buffer.from(random));
        try {
          for (const [, , read] of fields) read(reader);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError);
        }
      }),
    );
  });
});

describe('Reader', () => {
  const read = (hex: string): Reader => new Reader(Buffer.from(hex, 'hex'));

  it('refuses counts that the frame cannot hold before anything is allocated', () => {
    expect(() => read('7fffffff00').readArrayCount()).toThrow(InvalidLengthError);
    expect(() => read('00000003000000000000').readArrayCount(4)).toThrow(InvalidLengthError);
    expect(() => read('fffffffe').readArrayCount()).toThrow(InvalidLengthError);
    expect(() => read('ffffffff0f').readCompactArrayCount()).toThrow(InvalidLengthError);
    expect(read('ffffffff').readArrayCount()).toBe(-1);
    expect(read('00').readCompactArrayCount()).toBe(-1);
    expect(read('030000').readCompactArrayCount()).toBe(2);
  });

  it('refuses negative lengths and null where neither may be', () => {
    expect(() => read('fffe').readNullableString()).toThrow(InvalidLengthError);
    expect(() => read('80000000').readNullableSizedBytes()).toThrow(InvalidLengthError);
    expect(() => read('ffff').readString()).toThrow(/null before byte 2/);
    expect(() => read('00').readCompactString()).toThrow(InvalidLengthError);
    expect(() => read('00').readBytes(-1)).toThrow(InvalidLengthError);
    expect(() => read('00').readBytes(NaN)).toThrow(InvalidLengthError);
    expect(() => read('000a6162').readString()).toThrow(TruncatedError);
  });

  it('refuses varints that are too long', () => {
    expect(() => read('ffffffff1f').readUnsignedVarint()).toThrow(InvalidLengthError);
    expect(() => read('808080808000').readUnsignedVarint()).toThrow(InvalidLengthError);
    expect(() => read('ffffffffffffffffff02').readVarlong()).toThrow(InvalidLengthError);
    expect(() => read('8080808080808080808000').readVarlong()).toThrow(InvalidLengthError);
    expect(() => read('80').readVarint()).toThrow(TruncatedError);
  });

  it('refuses bounds outside its buffer', () => {
    expect(() => new Reader(Buffer.alloc(4), 0, 5)).toThrow(InvalidLengthError);
    expect(() => new Reader(Buffer.alloc(4), 3, 2)).toThrow(InvalidLengthError);
    expect(() => new Reader(Buffer.alloc(4), -1)).toThrow(InvalidLengthError);
  });
});

describe('Writer', () => {
  it('refuses strings that an int16 cannot measure', () => {
    expect(() => {
      new Writer().writeString('é'.repeat(20_000));
    }).toThrow(InvalidValueError);
  });

  it('fills in a length that was reserved', () => {
    const writer = new Writer();
    const at = writer.reserve(4);
    writer.writeUuid(ZERO_UUID);
    writer.setInt32(at, writer.length - 4);
    expect(writer.toBuffer().readInt32BE(0)).toBe(16);
    writer.reset();
    expect(writer.toBuffer().length).toBe(0);
  });
});
