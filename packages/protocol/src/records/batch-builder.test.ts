import { describe, expect, it } from 'vitest';
import { InvalidValueError } from '../bytes/protocol-error.ts';
import { BatchBuilder } from './batch-builder.ts';
import { RecordHeaders } from './headers.ts';
import { RecordBatch } from './record-batch.ts';
import { RecordCursor } from './record-cursor.ts';
import type { ValueWriter } from './value-writer.ts';

/** Wants room for the longest form, as serdes do that do not measure first. */
const careful: ValueWriter<string> = {
  write(value, target, position) {
    if (value.length * 3 > target.length - position) return -1;
    return position + target.write(value, position, 'utf8');
  },
};

function values(bytes: Buffer): (string | null)[] {
  const batch = new RecordBatch(bytes);
  batch.ensureValid();
  const cursor = new RecordCursor();
  cursor.open(batch);
  const result: (string | null)[] = [];
  while (cursor.next()) result.push(cursor.value()?.toString() ?? null);
  return result;
}

describe('BatchBuilder', () => {
  it('takes the key out of the middle of its source', () => {
    for (const length of [0, 5, 24, 25, 200]) {
      const source = Buffer.from(`<<${'k'.repeat(length)}>>`);
      const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
      builder.append(1, source, 2, 2 + length, 'v', careful, null);
      const cursor = new RecordCursor();
      cursor.open(new RecordBatch(builder.build()));
      cursor.next();
      expect(cursor.key()?.toString()).toBe('k'.repeat(length));
    }
  });

  it.each([
    [-1, 2],
    [3, 2],
    [0, 5],
    [0, NaN],
  ])('refuses the key bounds [%d, %d) of four bytes', (start, end) => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    expect(() => builder.append(1, Buffer.from('four'), start, end, 'v', careful, null)).toThrow(
      InvalidValueError,
    );
    expect(builder.isEmpty).toBe(true);
  });

  it('guesses the length of a value wrong in both directions', () => {
    // Lengths on both sides of where a varint needs a byte more, and characters of up to 3 bytes.
    const texts = [0, 1, 62, 63, 64, 65, 3, 8190, 8191, 8192, 2, 100, 0].flatMap((length) => [
      'a'.repeat(length),
      'é'.repeat(length),
      '水'.repeat(length),
    ]);
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1024 * 1024, initialBytes: 61 });
    for (const text of texts) {
      expect(builder.append(5, null, 0, 0, text, careful, null)).toBe(true);
      expect(builder.append(5, null, 0, 0, [text], firstOf, null)).toBe(true);
    }
    expect(values(builder.build())).toEqual(texts.flatMap((text) => [text, text]));
  });

  it('says false when full and is then as it was', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 200, initialBytes: 70 });
    const headers = new RecordHeaders().add('h', 'x'.repeat(30));
    expect(builder.append(1, null, 0, 0, 'first', careful, null)).toBe(true);
    const before = Buffer.from(builder.build());
    const size = builder.sizeInBytes;
    expect(builder.append(9, null, 0, 0, 'y'.repeat(300), careful, null)).toBe(false);
    expect(builder.append(9, null, 0, 0, 'y'.repeat(110), careful, headers)).toBe(false);
    expect(builder.append(9, Buffer.alloc(300), 0, 300, null, careful, null)).toBe(false);
    expect(builder.sizeInBytes).toBe(size);
    expect(builder.recordCount).toBe(1);
    expect(builder.maxTimestamp).toBe(1);
    expect(builder.build().equals(before)).toBe(true);
    expect(builder.append(9, null, 0, 0, 'second', careful, null)).toBe(true);
    expect(values(builder.build())).toEqual(['first', 'second']);
  });

  it('fills a batch up to its size and not beyond', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000, initialBytes: 61 });
    while (builder.appendBytes(1, null, Buffer.alloc(50), null));
    expect(builder.sizeInBytes).toBeLessThanOrEqual(1000);
    expect(builder.sizeInBytes).toBeGreaterThan(1000 - 58);
  });

  it('takes a first record of any size and lets its memory go again', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 100 });
    const text = 'z'.repeat(100_000);
    expect(builder.append(1, null, 0, 0, text, careful, null)).toBe(true);
    expect(builder.append(1, null, 0, 0, 'more', careful, null)).toBe(false);
    expect(values(builder.build())).toEqual([text]);
    builder.reset();
    expect(builder.isEmpty).toBe(true);
    expect(builder.append(1, null, 0, 0, 'a', careful, null)).toBe(true);
    expect(values(builder.build())).toEqual(['a']);
    expect(builder.build().buffer.byteLength).toBeLessThanOrEqual(100);
  });

  it('is as it was when a writer throws or returns nonsense', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    builder.append(1, null, 0, 0, 'kept', careful, null);
    const failing = (end: (position: number, target: Buffer) => number): ValueWriter<string> => ({
      write: (_, target, position) => end(position, target),
    });
    const append = (writer: ValueWriter<string>) => () =>
      builder.append(1, null, 0, 0, 'x', writer, null);
    expect(
      append(
        failing(() => {
          throw new Error('cannot be written');
        }),
      ),
    ).toThrow('cannot be written');
    expect(append(failing((position) => position - 2))).toThrow(InvalidValueError);
    expect(append(failing((_, target) => target.length + 1))).toThrow(InvalidValueError);
    expect(append(failing(() => NaN))).toThrow(InvalidValueError);
    expect(values(builder.build())).toEqual(['kept']);
  });

  it.each([NaN, 1.5, -2, Infinity, 2 ** 53])('refuses the timestamp %d', (timestamp) => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    expect(() => builder.appendBytes(timestamp, null, null, null)).toThrow(InvalidValueError);
  });

  it('keeps timestamps exact over the whole range of safe integers', () => {
    const times = [
      5,
      Number.MAX_SAFE_INTEGER,
      -1,
      0,
      Number.MAX_SAFE_INTEGER - 1,
      2 ** 31,
      2 ** 32,
    ];
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    for (const time of times) builder.appendBytes(time, null, null, null);
    const batch = new RecordBatch(builder.build());
    expect(batch.maxTimestamp).toBe(Number.MAX_SAFE_INTEGER);
    const cursor = new RecordCursor();
    cursor.open(batch);
    for (const time of times) {
      cursor.next();
      expect(cursor.timestamp).toBe(time);
    }
  });

  it('knows null from empty, in keys, values and headers', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    const headers = new RecordHeaders().add('a', null).add('a', '').add('', 'x').add('a', null);
    builder.appendBytes(1, null, null, headers);
    builder.appendBytes(1, Buffer.alloc(0), new Uint8Array(0), new RecordHeaders());
    const cursor = new RecordCursor();
    cursor.open(new RecordBatch(builder.build()));
    cursor.next();
    expect([cursor.key(), cursor.value()]).toEqual([null, null]);
    expect(cursor.headers().toArray()).toEqual(headers.toArray());
    cursor.next();
    expect([cursor.key()?.length, cursor.value()?.length]).toEqual([0, 0]);
    expect(cursor.nullableHeaders()).toBe(null);
  });

  it('refuses offset deltas that go back', () => {
    const source = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    source.appendBytes(1, null, Buffer.from('a'), null);
    source.appendBytes(1, null, Buffer.from('b'), null);
    const cursor = new RecordCursor();
    cursor.open(new RecordBatch(source.build()));
    cursor.next();
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    builder.appendFrom(cursor, 10);
    expect(() => builder.appendFrom(cursor, 10)).toThrow(InvalidValueError);
    expect(() => builder.appendFrom(cursor, 2 ** 31)).toThrow(InvalidValueError);
    builder.appendFrom(cursor, 20);
    const built = new RecordBatch(builder.build({ baseOffset: 100n }));
    expect([built.recordCount, built.lastOffset, built.nextOffset]).toEqual([2, 120n, 121n]);
  });

  it('builds the bare header that keeps a producer when there are no records', () => {
    const builder = new BatchBuilder({ codec: 'gzip', maxBytes: 1000 });
    const batch = new RecordBatch(
      builder.build({ baseOffset: 900n, lastOffsetDelta: 99, producerId: 5n, maxTimestamp: 7 }),
    );
    batch.ensureValid();
    expect(batch.sizeInBytes).toBe(61);
    expect(batch).toMatchObject({ recordCount: 0, nextOffset: 1000n, codec: 'none' });
    expect(batch).toMatchObject({ baseTimestamp: -1, maxTimestamp: 7, producerId: 5n });
    const cursor = new RecordCursor();
    cursor.open(batch);
    expect(cursor.next()).toBe(false);
  });
});

const firstOf: ValueWriter<readonly string[]> = {
  write: (value, target, position) => careful.write(value[0] as string, target, position),
};
