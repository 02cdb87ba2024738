import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { findCases } from './find-cases.ts';

const page = readFileSync(new URL('../../docs/semantics.md', import.meta.url), 'utf8');
const vectors = fileURLToPath(new URL('vectors/', import.meta.url));

/** What stands in the last column of tables, and dashed words alone in parentheses. */
function namedCases(): string[] {
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.endsWith('| cases |'))
    .map((line) => line.split('|').at(-2)?.trim() ?? '');
  const asides = [...page.matchAll(/\(([a-z]+(?:-[a-z]+)+(?:,\s[a-z]+(?:-[a-z]+)+)*)\)/g)].map(
    (match) => match[1] ?? '',
  );
  return [...rows, ...asides].flatMap((list) => list.split(/,\s+/));
}

it('docs/semantics.md names recorded cases that there are', () => {
  const known = new Set(findCases([vectors]).map(({ name }) => name));
  const named = namedCases();
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});
