import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CorruptBatchError } from '../errors.ts';
import { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf } from '../testing/batches.ts';
import { BatchReader } from './batch-reader.ts';

const PATH = '/segment.log';

function fileOf(batches: readonly Buffer[]): ReturnType<MemoryDisk['open']> {
  const disk = new MemoryDisk();
  const file = disk.open(PATH, 'create');
  let position = 0;
  for (const batch of batches) {
    file.write(batch, position);
    position += batch.length;
  }
  return file;
}

const batchesOf = (valueBytes: readonly number[]): Buffer[] =>
  valueBytes.map((length, i) =>
    batchOf([{ key: 'k', value: 'v'.repeat(length) }], { baseOffset: BigInt(i) }),
  );

describe('BatchReader', () => {
  it('reads on behind what it stepped over, whatever its chunk holds', () => {
    const lengths = fc.array(fc.oneof(fc.nat(80), fc.nat(5_000)), { minLength: 1, maxLength: 20 });
    const steps = fc.array(fc.boolean(), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(lengths, steps, fc.integer({ min: 1, max: 9_000 }), (sizes, stepped, chunk) => {
        const batches = batchesOf(sizes);
        const end = batches.reduce((sum, batch) => sum + batch.length, 0);
        const reader = new BatchReader(fileOf(batches), 0, end, chunk);
        batches.forEach((batch, i) => {
          if (stepped[i] === true) {
            reader.stepOver(batch.length);
          } else {
            const read = reader.next();
            expect(read?.baseOffset).toBe(BigInt(i));
            expect(read?.toBuffer().equals(batch)).toBe(true);
          }
        });
        expect(reader.position).toBe(end);
        expect(reader.next()).toBeNull();
      }),
    );
  });

  it('does not step over the end', () => {
    const [first, second] = batchesOf([10, 500]) as [Buffer, Buffer];
    const end = first.length + second.length;
    const reader = new BatchReader(fileOf([first, second]), 0, end, 1_000);
    reader.stepOver(first.length);
    expect(() => reader.stepOver(second.length + 1)).toThrow(CorruptBatchError);
    expect(reader.next()?.baseOffset).toBe(1n);
  });
});
