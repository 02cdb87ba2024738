/** docs/configs.md is generated: it says what the runtime checks, no more and no less. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

describe('docs/configs.md', () => {
  const text = readFileSync(join(root, 'docs', 'configs.md'), 'utf8');

  it('is what scripts/configs.mjs writes', () => {
    const script = join(root, 'scripts', 'configs.mjs');
    const result = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    expect(result.status, result.stderr).toBe(0);
  });

  it('has every key in one place, with a default and a meaning', () => {
    const rows = [...text.matchAll(/^\| `([a-z._]+)` \|(.*)\|$/gm)];
    const names = rows.map((row) => row[1] as string);
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    for (const [, name, rest] of rows) {
      const cells = (rest as string).split(/(?<!\\)\|/).map((cell) => cell.trim());
      expect(cells, name).toHaveLength(5);
      expect(cells[0], name).not.toBe('');
      expect(cells[1], name).not.toBe('');
      expect(cells[3], name).toMatch(/^(high|medium|low)$/);
      expect((cells[4] as string).length, name).toBeGreaterThan(10);
    }
  });

  it('is true: what has an effect is read by the sources, and what has none is not', () => {
    const sources = join(root, 'packages', 'runtime', 'src');
    const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.ts$/.test(file) && !/\.test\.ts$|testing-support|-definitions\.ts$/.test(file),
    );
    const read = (names: readonly string[]): string =>
      names.map((file) => readFileSync(join(sources, file), 'utf8')).join('\n');
    const all = read(files);
    const outside = read(files.filter((file) => !file.startsWith('config')));
    const [active = '', silent = ''] = text.split('## Accepted without effect');
    const keys = (part: string): string[] =>
      [...part.matchAll(/^\| `([a-z._]+)` \|/gm)].map((row) => row[1] as string);
    // Two names are put together from parts; what takes one value only leaves nothing to be read.
    const notRead = /^default\.(deserialization|production)\.exception\.handler$/;
    const isFixed = (key: string): boolean =>
      new RegExp(`\`${key}\`.*\\| one of \\w+ \\|`).test(active);
    expect(keys(active).length).toBeGreaterThan(50);
    const unread = keys(active).filter((key) => !notRead.test(key) && !isFixed(key));
    expect(unread.filter((key) => !all.includes(`'${key}'`))).toEqual([]);
    expect(keys(silent).filter((key) => outside.includes(`['${key}']`))).toEqual([]);
    expect(keys(silent).filter((key) => outside.includes(`get('${key}')`))).toEqual([]);
  });

  it('says of what has no effect that it has none', () => {
    const [, silent = ''] = text.split('## Accepted without effect');
    const docs = [...silent.matchAll(/^\| `.*\| ([^|]*) \|$/gm)].map((row) => row[1] as string);
    expect(docs.length).toBeGreaterThan(30);
    expect(
      docs.filter((doc) => !/without effect|Fixed by the runtime|There is one version/.test(doc)),
    ).toEqual([]);
  });
});
