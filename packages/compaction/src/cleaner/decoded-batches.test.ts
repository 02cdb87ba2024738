import { describe, expect, it } from 'vitest';
import { seededRandom } from '../testing/seeded-random.ts';
import { DecodedBatches } from './decoded-batches.ts';
import { OffsetMap } from './offset-map.ts';

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

describe('decoded batches', () => {
  const newMap = (): OffsetMap => new OffsetMap(SLOTS * 24, 0.9, seededRandom(1));
  const records = (byte: number): Buffer => Buffer.alloc(100_000, byte);

  it('are found again in their order, beside as many keys as leave them room', () => {
    const map = newMap();
    map.reset(0n, 1_000_000n);
    const decoded = new DecodedBatches(map);
    for (let batch = 0; batch < 15; batch++) {
      const room = decoded.roomFor(10) as Buffer;
      decoded.keep(BigInt(batch * 10), records(batch + 1), room);
    }
    putKeys(map, 0, FEW_KEYS - 1);
    decoded.settle();
    ensureKeys(map, FEW_KEYS - 1);
    for (const batch of [0, 3, 3, 4, 14]) {
      expect(decoded.find(BigInt(batch * 10) + 5n)).toBeUndefined();
    }
    const again = new DecodedBatches(map);
    for (let batch = 0; batch < 3; batch++) {
      const room = again.roomFor(0) as Buffer;
      // What a codec has put there itself stays where it is.
      room.fill(batch + 65, 0, 100_000);
      again.keep(BigInt(batch * 10), room.subarray(0, 100_000), room);
    }
    for (const batch of [0, 2]) {
      expect(again.find(BigInt(batch * 10))?.equals(records(batch + 65))).toBe(true);
    }
    expect(again.find(1_000n)).toBeUndefined();
  });

  it('make way for keys', () => {
    const map = newMap();
    map.reset(0n, 1_000_000n);
    const decoded = new DecodedBatches(map);
    decoded.keep(0n, records(0xff), decoded.roomFor(10) as Buffer);
    // A batch that might bring too many keys must not lie in what they would take.
    expect(decoded.roomFor(FEW_KEYS)).toBeUndefined();
    putKeys(map, 0, 80_000);
    expect(decoded.roomFor(1)).toBeUndefined();
    decoded.settle();
    expect(decoded.find(0n)).toBeUndefined();
    ensureKeys(map, 80_000);
    map.reset(0n, 1_000_000n);
    putKeys(map, 0, 80_000);
    ensureKeys(map, 80_000);
  });

  it('are left out when they do not fit', () => {
    const map = newMap();
    const decoded = new DecodedBatches(map);
    const room = decoded.roomFor(1) as Buffer;
    decoded.keep(0n, Buffer.alloc(room.length + 1), room);
    expect(decoded.find(0n)).toBeUndefined();
  });
});
