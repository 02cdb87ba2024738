import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../errors.ts';
import { seededRandom } from '../../testing/seeded-random.ts';
import { OffsetMap } from './offset-map.ts';

const newMap = (slots: number, loadFactor = 1): OffsetMap =>
  new OffsetMap(slots * 24, loadFactor, seededRandom(7));

function put(map: OffsetMap, key: string, offset: bigint): void {
  const bytes = Buffer.from(key);
  map.put(bytes, 0, bytes.length, Number(offset >> 32n), Number(BigInt.asIntN(32, offset)));
}

function isLatest(map: OffsetMap, key: string, offset: bigint): boolean {
  const bytes = Buffer.from(key);
  return map.isLatest(
    bytes,
    0,
    bytes.length,
    Number(offset >> 32n),
    Number(BigInt.asIntN(32, offset)),
  );
}

describe('OffsetMap', () => {
  it('takes 24 bytes a slot and fills the share of them that it is told', () => {
    const map = new OffsetMap(24 * 100 + 23, 0.9, seededRandom(1));
    expect(map.slotCount).toBe(100);
    expect(map.maxKeyCount).toBe(90);
    for (let i = 0; i < 90; i++) {
      expect(map.isFull).toBe(false);
      put(map, `k${String(i)}`, BigInt(i));
    }
    expect(map.isFull).toBe(true);
    expect(map.utilization).toBe(0.9);
  });

  it('is not full of one key that was put many times', () => {
    const map = newMap(10);
    for (let i = 0; i < 25; i++) {
      put(map, 'k', BigInt(i));
      expect(map.isFull).toBe(false);
    }
    expect(map.keyCount).toBe(1);
    expect(isLatest(map, 'k', 23n)).toBe(false);
    expect(isLatest(map, 'k', 24n)).toBe(true);
  });

  it('refuses memory that holds no key', () => {
    expect(() => new OffsetMap(24, 0.9, seededRandom(1))).toThrow(ConfigError);
    expect(() => new OffsetMap(24, 0.9, seededRandom(1))).toThrow(/log.cleaner.dedupe.buffer.size/);
  });

  it('knows every key when all slots are taken, and an unknown one for what it is', () => {
    const map = newMap(50);
    for (let i = 0; i < 50; i++) put(map, `k${String(i)}`, BigInt(i));
    expect(map.utilization).toBe(1);
    for (let i = 0; i < 50; i++) {
      expect(isLatest(map, `k${String(i)}`, BigInt(i) - 1n)).toBe(false);
      expect(isLatest(map, `k${String(i)}`, BigInt(i))).toBe(true);
    }
    expect(isLatest(map, 'unknown', 0n)).toBe(true);
  });

  it('is empty again once cleared', () => {
    const map = newMap(10);
    put(map, 'k', 5n);
    map.reset(0n, 100n);
    expect(map.keyCount).toBe(0);
    expect(isLatest(map, 'k', 4n)).toBe(true);
  });

  it('takes more and more of its memory without losing a key, and starts anew', () => {
    const map = newMap(300_000);
    for (let round = 0; round < 2; round++) {
      map.reset(0n, 200_000n);
      const bytes = Buffer.alloc(4);
      for (let i = 0; i < 200_000; i++) {
        bytes.writeUInt32BE(i % 150_000);
        map.put(bytes, 0, 4, 0, i);
      }
      expect(map.keyCount).toBe(150_000);
      for (let i = 0; i < 200_000; i++) {
        bytes.writeUInt32BE(i % 150_000);
        if (map.isLatest(bytes, 0, 4, 0, i) !== i >= 50_000) throw new Error(`offset ${i}`);
        bytes.writeUInt32BE(i + 150_000);
        if (!map.isLatest(bytes, 0, 4, 0, 0)) throw new Error(`unknown key ${i}`);
      }
    }
  });

  it('does what a Map does, for offsets of all of int64', () => {
    const offsets = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
    const keys = fc.string({ maxLength: 40 });
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, offsets), { maxLength: 60 }), (entries) => {
        const map = newMap(64);
        const model = new Map<string, bigint>();
        const rising = [...entries].sort((a, b) => (a[1] < b[1] ? -1 : 1));
        for (const [key, offset] of rising) {
          put(map, key, offset);
          model.set(key, offset);
        }
        expect(map.keyCount).toBe(model.size);
        for (const [key, offset] of entries) {
          expect(isLatest(map, key, offset)).toBe(offset >= (model.get(key) ?? 0n));
        }
      }),
    );
  });
});
