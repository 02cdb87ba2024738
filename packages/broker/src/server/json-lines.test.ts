import { describe, expect, it } from 'vitest';
import { LineReader, toJsonLine } from './json-lines.ts';

describe('LineReader', () => {
  it('gives whole lines however they are cut', () => {
    const lines = new LineReader(100);
    expect(lines.push(Buffer.from('{"a'))).toEqual([]);
    expect(lines.push(Buffer.from('":1}\nxy\n\nz'))).toEqual(['{"a":1}', 'xy', '']);
    expect(lines.push(Buffer.from('\n'))).toEqual(['z']);
  });

  it('refuses a line above its bound, also when it comes in pieces', () => {
    const lines = new LineReader(4);
    expect(lines.push(Buffer.from('1234\n'))).toEqual(['1234']);
    lines.push(Buffer.from('123'));
    expect(() => lines.push(Buffer.from('45'))).toThrow(RangeError);
  });
});

describe('toJsonLine', () => {
  it('writes offsets as strings', () => {
    expect(toJsonLine({ offset: 9_007_199_254_740_993n })).toBe('{"offset":"9007199254740993"}\n');
  });
});
