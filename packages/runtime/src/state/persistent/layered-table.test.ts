import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StateEnvironment } from './environment.ts';
import { NO_ROW } from '../rows/row-table.ts';
import { LayeredRows } from './layered-rows.ts';
import { LayeredTable, type RowCodec } from './layered-table.ts';
import type { StateTable } from './state-table.ts';

const codec: RowCodec<string> = {
  mapKey: (key) => key,
  sortKey: (key) => key,
  keyOf: (sortKey) => sortKey,
  own: (key) => key,
  write(stored, timestamp, target, position) {
    const text = stored as string;
    if (position + 8 + text.length > target.length) return -1;
    target.writeDoubleLE(timestamp, position);
    return position + 8 + target.write(text, position + 8, 'latin1');
  },
  read(source, row) {
    row.timestamp = source.readDoubleLE(0);
    row.stored = source.toString('latin1', 8);
  },
};

type Model = Map<string, { value: string; timestamp: number }>;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-layers-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function openEnvironment(): StateEnvironment {
  return StateEnvironment.open({ directory, taskId: '0_0', tableCount: 4 });
}

interface Found {
  readonly value: string;
  readonly timestamp: number;
}

/** What both kinds of layers do, of rows whose keys and values are texts. */
interface Layers {
  readonly memoryBytes: number;
  readonly committedBytes: number;
  put(key: string, value: string | null, timestamp: number): void;
  find(key: string): Found | undefined;
  range(from: string | null, to: string | null, isReverse: boolean): [string, string, number][];
  commit(): void;
  rollBack(): void;
  spill(environment: StateEnvironment): Promise<void>;
}

function objectLayers(table: StateTable, cleanBytesMax?: number): Layers {
  const layers = new LayeredTable(table, codec, cleanBytesMax);
  return {
    get memoryBytes() {
      return layers.memoryBytes;
    },
    get committedBytes() {
      return layers.committedBytes;
    },
    put(key, value, timestamp) {
      layers.put(key, value, timestamp);
    },
    find(key) {
      const row = layers.find(key);
      if (row === null) return undefined;
      return { value: row.stored as string, timestamp: row.timestamp };
    },
    range: (from, to, isReverse) =>
      [...layers.range(from, to, isReverse)].map(({ sortKey, stored, timestamp }) => [
        sortKey,
        stored as string,
        timestamp,
      ]),
    commit() {
      layers.commit();
    },
    rollBack() {
      layers.rollBack();
    },
    spill: (environment) => layers.spill(environment),
  };
}

function byteLayers(table: StateTable, cleanBytesMax?: number): Layers {
  const layers = new LayeredRows(table, cleanBytesMax);
  const spanOf = (text: string) => ({
    buffer: Buffer.from(text, 'latin1'),
    start: 0,
    end: text.length,
  });
  const textOf = ({ buffer, start, end }: { buffer: Buffer; start: number; end: number }): string =>
    buffer.toString('latin1', start, end);
  return {
    get memoryBytes() {
      return layers.memoryBytes;
    },
    get committedBytes() {
      return layers.committedBytes;
    },
    put(key, value, timestamp) {
      const bytes = Buffer.from(key, 'latin1');
      const span = value === null ? null : spanOf(value);
      // Half of the writes go by the address, as those of an aggregation do.
      const row = timestamp % 2 === 0 ? layers.find(bytes, 0, bytes.length) : NO_ROW;
      if (row === NO_ROW) layers.put(bytes, 0, bytes.length, span, timestamp);
      else layers.update(row, span, timestamp);
    },
    find(key) {
      const bytes = Buffer.from(key, 'latin1');
      const row = layers.find(bytes, 0, bytes.length);
      if (row === NO_ROW) return undefined;
      return { value: textOf(layers.value(row)), timestamp: layers.timestamp(row) };
    },
    range(from, to, isReverse) {
      const rows: [string, string, number][] = [];
      for (const { sortKey, value, timestamp } of layers.range(from, to, isReverse)) {
        rows.push([sortKey, textOf(value), timestamp]);
      }
      return rows;
    },
    commit() {
      layers.commit();
    },
    rollBack() {
      layers.rollBack();
    },
    spill: (environment) => layers.spill(environment),
  };
}

function expected(model: Model, from: string | null, to: string | null): unknown[] {
  return [...model]
    .filter(([key]) => (from === null || key >= from) && (to === null || key <= to))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { value, timestamp }]) => [key, value, timestamp]);
}

const key = fc.constantFrom('', 'a', 'ab', 'b', 'c', 'd'.repeat(3_000), 'd'.repeat(3_001), '\xff');
const bound = fc.option(key, { nil: null });
const command = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('put' as const), key, length: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), key }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('get' as const), key }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('range' as const), from: bound, to: bound }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollBack' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('spill' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('await' as const) }) },
);

describe.each([
  ['of objects', objectLayers],
  ['of bytes', byteLayers],
] as const)('layers %s', (_, layersOn) => {
  it('is what a sorted map with a committed copy is, whatever is on disk', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { maxLength: 60 }),
        fc.nat(2_000),
        async (commands, max) => {
          const environment = openEnvironment();
          const table = layersOn(environment.table('t'), max);
          let model: Model = new Map();
          let committed: Model = new Map();
          let spilling: Promise<void> | null = null;
          let time = 0;
          for (const each of commands) {
            switch (each.do) {
              case 'put': {
                const row = {
                  value: `${each.key.slice(0, 3)}${'v'.repeat(each.length)}`,
                  timestamp: ++time,
                };
                table.put(each.key, row.value, row.timestamp);
                model.set(each.key, row);
                break;
              }
              case 'delete':
                table.put(each.key, null, ++time);
                model.delete(each.key);
                break;
              case 'get': {
                expect(table.find(each.key)).toEqual(model.get(each.key));
                break;
              }
              case 'range': {
                const rows = expected(model, each.from, each.to);
                expect(table.range(each.from, each.to, false)).toEqual(rows);
                expect(table.range(each.from, each.to, true)).toEqual(rows.toReversed());
                break;
              }
              case 'commit':
                table.commit();
                committed = new Map(model);
                break;
              case 'rollBack':
                table.rollBack();
                model = new Map(committed);
                break;
              case 'spill':
                await spilling;
                spilling = table.spill(environment);
                break;
              case 'await':
                await spilling;
                spilling = null;
                break;
            }
          }
          await spilling;
          expect(table.range(null, null, false)).toEqual(expected(model, null, null));
          await table.spill(environment);
          await environment.close();

          // What is on disk is what was committed.
          const reopened = openEnvironment();
          const again = layersOn(reopened.table('t'));
          expect(again.range(null, null, false)).toEqual(expected(committed, null, null));
          await reopened.dropTable('t');
          await reopened.close();
        },
      ),
      { numRuns: 150 },
    );
  });

  it('keeps no more clean rows in memory than it may, and all that are not clean', async () => {
    const environment = openEnvironment();
    const table = layersOn(environment.table('t'), 200_000);
    for (let i = 0; i < 5_000; i++) table.put(`key-${i}`, `value-${i}`, i);
    table.commit();
    expect(table.committedBytes).toBeGreaterThan(270_000);
    await table.spill(environment);
    expect(table.memoryBytes).toBeLessThan(210_000);
    for (let i = 0; i < 5_000; i++) expect(table.find(`key-${i}`)?.value).toBe(`value-${i}`);
    expect(table.memoryBytes).toBeLessThan(210_000);
    await environment.close();
  });
});

describe('StateEnvironment', () => {
  it('keeps offsets, lists tables, and drops one with all that is in it', async () => {
    const environment = openEnvironment();
    expect(environment.offset('s')).toBeNull();
    await environment.setOffset('s', 2n ** 53n + 1n);
    await environment.write(() => environment.table('s.1').put('k', Buffer.from('v')));
    await environment.write(() => environment.table('s.2').put('k', Buffer.from('w')));
    await environment.close();

    const again = openEnvironment();
    expect(again.offset('s')).toBe(2n ** 53n + 1n);
    expect(again.tableNames('s.')).toEqual(['s.1', 's.2']);
    await again.dropTable('s.1');
    expect(again.tableNames('s.')).toEqual(['s.2']);
    expect(again.table('s.2').read('k')?.toString()).toBe('w');
    await again.forgetOffset('s');
    expect(again.offset('s')).toBeNull();
    await again.close();
  });
});
