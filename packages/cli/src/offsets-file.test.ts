import { describe, expect, it } from 'vitest';
import { parseOffsets, readOffsetsFile } from './offsets-file.ts';

describe('a file of offsets', () => {
  it("has a line a partition, as Kafka's tools write them", () => {
    expect([...parseOffsets('orders,0,42\r\n\norders,1,9223372036854775807\n', 'f')]).toEqual([
      ['orders-0', 42n],
      ['orders-1', 9_223_372_036_854_775_807n],
    ]);
  });

  it.each([
    ['orders,0', 'Line 1 of f is no topic,partition,offset'],
    ['orders,0,1\n,1,2', 'Line 2 of f is no topic,partition,offset'],
    ['orders,0,-1', 'Line 1 of f is no topic,partition,offset'],
    ['orders,0,1\norders,0,2', 'Line 2 of f names orders-0 again.'],
    ['\n', 'f has no line of topic,partition,offset.'],
  ])('%j is refused', (text, message) => {
    expect(() => parseOffsets(text, 'f')).toThrow(message);
  });

  it('that is not there is named', () => {
    expect(() => readOffsetsFile('/nowhere/offsets.csv')).toThrow(
      '/nowhere/offsets.csv cannot be read: ENOENT',
    );
  });
});
