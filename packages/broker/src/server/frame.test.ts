import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { FrameLengthError, FrameReader } from './frame.ts';

function frame(content: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeInt32BE(content.length);
  return Buffer.concat([size, content]);
}

function readAll(reader: FrameReader, chunks: readonly Buffer[]): Buffer[] {
  const frames: Buffer[] = [];
  for (const chunk of chunks) reader.push(chunk, (one) => frames.push(Buffer.from(one)));
  return frames;
}

describe('FrameReader', () => {
  it('gives the same frames however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }),
        fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 20 }),
        (contents, cuts) => {
          const stream = Buffer.concat(contents.map((content) => frame(Buffer.from(content))));
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < stream.length; i++) {
            const end = at + 1 + (cuts[i % cuts.length] as number);
            chunks.push(stream.subarray(at, end));
            at = end;
          }
          const frames = readAll(new FrameReader(1000), chunks);
          expect(frames).toEqual(contents.map((content) => Buffer.from(content)));
        },
      ),
    );
  });

  it('hands out a frame that came in one piece without copying it', () => {
    const chunk = frame(Buffer.from('abc'));
    let got: Buffer | undefined;
    new FrameReader(100).push(chunk, (one) => (got = one));
    expect(got?.buffer).toBe(chunk.buffer);
  });

  it.each([-1, -2_147_483_648, 101, 2_147_483_647])('refuses a length of %i', (length) => {
    const size = Buffer.alloc(4);
    size.writeInt32BE(length);
    expect(() => {
      readAll(new FrameReader(100), [size]);
    }).toThrow(FrameLengthError);
  });

  it('reserves no memory for a stated length before its bytes arrive', () => {
    const size = Buffer.alloc(5);
    size.writeInt32BE(1_000_000_000);
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 20 }, () => new FrameReader(1_000_000_000));
    for (const reader of readers) readAll(reader, [size]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('puts together a frame of many megabytes', () => {
    const content = Buffer.alloc(5 * 1024 * 1024 + 7);
    for (let i = 0; i < content.length; i += 997) content[i] = i % 251;
    const stream = frame(content);
    const chunks: Buffer[] = [];
    for (let at = 0; at < stream.length; at += 65_536)
      chunks.push(stream.subarray(at, at + 65_536));
    const frames = readAll(new FrameReader(10 * 1024 * 1024), chunks);
    expect(frames).toHaveLength(1);
    expect(frames[0]?.equals(content)).toBe(true);
  });
});
