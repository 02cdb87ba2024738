import { describe, expect, it } from 'vitest';
import { ResponseMemory } from '../response-memory.ts';
import { FrameReader } from './frame-reader.ts';

interface Seen {
  readonly correlationId: number;
  readonly payload: string;
}

function read(chunks: readonly Buffer[]): { frames: Seen[]; errors: Error[] } {
  const frames: Seen[] = [];
  const errors: Error[] = [];
  const reader = new FrameReader(new ResponseMemory(), {
    frame: (correlationId, payload) => frames.push({ correlationId, payload: payload.toString() }),
    broken: (error) => errors.push(error),
  });
  for (const chunk of chunks) {
    reader.push(chunk);
    chunk.fill(0xff); // a socket uses its memory again
  }
  return { frames, errors };
}

function frame(correlationId: number, payload: string): Buffer {
  const text = Buffer.from(payload);
  const bytes = Buffer.alloc(8 + text.length);
  bytes.writeInt32BE(4 + text.length, 0);
  bytes.writeInt32BE(correlationId, 4);
  text.copy(bytes, 8);
  return bytes;
}

describe('FrameReader', () => {
  it('delivers the same responses wherever the stream is cut', () => {
    const stream = Buffer.concat([frame(1, 'one'), frame(2, ''), frame(3, 'three')]);
    const expected = [
      { correlationId: 1, payload: 'one' },
      { correlationId: 2, payload: '' },
      { correlationId: 3, payload: 'three' },
    ];
    for (let first = 0; first <= stream.length; first++) {
      for (let second = first; second <= stream.length; second++) {
        const cuts = [
          stream.subarray(0, first),
          stream.subarray(first, second),
          stream.subarray(second),
        ].map((part) => Buffer.from(part));
        expect(read(cuts)).toEqual({ frames: expected, errors: [] });
      }
    }
  });

  it.each([-1, 0, 3, 0x7fffffff, 0x48545450])('stops at a claimed size of %d', (size) => {
    const bad = Buffer.alloc(12);
    bad.writeInt32BE(size, 0);
    const { frames, errors } = read([frame(1, 'one'), bad, frame(2, 'two')]);
    expect(frames).toEqual([{ correlationId: 1, payload: 'one' }]);
    expect(errors.map((error) => error.message)).toEqual([
      expect.stringContaining(`claims a size of ${size} bytes`),
    ]);
  });
});
