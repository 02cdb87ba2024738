import { describe, expect, it } from 'vitest';
import { InvalidLengthError, InvalidValueError } from './protocol-error.ts';
import {
  METADATA_TOPIC_UUID,
  randomUuid,
  uuidFromString,
  uuidToString,
  ZERO_UUID,
} from './uuid.ts';

describe('uuid', () => {
  it('goes between 16 bytes and 22 characters', () => {
    const bytes = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
    const text = uuidToString(Buffer.concat([Buffer.alloc(3), bytes]), 3);
    expect(text).toBe('ABEiM0RVZneImaq7zN3u_w');
    expect(uuidFromString(text)).toEqual(bytes);
    expect(uuidFromString(ZERO_UUID)).toEqual(Buffer.alloc(16));
    expect(uuidToString(Buffer.alloc(16))).toBe(ZERO_UUID);
    expect(uuidFromString(METADATA_TOPIC_UUID)[15]).toBe(1);
  });

  it.each([
    '',
    'short',
    `${ZERO_UUID}A`,
    'AAAAAAAAAAAAAAAAAAAA+/',
    '00112233-4455-6677-8899-aabbccddeeff',
  ])('refuses %j', (text) => {
    expect(() => uuidFromString(text)).toThrow(InvalidValueError);
  });

  it('refuses too few bytes', () => {
    expect(() => uuidToString(Buffer.alloc(16), 1)).toThrow(InvalidLengthError);
  });

  it('makes version 4 ids from the random bytes it is given, never with a leading dash', () => {
    // The first bytes would give a leading dash (62 in base64url).
    const draws = [0xf8, 0x12];
    const text = randomUuid((target) => target.fill(draws.shift() ?? 0));
    const bytes = uuidFromString(text);
    expect(draws).toEqual([]);
    expect((bytes[6] as number) >> 4).toBe(4);
    expect((bytes[8] as number) >> 6).toBe(2);
    expect(text.startsWith('-')).toBe(false);
  });
});
