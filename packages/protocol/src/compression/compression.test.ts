import { readFileSync } from 'node:fs';
import { constants, gzipSync } from 'node:zlib';
import { Encoder } from '@toondepauw/node-zstd';
import fc from 'fast-check';
import { compressFrameSync } from 'lz4-napi';
import { compressSync as rawSnappy } from 'snappy';
import { describe, expect, it } from 'vitest';
import {
  CorruptRecordError,
  DecompressedTooLargeError,
  ProtocolError,
} from '../bytes/protocol-error.ts';
import type { Codec } from './codec.ts';
import { compress, decompress } from './compress.ts';

const CODECS = ['gzip', 'snappy', 'lz4', 'zstd'] as const;
const MIB = 1024 * 1024;

/** Compressible, and longer than one block of any codec. */
const long = Buffer.from(Array.from({ length: 40_000 }, (_, i) => `value-${i % 997};`).join(''));
const noise = Buffer.alloc(200_000);
for (let i = 0, state = 1; i < noise.length; i++) {
  state = (Math.imul(state, 1664525) + 1013904223) | 0;
  noise[i] = state >>> 24;
}

/** Bytes held outside the V8 heap, so that a decoder which allocates before it checks shows. */
function externalBytesDuring(run: () => void): number {
  const before = process.memoryUsage().arrayBuffers;
  run();
  return process.memoryUsage().arrayBuffers - before;
}

describe.each(CODECS)('%s', (codec) => {
  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a byte', Buffer.from('x')],
    ['several blocks', long],
    ['incompressible blocks', noise],
  ])('brings back %s', (_, source) => {
    const compressed = compress(codec, source);
    expect(decompress(codec, compressed, source.length).equals(source)).toBe(true);
  });

  it('brings back any bytes, also out of a larger buffer', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000, size: 'max' }), (bytes) => {
        const source = Buffer.from(bytes);
        const padded = Buffer.concat([Buffer.alloc(3, 7), source, Buffer.alloc(3, 7)]);
        const compressed = compress(codec, padded.subarray(3, 3 + source.length));
        const moved = Buffer.concat([Buffer.alloc(5, 9), compressed]).subarray(5);
        const result = decompress(codec, moved, source.length);
        expect(result.equals(source)).toBe(true);
        // Nothing of the input is part of the result.
        moved.fill(0);
        expect(result.equals(source)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('173: refuses a bomb without making room for it (platformatic/kafka#236)', () => {
    const bomb = compress(codec, Buffer.alloc(64 * MIB));
    expect(bomb.length).toBeLessThan(4 * MIB);
    const held = externalBytesDuring(() => {
      expect(() => decompress(codec, bomb, 2 * MIB, 'the batch at offset 7')).toThrow(
        DecompressedTooLargeError,
      );
    });
    expect(held).toBeLessThan(8 * MIB);
    expect(() => decompress(codec, bomb, 2 * MIB, 'the batch at offset 7')).toThrow(
      new RegExp(`the batch at offset 7.*${codec}.*limit is ${2 * MIB}`),
    );
  });

  it('keeps to the limit to the byte', () => {
    const compressed = compress(codec, long);
    expect(decompress(codec, compressed, long.length).length).toBe(long.length);
    expect(() => decompress(codec, compressed, long.length - 1)).toThrow(DecompressedTooLargeError);
  });

  it('fails with its own errors on every cut', () => {
    const compressed = compress(codec, long.subarray(0, 5000));
    for (let length = 0; length < compressed.length; length++) {
      try {
        const result = decompress(codec, compressed.subarray(0, length), MIB);
        // A cut at a block's end can be a shorter stream, never a longer or another one.
        expect(long.subarray(0, result.length).equals(result)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
      }
    }
  });

  it('fails with nothing but its own errors on damaged and random bytes', () => {
    const compressed = compress(codec, long.subarray(0, 3000));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(compressed.length - 1), fc.nat(255)), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.uint8Array({ maxLength: 64 }),
        (flips, random) => {
          const flipped = Buffer.from(compressed);
          for (const [at, value] of flips) flipped[at] = value;
          for (const source of [flipped, Buffer.from(random)]) {
            try {
              expect(decompress(codec, source, MIB).length).toBeLessThanOrEqual(MIB);
            } catch (error) {
              expect(error).toBeInstanceOf(ProtocolError);
            }
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('frames that Java libraries wrote', () => {
  const { frames } = JSON.parse(
    readFileSync(new URL('./fixtures/java-frames.json', import.meta.url), 'utf8'),
  ) as { readonly frames: readonly { codec: Codec; name: string; bytes: string }[] };
  const content = Array.from({ length: 9000 }, (_, i) => `value-${i % 17};`).join('');

  it.each(frames)('reads $codec: $name', ({ codec, bytes }) => {
    const frame = Buffer.from(bytes, 'base64');
    expect(decompress(codec, frame, MIB).toString()).toBe(content);
    expect(() => decompress(codec, frame, content.length - 1)).toThrow(DecompressedTooLargeError);
  });
});

describe('gzip', () => {
  it('takes a level', () => {
    expect(compress('gzip', long, 9).length).toBeLessThan(compress('gzip', long, 1).length);
  });

  it('reads members that follow each other, whatever the last one says about its size', () => {
    const two = Buffer.concat([
      gzipSync('ab'),
      gzipSync('cd', { level: constants.Z_NO_COMPRESSION }),
    ]);
    expect(decompress('gzip', two, 4).toString()).toBe('abcd');
    const lying = gzipSync('abcd');
    lying.writeUInt32LE(0xffffffff, lying.length - 4);
    expect(() => decompress('gzip', lying, MIB)).toThrow(CorruptRecordError);
  });
});

describe('snappy', () => {
  it('reads the raw form that some clients send', () => {
    expect(decompress('snappy', rawSnappy(long), MIB).equals(long)).toBe(true);
  });

  it('writes and reads the framing of the Java library', () => {
    const framed = compress('snappy', Buffer.from('abc'));
    expect(framed.toString('hex', 0, 16)).toBe('82534e4150505900' + '0000000100000001');
    expect(framed.readInt32BE(16)).toBe(framed.length - 20);
    // Two streams, one after the other, are one stream.
    expect(decompress('snappy', Buffer.concat([framed, framed]), 6).toString()).toBe('abcabc');
  });

  it('refuses a preamble that no block of its size can keep', () => {
    // 2^31 bytes out of six.
    const liar = Buffer.from('8080808008ff', 'hex');
    expect(() => decompress('snappy', liar, 2 ** 40)).toThrow(CorruptRecordError);
  });
});

describe('lz4', () => {
  it.each([{}, { contentChecksum: true }, { blockChecksums: true }])(
    'reads a frame with %j',
    (options) => {
      const frame = compressFrameSync(long, options);
      expect(decompress('lz4', frame, MIB).equals(long)).toBe(true);
    },
  );

  it('finds a wrong content checksum', () => {
    const frame = compressFrameSync(long, { contentChecksum: true });
    frame[frame.length - 1] = (frame[frame.length - 1] as number) ^ 1;
    expect(() => decompress('lz4', frame, MIB)).toThrow(CorruptRecordError);
  });

  it('believes no content size', () => {
    // Descriptor with a size field of 3 for the one byte that follows stored.
    const sized = (size: number): Buffer =>
      Buffer.concat([
        Buffer.from('04224d186840', 'hex'),
        Buffer.from([size, 0, 0, 0, 0, 0, 0, 0, 0]),
        Buffer.from('0100008061' + '00000000', 'hex'),
      ]);
    expect(decompress('lz4', sized(1), MIB).toString()).toBe('a');
    expect(() => decompress('lz4', sized(3), MIB)).toThrow(CorruptRecordError);
    expect(() => decompress('lz4', sized(3), 2)).toThrow(DecompressedTooLargeError);
  });
});

describe('zstd', () => {
  const skippable = Buffer.from('502a4d1803000000' + '616263', 'hex');

  it('takes a level', () => {
    expect(compress('zstd', long, 19).length).toBeLessThan(compress('zstd', long, 1).length);
  });

  it('reads frames that follow each other and skips what is to be skipped', () => {
    const frame = new Encoder(3).encodeSync(Buffer.from('ab'));
    const all = Buffer.concat([skippable, frame, frame]);
    expect(decompress('zstd', all, 4).toString()).toBe('abab');
  });

  it('refuses a content size above the limit, and run-length blocks whose sum is', () => {
    // Single segment, 8 bytes of content size: 2^40.
    const claims = Buffer.from('28b52ffde00000000000010000' + '010000', 'hex');
    expect(() => decompress('zstd', claims, MIB)).toThrow(DecompressedTooLargeError);
    // Window of 128 KiB, then a thousand blocks of 128 KiB in four bytes each.
    const block = Buffer.from('02001061', 'hex');
    const blocks = Array.from({ length: 1000 }, () => block);
    const last = Buffer.from('03001061', 'hex');
    const runs = Buffer.concat([Buffer.from('28b52ffd0038', 'hex'), ...blocks, last]);
    expect(() => decompress('zstd', runs, 64 * MIB)).toThrow(DecompressedTooLargeError);
    expect(decompress('zstd', runs, 1001 * 128 * 1024).length).toBe(1001 * 128 * 1024);
  });

  it('refuses dictionaries, reserved bits and cut frames', () => {
    for (const hex of [
      '28b52ffd0138' + '07' + '010000',
      '28b52ffd0838' + '010000',
      '28b52ffd',
      '28b52f',
      '',
    ]) {
      expect(() => decompress('zstd', Buffer.from(hex, 'hex'), MIB)).toThrow(CorruptRecordError);
    }
  });
});
