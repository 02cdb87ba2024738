import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../bytes/crc32c.ts';
import { CorruptRecordError, ProtocolError } from '../bytes/protocol-error.ts';
import type { Codec } from '../compression/codec.ts';
import { compress } from '../compression/compress.ts';
import { BatchBuilder } from './batch-builder.ts';
import { CODECS } from './batch-format.ts';
import { BatchIterator } from './batch-iterator.ts';
import { readControlRecord } from './control-record.ts';
import { RecordHeaders } from './headers.ts';
import { RecordBatch } from './record-batch.ts';
import { type KeyRanges, RecordCursor } from './record-cursor.ts';

const bytes = fc.uint8Array({ maxLength: 200 }).map((value): Buffer => Buffer.from(value));
const header = fc.record({ key: fc.string({ unit: 'grapheme' }), value: fc.option(bytes) });
const record = fc.record({
  timestamp: fc.oneof(
    fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: 1_600_000_000_000, max: 1_600_000_100_000 }),
  ),
  key: fc.option(bytes),
  value: fc.option(bytes),
  headers: fc.array(header, { maxLength: 4 }),
});
const codec = fc.constantFrom<Codec>(...CODECS);
const int64 = fc.bigInt({ min: 0n, max: 2n ** 62n });

type TestRecord = typeof record extends fc.Arbitrary<infer T> ? T : never;

function fill(builder: BatchBuilder, records: readonly TestRecord[]): void {
  for (const { timestamp, key, value, headers } of records) {
    const all = headers.length === 0 ? null : RecordHeaders.from(headers);
    expect(builder.appendBytes(timestamp, key, value, all)).toBe(true);
  }
}

function readBack(cursor: RecordCursor): TestRecord[] {
  const result: TestRecord[] = [];
  while (cursor.next()) {
    result.push({
      timestamp: cursor.timestamp,
      key: cursor.key(),
      value: cursor.value(),
      headers: cursor.headers().toArray(),
    });
  }
  return result;
}

function keysOf(cursor: RecordCursor, { starts, ends, count }: KeyRanges): string[] {
  return Array.from({ length: count }, (_, i) =>
    cursor.buffer.toString('latin1', starts[i], ends[i]),
  );
}

describe('records', () => {
  it('tell the keys that come next, and go on as if nobody had asked', () => {
    const cursor = new RecordCursor();
    const ahead = { starts: new Int32Array(3), ends: new Int32Array(3), count: 0 };
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 12 }), codec, (records, name) => {
        const builder = new BatchBuilder({ codec: name, maxBytes: 1024 * 1024, initialBytes: 100 });
        fill(builder, records);
        const keys = records.map(({ key }) => key?.toString('latin1') ?? null);
        cursor.open(new RecordBatch(builder.build()));
        for (let at = 0; at <= keys.length; at++) {
          cursor.keysAhead(ahead);
          const next = keys.slice(at).filter((key) => key !== null);
          expect(keysOf(cursor, ahead)).toEqual(next.slice(0, 3));
          expect(cursor.next()).toBe(at < keys.length);
          if (at < keys.length) expect(cursor.key()?.toString('latin1') ?? null).toBe(keys[at]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('tell the keys up to what is corrupt, and no more', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1024 * 1024, initialBytes: 100 });
    for (const key of ['first', 'second', 'third']) {
      expect(builder.appendBytes(1, Buffer.from(key), null, null)).toBe(true);
    }
    const whole = builder.build();
    const cursor = new RecordCursor();
    const ahead = { starts: new Int32Array(8), ends: new Int32Array(8), count: 0 };
    fc.assert(
      fc.property(fc.nat(whole.length - 62), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const batch = Buffer.from(whole);
        batch[61 + at] = byte;
        cursor.open(new RecordBatch(batch));
        cursor.keysAhead(ahead);
        const told = keysOf(cursor, ahead);
        const read: string[] = [];
        try {
          while (cursor.next())
            read.push(...(cursor.key() === null ? [] : [cursor.key()?.toString('latin1') ?? '']));
        } catch (error) {
          expect(error).toBeInstanceOf(CorruptRecordError);
        }
        // What it is told of need not be readable, but what can be read is what was told.
        expect(told.slice(0, read.length)).toEqual(read);
      }),
      { numRuns: 300 },
    );
  });

  it('come back as they were, by every codec, with reused builder and cursor', () => {
    const builders = new Map(
      CODECS.map((name) => [
        name,
        new BatchBuilder({ codec: name, maxBytes: 1024 * 1024, initialBytes: 100 }),
      ]),
    );
    const cursor = new RecordCursor();
    fc.assert(
      fc.property(
        fc.array(record, { maxLength: 40 }),
        codec,
        int64,
        (records, name, baseOffset) => {
          const builder = builders.get(name) as BatchBuilder;
          builder.reset();
          fill(builder, records);
          const batch = new RecordBatch(builder.build({ baseOffset }));
          batch.ensureValid();
          expect(batch.recordCount).toBe(records.length);
          expect(batch.baseOffset).toBe(baseOffset);
          cursor.open(batch);
          expect(readBack(cursor)).toEqual(records);
          if (records.length > 0) expect(cursor.offset()).toBe(batch.lastOffset);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keep their times when a delete horizon is set, before or after', () => {
    const horizon = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    const sane = record.map((each) => ({ ...each, timestamp: Math.floor(each.timestamp / 4) }));
    fc.assert(
      fc.property(fc.array(sane, { minLength: 1, maxLength: 10 }), horizon, (records, at) => {
        const deleteHorizonMs = Math.trunc(at / 4);
        const late = new BatchBuilder({ codec: 'none', maxBytes: 1024 * 1024 });
        fill(late, records);
        const early = new BatchBuilder({ codec: 'none', maxBytes: 1024 * 1024 });
        early.reset(deleteHorizonMs);
        fill(early, records);
        const batch = new RecordBatch(late.build({ deleteHorizonMs }));
        expect(batch.toBuffer().equals(early.build())).toBe(true);
        expect(batch.deleteHorizonMs).toBe(deleteHorizonMs);
        const cursor = new RecordCursor();
        cursor.open(batch);
        expect(readBack(cursor)).toEqual(records);
      }),
    );
  });
});

/** Everything that a reader may do with a batch. */
function readEverything(source: Buffer): void {
  const cursor = new RecordCursor({ maxDecompressedBytes: 1024 * 1024 });
  const batches = new BatchIterator(source);
  for (let batch = batches.next(); batch !== null; batch = batches.next()) {
    batch.isValid();
    cursor.open(batch);
    while (cursor.next()) {
      cursor.key();
      cursor.value();
      for (const each of cursor.headers()) expect(typeof each.key).toBe('string');
      if (cursor.isControl) readControlRecord(cursor);
    }
  }
}

describe('damaged batches', () => {
  it('fail with nothing but protocol errors, whatever was flipped or cut', () => {
    const flips = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(record, { minLength: 1, maxLength: 8 }),
        codec,
        flips,
        fc.nat(),
        (records, name, changes, cut) => {
          const builder = new BatchBuilder({ codec: name, maxBytes: 1024 * 1024 });
          fill(builder, records);
          const damaged = builder.build();
          for (const [at, value] of changes) damaged[at % damaged.length] = value;
          for (const source of [damaged, damaged.subarray(0, cut % damaged.length)]) {
            try {
              readEverything(source);
            } catch (error) {
              expect(error).toBeInstanceOf(ProtocolError);
            }
          }
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('fail the same way when only random bytes follow a sound header', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 7, maxLength: 300 }),
        fc.integer({ min: 1, max: 40 }),
        codec,
        (random, count, name) => {
          try {
            readEverything(batchOf(Buffer.from(random), count, name));
          } catch (error) {
            expect(error).toBeInstanceOf(ProtocolError);
          }
        },
      ),
      { numRuns: 1500 },
    );
  });
});

/** A batch whose header is right about everything but, perhaps, its records. */
function batchOf(records: Buffer, count: number, name: Codec = 'none'): Buffer {
  const header = new BatchBuilder({ codec: 'none', maxBytes: 100 }).build();
  const batch = Buffer.concat([header, compress(name, records)]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt16BE(CODECS.indexOf(name), 21);
  batch.writeInt32BE(Math.max(0, count - 1), 23);
  batch.writeInt32BE(count, 57);
  batch.writeUInt32BE(crc32c(batch, 21, batch.length), 17);
  return batch;
}

describe('RecordCursor', () => {
  const read =
    (hex: string, count: number, name: Codec = 'none') =>
    (): void => {
      readEverything(batchOf(Buffer.from(hex, 'hex'), count, name));
    };
  /** Length 6: attributes, time delta 0, offset delta 0, null key, null value, no headers. */
  const smallest = '0c00000001' + '0100';

  it('reads the smallest record', () => {
    expect(read(smallest, 1)).not.toThrow();
  });

  it.each([
    ['fewer bytes than the count needs', smallest, 2],
    ['a count far beyond the bytes', smallest, 0x7fffffff],
    ['bytes but no records', smallest, 0],
    ['bytes after the last record', `${smallest}00`, 1],
    ['a record that ends before its fields', '0a000000010100', 1],
    ['a record that ends after its fields', `0e00000001010000`, 1],
    ['a record that reaches past the batch', '7e000000010100', 1],
    ['a negative record length', '0b000000010100', 1],
    ['a record length that never ends', 'ffffffffffffff', 1],
    ['an offset delta beyond the last', '0c000002010100', 1],
    ['a negative offset delta', '0c000001010100', 1],
    ['a key that reaches past the record', '0c000000100100', 1],
    ['a key length below null', '0c000000030100', 1],
    ['a value that reaches past the record', '0c000000011000', 1],
    ['a value length below null', '0c000000010300', 1],
    ['a header count that the record cannot hold', '0c00000001017e', 1],
    ['a negative header count', '0c000000010101', 1],
    ['a null header key', `1000000001010201` + '01', 1],
    ['a header key past the record', `1000000001010210` + '01', 1],
    ['a header value past the record', `1000000001010200` + '10', 1],
    ['a timestamp delta that never ends', `1cffffffffffffffffffff` + '00010100', 1],
  ])('refuses %s', (_, hex, count) => {
    expect(read(hex, count)).toThrow(CorruptRecordError);
    expect(read(hex, count)).toThrow(/batch at offset 0/);
    // Inside a compressed batch the same bytes are as wrong.
    expect(read(hex, count, 'lz4')).toThrow(CorruptRecordError);
  });

  it('can be opened again after a failure, and closed', () => {
    const cursor = new RecordCursor();
    cursor.open(new RecordBatch(batchOf(Buffer.from(`${smallest}00`, 'hex'), 1)));
    expect(() => cursor.next()).toThrow(/record 0 of 1 in the batch at offset 0/);
    expect(() => cursor.next()).toThrow(CorruptRecordError);
    const builder = new BatchBuilder({ codec: 'zstd', maxBytes: 1000 });
    builder.appendBytes(3, null, Buffer.from('fine'), null);
    cursor.open(new RecordBatch(builder.build({ baseOffset: 9n })));
    expect(cursor.next()).toBe(true);
    expect([cursor.offset(), cursor.value()?.toString()]).toEqual([9n, 'fine']);
    cursor.close();
    expect(cursor.next()).toBe(false);
    expect(cursor.buffer.length).toBe(0);
  });

  it('reads on while its batch view is pointed elsewhere', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    for (let i = 0; i < 3; i++) builder.appendBytes(i, null, Buffer.from([i]), null);
    const one = Buffer.from(builder.build({ baseOffset: 5n }));
    const both = Buffer.concat([one, batchOf(Buffer.from(smallest, 'hex'), 1)]);
    const batches = new BatchIterator(both);
    const cursor = new RecordCursor();
    cursor.open(batches.next() as RecordBatch);
    batches.next();
    const seen: (readonly [bigint, number | undefined])[] = [];
    while (cursor.next()) seen.push([cursor.offset(), cursor.value()?.[0]]);
    expect(seen).toEqual([
      [5n, 0],
      [6n, 1],
      [7n, 2],
    ]);
  });
});
