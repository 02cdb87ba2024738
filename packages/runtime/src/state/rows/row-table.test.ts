import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageFullError } from '../../errors.ts';
import { ROW_CHUNK_BYTES } from '../limits.ts';
import { RowMemory } from './row-memory.ts';
import { NO_ROW, RowTable } from './row-table.ts';

interface Expected {
  row: number;
  value: string | null;
  timestamp: number;
  kept: string | null | undefined;
}

const lengths = fc.oneof(
  { weight: 6, arbitrary: fc.nat(40) },
  { weight: 2, arbitrary: fc.integer({ min: 900, max: 5_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 200_000, max: ROW_CHUNK_BYTES + 100_000 }) },
);
const step = fc.record({
  key: fc.oneof(
    { weight: 5, arbitrary: fc.nat(60).map((n) => `k${String(n)}`) },
    fc.constantFrom('', ...[2_046, 2_047, 2_048, 70_000].map((n) => 'x'.repeat(n))),
  ),
  do: fc.constantFrom('put', 'put', 'put', 'delete', 'drop', 'keep', 'dropKept', 'trim' as const),
  length: lengths,
});

describe('RowTable', () => {
  it('is what a map is, for keys and values of any length', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const table = new RowTable();
        const model = new Map<string, Expected>();
        let time = 0;
        for (const { key, do: action, length } of steps) {
          const bytes = Buffer.from(key, 'latin1');
          const known = model.get(key);
          expect(table.find(bytes, 0, bytes.length)).toBe(known?.row ?? NO_ROW);
          if (action === 'put') {
            const value = String.fromCharCode(97 + (++time % 26)).repeat(length);
            const row = table.findOrAdd(bytes, 0, bytes.length, length);
            table.setValue(row, Buffer.from(value), 0, length);
            table.setTimestamp(row, 1.7e12 + time);
            model.set(key, { row, value, timestamp: 1.7e12 + time, kept: known?.kept });
          } else if (action === 'trim') {
            table.trim();
          } else if (known !== undefined) {
            change(table, model, key, known, action);
          }
        }
        expectEqual(table, model);
        for (const { row } of model.values()) table.remove(row);
        expect(table.rowCount).toBe(0);
        expect(table.memory.takenBytes).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('finds all of many rows, before and after half of them are gone', () => {
    const table = new RowTable();
    const keys = Array.from({ length: 50_000 }, (_, i) => Buffer.from(`key-${String(i)}`));
    const rows = keys.map((key, i) => {
      const row = table.findOrAdd(key, 0, key.length, 8);
      table.setValue(row, key, 0, Math.min(8, key.length));
      table.setTimestamp(row, i);
      return row;
    });
    const bytes = table.memory.takenBytes;
    expect(bytes / keys.length).toBeLessThan(42);
    for (let i = 0; i < rows.length; i += 2) table.remove(rows[i] as number);
    keys.forEach((key, i) => {
      expect(table.find(key, 0, key.length)).toBe(i % 2 === 0 ? NO_ROW : rows[i]);
    });
    // What was given back is taken again.
    for (let i = 0; i < rows.length; i += 2)
      table.findOrAdd(keys[i] as Buffer, 0, keys[i]?.length ?? 0, 8);
    expect(table.memory.takenBytes).toBe(bytes);
    expect(table.memory.bytes.length).toBeLessThan(4);
  });

  it('is as it was after looking at keys that it has and has not', () => {
    const table = new RowTable();
    const keys = Array.from({ length: 2_000 }, (_, i) => Buffer.from(`key-${String(i)}`));
    const source = Buffer.concat(keys);
    const ranges = { starts: new Int32Array(16), ends: new Int32Array(16), count: 16 };
    table.lookAt(source, ranges);
    const rows = new Map<Buffer, number>();
    let start = 0;
    keys.forEach((key, i) => {
      if (i % 3 !== 0) rows.set(key, table.findOrAdd(key, 0, key.length, 4));
      ranges.starts[i % 16] = start;
      ranges.ends[i % 16] = start += key.length;
      table.lookAt(source, ranges);
    });
    expect(table.rowCount).toBe(rows.size);
    for (const key of keys) expect(table.find(key, 0, key.length)).toBe(rows.get(key) ?? NO_ROW);
  });

  it('orders rows by the bytes of their keys', () => {
    const table = new RowTable();
    const keys = ['b', '', 'ab', 'a', 'a\xff', 'a\x00', '\xff'];
    const rows = keys.map((key) => {
      const bytes = Buffer.from(key, 'latin1');
      return table.findOrAdd(bytes, 0, bytes.length, 0);
    });
    const inOrder = rows.toSorted(table.compareKeys).map((row) => {
      const { buffer, start, end } = table.key(row);
      return buffer.toString('latin1', start, end);
    });
    expect(inOrder).toEqual(keys.toSorted());
  });

  it('lets no value grow the memory for ever that grows and shrinks', () => {
    const table = new RowTable();
    const key = Buffer.from('k');
    const row = table.findOrAdd(key, 0, 1, 4);
    const value = Buffer.alloc(300_000, 'v');
    for (let i = 0; i < 20_000; i++) table.setValue(row, value, 0, (i * 7_919) % 300_000);
    expect(table.memory.bytes.length).toBeLessThan(8);
    expect(table.bytesOf(row)).toBeLessThan(400_000);
  });
});

describe('RowMemory', () => {
  it('says that it is full, and gives what comes back', () => {
    const memory = new RowMemory(3);
    const large = memory.take(ROW_CHUNK_BYTES);
    const blocks: number[] = [];
    const take = (): void => {
      for (;;) blocks.push(memory.take(400_000));
    };
    expect(take).toThrow(StorageFullError);
    const { takenBytes } = memory;
    expect(blocks.length).toBeGreaterThan(2);
    expect(() => memory.take(ROW_CHUNK_BYTES)).toThrow(/as much as can be.*persistent store/);
    expect(memory.takenBytes).toBe(takenBytes);
    memory.give(large, ROW_CHUNK_BYTES);
    expect(memory.take(ROW_CHUNK_BYTES)).toBe(large);
  });

  it('gives blocks that are large enough and do not touch', () => {
    const sizes = fc.array(
      fc.oneof(
        fc.integer({ min: 1, max: 3_000 }),
        lengths.map((length) => length + 1),
      ),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(sizes, (all) => {
        const memory = new RowMemory();
        const blocks = all.map((size, i) => {
          const address = memory.take(size);
          expect(address).not.toBe(0);
          fill(memory, address, size, i);
          return { address, size, i };
        });
        for (const { address, size, i } of blocks) {
          expect(isFilled(memory, address, size, i)).toBe(true);
          memory.give(address, size);
        }
        expect(memory.takenBytes).toBe(0);
      }),
    );
  });
});

function change(
  table: RowTable,
  model: Map<string, Expected>,
  key: string,
  known: Expected,
  action: 'delete' | 'drop' | 'keep' | 'dropKept',
): void {
  const { row } = known;
  if (action === 'delete') {
    table.remove(row);
    model.delete(key);
  } else if (action === 'drop') {
    table.dropValue(row);
    known.value = null;
  } else if (action === 'keep') {
    table.dropKept(row);
    table.keep(row);
    known.kept = known.value;
  } else {
    table.dropKept(row);
    known.kept = undefined;
  }
}

function expectEqual(table: RowTable, model: ReadonlyMap<string, Expected>): void {
  expect(table.rowCount).toBe(model.size);
  for (const [key, { row, value, timestamp, kept }] of model) {
    expect(textAt(table.key(row))).toBe(key);
    expect(table.hasValue(row) ? textAt(table.value(row)) : null).toBe(value);
    expect(table.timestamp(row)).toBe(timestamp);
    expect(table.isKept(row)).toBe(kept !== undefined);
    if (kept === undefined) continue;
    const span = table.kept(row);
    expect(span === null ? null : textAt(span)).toBe(kept);
  }
}

function textAt({ buffer, start, end }: { buffer: Buffer; start: number; end: number }): string {
  return buffer.toString('latin1', start, end);
}

function place(memory: RowMemory, address: number, size: number): Buffer {
  const units = ROW_CHUNK_BYTES / 8;
  const start = (address % units) * 8;
  return (memory.bytes[Math.floor(address / units)] as Buffer).subarray(start, start + size);
}

function fill(memory: RowMemory, address: number, size: number, byte: number): void {
  const bytes = place(memory, address, size);
  expect(bytes.length).toBe(size);
  bytes.fill(byte);
}

function isFilled(memory: RowMemory, address: number, size: number, byte: number): boolean {
  return place(memory, address, size).every((found) => found === byte);
}
