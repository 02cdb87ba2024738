import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open as lmdb } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TaskCorruptedError } from '../../errors.ts';
import { StateEnvironment } from './environment.ts';
import { wipeStores } from './wipe-stores.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millrace-environment-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = (): StateEnvironment =>
  StateEnvironment.open({ directory, taskId: '0_0', tableCount: 8 });

async function fill(...tables: string[]): Promise<void> {
  const environment = open();
  for (const name of tables) {
    const table = environment.table(name);
    await environment.write(() => {
      for (let i = 0; i < 500; i++) table.put(`key-${String(i)}`, Buffer.alloc(50, i));
    });
  }
  for (const store of ['a', 'a/stream-time', 'ab', 'b']) await environment.setOffset(store, 7n);
  await environment.close();
}

describe('StateEnvironment', () => {
  const file = (): string => join(directory, 'data.mdb');

  it.each([
    ['overwritten', () => writeFileSync(file(), Buffer.alloc(statSync(file()).size, 0x5a))],
    ['another file', () => writeFileSync(file(), 'another file')],
    ['cut by a page', () => truncateSync(file(), statSync(file()).size - 4_096)],
    ['cut in the second page', () => truncateSync(file(), 4_100)],
    ['cut in the first page', () => truncateSync(file(), 100)],
  ])('says that a file is damaged before LMDB trips over it: %s', async (_how, damage) => {
    await fill('a');
    damage();
    expect(open).toThrow(TaskCorruptedError);
    expect(open).toThrow(/task 0_0 in .* is damaged \(data\.mdb: it is .*wiped and restored/);
  });

  it('says that the state is damaged when LMDB finds pages that are none', async () => {
    await fill('a');
    const bytes = readFileSync(file());
    writeFileSync(
      file(),
      Buffer.concat([bytes.subarray(0, 8_192), Buffer.alloc(bytes.length - 8_192)]),
    );
    const read = (): void => {
      open().table('a').read('key-7');
    };
    expect(read).toThrow(TaskCorruptedError);
    expect(read).toThrow(/damaged \(MDB_CORRUPTED/);
  });

  it('keeps any store apart from what it needs itself', async () => {
    const names = ['_meta', '_offsets', 'meta', 'offsets', 'data.mdb', '..', 'mit Ümlaut', '€'];
    await fill(...names);
    const environment = open();
    expect(environment.offset('a')).toBe(7n);
    for (const name of names) expect(environment.table(name).rowCount).toBe(500);
    await environment.close();
  });

  it('refuses a layout that it does not know', async () => {
    const root = lmdb({ path: directory, noSubdir: false, maxDbs: 4 });
    await root.openDB({ name: 'a' }).put('k', 'v');
    await root.close();
    expect(open).toThrow(TaskCorruptedError);
    expect(open).toThrow(/has the format none, this version reads 2/);
  });

  it('takes an empty file for none', async () => {
    writeFileSync(file(), '');
    await fill('a');
    const environment = open();
    expect(environment.offset('a')).toBe(7n);
    await environment.close();
  });

  it('empties one store with all of its tables, and leaves the others as they are', async () => {
    await fill('a', 'a/1', 'a/2', 'ab', 'b');
    await wipeStores(directory, '0_0', new Set(['a']));
    const environment = open();
    expect(environment.tableNames('').filter((name) => !name.startsWith('/'))).toEqual(['ab', 'b']);
    expect(['a', 'a/stream-time', 'ab', 'b'].map((store) => environment.offset(store))).toEqual([
      null,
      null,
      7n,
      7n,
    ]);
    expect(environment.table('ab').rowCount).toBe(500);
    expect(environment.table('a').rowCount).toBe(0);
    await environment.close();
  });
});
