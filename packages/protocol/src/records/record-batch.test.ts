import { describe, expect, it } from 'vitest';
import {
  CorruptRecordError,
  UnsupportedCodecError,
  UnsupportedMagicError,
} from '../bytes/protocol-error.ts';
import { BatchBuilder } from './batch-builder.ts';
import { BatchIterator } from './batch-iterator.ts';
import { RecordBatch } from './record-batch.ts';
import { RecordCursor } from './record-cursor.ts';

function build(count: number, baseOffset = 0n): Buffer {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 10_000 });
  for (let i = 0; i < count; i++) {
    builder.appendBytes(1000 + i, Buffer.from(`k${i}`), Buffer.from(`v${i}`), null);
  }
  return Buffer.from(builder.build({ baseOffset }));
}

function spoilt(spoil: (bytes: Buffer) => void): Buffer {
  const bytes = build(3, 41n);
  spoil(bytes);
  return bytes;
}

describe('RecordBatch', () => {
  it.each([
    ['a negative batch length', spoilt((bytes) => bytes.writeInt32BE(-1, 8))],
    ['a batch length below the header', spoilt((bytes) => bytes.writeInt32BE(48, 8))],
    ['a batch length beyond the buffer', spoilt((bytes) => bytes.writeInt32BE(0x7fffffff, 8))],
    ['a negative record count', spoilt((bytes) => bytes.writeInt32BE(-1, 57))],
    ['a negative last offset delta', spoilt((bytes) => bytes.writeInt32BE(-5, 23))],
  ])('refuses %s, naming the offset', (_, bytes) => {
    expect(() => new RecordBatch(bytes)).toThrow(CorruptRecordError);
    expect(() => new RecordBatch(bytes)).toThrow(/offset 41/);
  });

  it('refuses positions outside its buffer', () => {
    expect(() => new RecordBatch(Buffer.alloc(0))).toThrow(CorruptRecordError);
    expect(() => new RecordBatch(build(1), 1000)).toThrow(CorruptRecordError);
    expect(() => new RecordBatch(build(1), -1)).toThrow(CorruptRecordError);
  });

  it.each([0, 1, 3, -1])('names magic %d', (magic) => {
    const bytes = spoilt((buffer) => buffer.writeInt8(magic, 16));
    expect(() => new RecordBatch(bytes)).toThrow(UnsupportedMagicError);
    expect(() => new RecordBatch(bytes)).toThrow(new RegExp(`magic ${magic}`));
  });

  it.each([5, 6, 7])('names the unknown codec %d', (codec) => {
    const batch = new RecordBatch(spoilt((bytes) => bytes.writeInt16BE(codec, 21)));
    expect(() => batch.codec).toThrow(UnsupportedCodecError);
    expect(() => {
      new RecordCursor().open(batch);
    }).toThrow(new RegExp(`offset 41.*codec ${codec}`));
  });

  it('stays where it was when it cannot be pointed elsewhere', () => {
    const batch = new RecordBatch(build(2, 7n));
    expect(() => batch.at(Buffer.alloc(61), 0)).toThrow(CorruptRecordError);
    expect(batch.baseOffset).toBe(7n);
  });

  it('finds a changed byte anywhere behind the CRC', () => {
    const bytes = build(3);
    for (let at = 21; at < bytes.length; at++) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] as number) ^ 0x10;
      if (flipped.readInt32BE(23) < 0 || flipped.readInt32BE(57) < 0) continue;
      const batch = new RecordBatch(flipped);
      expect(batch.isValid()).toBe(false);
      expect(() => {
        batch.ensureValid();
      }).toThrow(CorruptRecordError);
    }
  });

  it('takes the leader’s offset and epoch without touching the CRC', () => {
    const batch = new RecordBatch(build(3));
    const crc = batch.crc;
    batch.setBaseOffset(2n ** 63n - 3n);
    batch.setPartitionLeaderEpoch(77);
    expect(batch.crc).toBe(crc);
    expect(batch.isValid()).toBe(true);
    expect(batch.lastOffset).toBe(2n ** 63n - 1n);
    expect(batch.partitionLeaderEpoch).toBe(77);
  });

  it('takes the broker’s time for every record', () => {
    const batch = new RecordBatch(build(3));
    batch.setLogAppendTime(5000);
    expect(batch.isValid()).toBe(true);
    expect(batch).toMatchObject({ timestampType: 'logAppendTime', maxTimestamp: 5000 });
    const cursor = new RecordCursor();
    cursor.open(batch);
    while (cursor.next()) expect(cursor.timestamp).toBe(5000);
    expect(cursor.recordIndex).toBe(2);
    batch.setMaxTimestamp('createTime', 1002);
    expect(batch.toBuffer().equals(build(3))).toBe(true);
  });

  it('gives every record the broker’s time, whatever base and deltas say', () => {
    const builder = new BatchBuilder({ codec: 'lz4', maxBytes: 1000 });
    for (const time of [-1, 7, 123]) builder.appendBytes(time, null, null, null);
    const batch = new RecordBatch(
      builder.build({ timestampType: 'logAppendTime', maxTimestamp: 5000 }),
    );
    expect(batch.baseTimestamp).toBe(-1);
    const cursor = new RecordCursor();
    cursor.open(batch);
    while (cursor.next()) expect(cursor.timestamp).toBe(5000);
    expect(cursor.recordIndex).toBe(2);
  });

  it('goes round after the last sequence, record by record', () => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1000 });
    for (let i = 0; i < 3; i++) builder.appendBytes(1, null, null, null);
    const last = (baseSequence: number): number =>
      new RecordBatch(builder.build({ baseSequence })).lastSequence;
    expect(last(10)).toBe(12);
    expect(last(2147483645)).toBe(2147483647);
    expect(last(2147483646)).toBe(0);
    expect(last(2147483647)).toBe(1);
    expect(last(-1)).toBe(-1);
  });
});

describe('BatchIterator', () => {
  it('walks whole batches in one view and stops before a cut one', () => {
    const first = build(2, 0n);
    const second = build(3, 2n);
    const all = Buffer.concat([first, second, build(1, 5n)]);
    for (let cut = 0; cut <= all.length; cut++) {
      const batches = new BatchIterator(all, 0, cut);
      let bytes = 0;
      const views = new Set<RecordBatch>();
      for (let batch = batches.next(); batch !== null; batch = batches.next()) {
        batch.ensureValid();
        views.add(batch);
        bytes += batch.sizeInBytes;
      }
      expect(batches.position).toBe(bytes);
      expect(batches.remaining).toBe(cut - bytes);
      expect(views.size).toBeLessThanOrEqual(1);
      const whole = cut < first.length ? 0 : cut < first.length + second.length ? 1 : 2;
      expect(bytes >= [0, first.length, first.length + second.length][whole]!).toBe(true);
    }
  });

  it('starts in the middle', () => {
    const first = build(2, 0n);
    const batches = new BatchIterator(Buffer.concat([first, build(3, 2n)]), first.length);
    expect(batches.next()?.baseOffset).toBe(2n);
    expect(batches.next()).toBe(null);
  });

  it('throws at what is corrupt instead of taking it for cut', () => {
    const old = Buffer.concat([build(1), spoilt((bytes) => bytes.writeInt8(1, 16))]);
    const batches = new BatchIterator(old);
    batches.next();
    expect(() => batches.next()).toThrow(UnsupportedMagicError);
    const negative = new BatchIterator(spoilt((bytes) => bytes.writeInt32BE(-7, 8)));
    expect(() => negative.next()).toThrow(CorruptRecordError);
    expect(() => new BatchIterator(Buffer.alloc(4), 0, 5)).toThrow(CorruptRecordError);
  });
});
