import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Change, changeSerde } from './change.ts';
import { longSerde } from './numbers.ts';
import { SerializationError } from './serialization-error.ts';
import { stringSerde } from './string.ts';

const serde = changeSerde(stringSerde);

function written(newValue: string | null, oldValue: string | null): string {
  const bytes = serde.serialize(new Change(newValue, oldValue), 'topic', null);
  return Buffer.from(bytes).toString('hex');
}

function read(hex: string): [string | null, string | null] {
  const { newValue, oldValue } = serde.deserialize(Buffer.from(hex, 'hex'), 'topic', null);
  return [newValue, oldValue];
}

describe('changeSerde', () => {
  it("writes Kafka's bytes: flag 0 for an old value, 1 for a new one, 2 for both", () => {
    expect(written('1', null)).toBe('3101');
    expect(written(null, '3')).toBe('3300');
    expect(written('3', '1')).toBe('02333102');
    expect(written('', '')).toBe('0002');
  });

  it('writes the length of a long new value as a varint of several bytes', () => {
    const long = 'x'.repeat(64);
    expect(written(long, 'y')).toBe(`8001${'78'.repeat(64)}7902`);
    expect(read(written(long, 'y'))).toEqual([long, 'y']);
  });

  it('reads the flags that also say whether the change is the latest', () => {
    expect(read('330003')).toEqual([null, '3']);
    expect(read('310104')).toEqual(['1', null]);
    expect(read('0233310105')).toEqual(['3', '1']);
  });

  it('refuses a change without any value', () => {
    expect(() => written(null, null)).toThrow(SerializationError);
  });

  it.each([
    ['nothing', ''],
    ['an unknown flag', '3106'],
    ['a flag for the latest without its byte', '03'],
    ['a length beyond the end', '08333102'],
    ['a length that does not end', '808002'],
    ['a length of too many bytes', '80808080808002'],
    ['a negative length', '01333102'],
    ['no length at all', '02'],
  ])('refuses %s', (_what, hex) => {
    expect(() => read(hex)).toThrow(SerializationError);
  });

  it('passes on what the inner serde makes of too few bytes', () => {
    const longs = changeSerde(longSerde);
    expect(() => longs.deserialize(Buffer.from('010201', 'hex'), 'topic', null)).toThrow(
      SerializationError,
    );
  });

  it('says when the target is too small, at whatever size, and fits at any position', () => {
    for (const change of [new Change('new', null), new Change(null, 'old'), new Change('a', 'b')]) {
      const bytes = Buffer.from(serde.serialize(change, 'topic', null));
      for (let size = 0; size < bytes.length; size++) {
        expect(serde.write(change, Buffer.alloc(size + 3), 3)).toBe(-1);
      }
      const target = Buffer.alloc(64);
      const end = serde.write(change, target, 3);
      expect(target.subarray(3, end)).toEqual(bytes);
    }
  });

  it('reads what it wrote', () => {
    const value = fc.option(fc.string({ unit: 'grapheme', maxLength: 300 }), { nil: null });
    fc.assert(
      fc.property(value, value, (newValue, oldValue) => {
        fc.pre(newValue !== null || oldValue !== null);
        expect(read(written(newValue, oldValue))).toEqual([newValue, oldValue]);
      }),
    );
  });
});
