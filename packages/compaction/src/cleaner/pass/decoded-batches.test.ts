import { BATCH_HEADER_BYTES, BatchBuilder, RecordBatch } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../testing/seeded-random.ts';
import { DecodedBatches } from './decoded-batches.ts';
import { OffsetMap } from '../map/offset-map.ts';

const SLOTS = 100_000;
const FEW_KEYS = Math.floor(Math.ceil(SLOTS / 8) * 0.75);

function putKeys(map: OffsetMap, from: number, to: number): void {
  const key = Buffer.alloc(4);
  for (let i = from; i < to; i++) {
    key.writeUInt32BE(i);
    map.put(key, 0, 4, 0, i);
  }
}

function ensureKeys(map: OffsetMap, count: number): void {
  const key = Buffer.alloc(4);
  expect(map.keyCount).toBe(count);
  for (let i = 1; i < count; i++) {
    key.writeUInt32BE(i);
    if (map.isLatest(key, 0, 4, 0, i - 1) || !map.isLatest(key, 0, 4, 0, i)) {
      throw new Error(`key ${i}`);
    }
  }
}

function batchAt(baseOffset: number, valueBytes = 1): RecordBatch {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 10_000 });
  builder.appendBytes(1, null, Buffer.alloc(valueBytes), null);
  return new RecordBatch(builder.build({ baseOffset: BigInt(baseOffset) }));
}

describe('decoded batches', () => {
  const newMap = (): OffsetMap => new OffsetMap(SLOTS * 24, 0.9, seededRandom(1));
  const records = (byte: number): Buffer => Buffer.alloc(100_000, byte);

  it('are found again where they were, in their order, beside as many keys as leave them room', () => {
    const map = newMap();
    map.reset(0n, 1_000_000n);
    const decoded = new DecodedBatches(map);
    for (let batch = 0; batch < 15; batch++) {
      const room = decoded.roomFor(10) as Buffer;
      decoded.keep(BigInt(batch), 0, batchAt(batch), records(batch + 1), room);
    }
    putKeys(map, 0, FEW_KEYS - 1);
    decoded.settle();
    ensureKeys(map, FEW_KEYS - 1);
    for (const batch of [0, 3, 3, 4, 14]) {
      const found = decoded.find(BigInt(batch), 0);
      expect(found?.baseOffset).toBe(BigInt(batch));
      expect(found?.sizeInBytes).toBe(batchAt(batch).sizeInBytes);
      expect(decoded.records?.equals(records(batch + 1))).toBe(true);
    }
    expect(decoded.find(14n, 1)).toBeNull();

    const again = new DecodedBatches(map);
    for (let batch = 0; batch < 3; batch++) {
      const room = again.roomFor(0) as Buffer;
      // What a codec has put there itself stays where it is.
      room.fill(batch + 65, 0, 100_000);
      again.keep(7n, batch * 500, batchAt(batch), room.subarray(0, 100_000), room);
    }
    expect(again.find(6n, 0)).toBeNull();
    expect(again.find(7n, 0)?.baseOffset).toBe(0n);
    expect(again.find(7n, 400)).toBeNull();
    expect(again.find(7n, 1_000)?.baseOffset).toBe(2n);
    expect(again.records?.equals(records(67))).toBe(true);
    expect(again.find(8n, 0)).toBeNull();
  });

  it('make way for keys', () => {
    const map = newMap();
    map.reset(0n, 1_000_000n);
    const decoded = new DecodedBatches(map);
    decoded.keep(0n, 0, batchAt(0), records(0xff), decoded.roomFor(10) as Buffer);
    // A batch that might bring too many keys must not lie in what they would take.
    expect(decoded.roomFor(FEW_KEYS)).toBeUndefined();
    putKeys(map, 0, 80_000);
    expect(decoded.roomFor(1)).toBeUndefined();
    decoded.settle();
    expect(decoded.find(0n, 0)).toBeNull();
    ensureKeys(map, 80_000);
    map.reset(0n, 1_000_000n);
    putKeys(map, 0, 80_000);
    ensureKeys(map, 80_000);
  });

  it('are left out when they, or what their headers speak of, do not fit', () => {
    const map = newMap();
    const decoded = new DecodedBatches(map);
    const room = decoded.roomFor(1) as Buffer;
    decoded.keep(0n, 0, batchAt(0), Buffer.alloc(room.length + 1), room);
    expect(decoded.find(0n, 0)).toBeNull();
    const nearlyAll = room.length - 3 * BATCH_HEADER_BYTES;
    decoded.keep(0n, 0, batchAt(0), room.subarray(0, nearlyAll), room);
    expect(decoded.find(0n, 0)?.baseOffset).toBe(0n);
    const left = decoded.roomFor(1) as Buffer;
    expect(left.length).toBe(2 * BATCH_HEADER_BYTES);
    decoded.keep(1n, 0, batchAt(1, 2 * BATCH_HEADER_BYTES), Buffer.alloc(8), left);
    expect(decoded.find(1n, 0)).toBeNull();
    decoded.keep(2n, 0, batchAt(2), Buffer.alloc(8), left);
    expect(decoded.find(2n, 0)?.baseOffset).toBe(2n);
    expect(decoded.records).toEqual(Buffer.alloc(8));
  });
});
