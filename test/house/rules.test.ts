/** House rules that no tool checks: they hold between files, or between code and documentation. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCodes as kafkaErrorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

interface Source {
  readonly file: string;
  readonly text: string;
}

/** TypeScript sources of all packages, without tests. */
const sources: Source[] = readdirSync(join(root, 'packages')).flatMap((name) =>
  filesBelow(join(root, 'packages', name, 'src'))
    .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|\/test(ing)?-support\//.test(file))
    .map((file) => ({ file: relative(root, file), text: readFileSync(file, 'utf8') })),
);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Where a code is written down: in an error class, at a constructor that takes one, in an answer of the admin socket. */
const codePlaces =
  /(?:super\((?:message, undefined, )?\s*|\bcode(?:: string)? = |new \w+Error\(\s*)'([A-Z]+(?:_[A-Z]+)*)'|'(ADMIN_[A-Z_]+)'/g;

function errorCodes(): Set<string> {
  const codes = new Set<string>();
  for (const { file, text } of sources.filter((source) => !/examples/.test(source.file))) {
    for (const match of text.matchAll(codePlaces)) {
      const code = (match[1] ?? match[2]) as string;
      // What a broker answers on the wire has Kafka's names, which Kafka documents.
      if (!(file.startsWith('packages/broker/') && code in kafkaErrorCodes)) codes.add(code);
    }
  }
  return codes;
}

describe('docs/errors.md', () => {
  const documented = new Set(
    [...readFileSync(join(root, 'docs', 'errors.md'), 'utf8').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(
      (match) => match[1] as string,
    ),
  );

  it('names every error code of the sources, and no other', () => {
    const codes = errorCodes();
    expect(codes.size).toBeGreaterThan(40);
    expect([...codes].filter((code) => !documented.has(code))).toEqual([]);
    expect([...documented].filter((code) => !codes.has(code))).toEqual([]);
  });
});

describe('README.md', () => {
  it('shows the quick start and a test as they are', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const files = [
      'packages/examples/src/quick-start/quick-start.ts',
      'test/examples/clicks.test.ts',
      'packages/examples/src/operations/operations.ts',
    ];
    const blocks = [...readme.matchAll(/```ts\n(import [\s\S]*?)```/g)].map((match) => match[1]);
    expect(blocks).toEqual(files.map((file) => readFileSync(join(root, file), 'utf8')));
  });

  it('links to files that exist', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const targets = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
      (match) => match[1] as string,
    );
    expect(targets.length).toBeGreaterThan(2);
    expect(targets.filter((target) => !existsSync(join(root, target)))).toEqual([]);
  });
});

describe('limits', () => {
  it('are all used', () => {
    const unused: string[] = [];
    let count = 0;
    for (const { file, text } of sources.filter((source) => source.file.endsWith('limits.ts'))) {
      for (const match of text.matchAll(/^export const (\w+)/gm)) {
        const name = match[1] as string;
        count++;
        const isUsed = sources.some(
          (source) => source.file !== file && new RegExp(`\\b${name}\\b`).test(source.text),
        );
        const isUsedBeside = (text.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length > 1;
        if (!isUsed && !isUsedBeside) unused.push(`${file}: ${name}`);
      }
    }
    expect(count).toBeGreaterThan(50);
    expect(unused).toEqual([]);
  });
});

describe('sources', () => {
  it('leave nothing for later', () => {
    const marks = /\b(TODO|FIXME|XXX|HACK)\b|@ts-(ignore|nocheck|expect-error)|\bas any[;),\]]/;
    expect(sources.filter(({ text }) => marks.test(text)).map(({ file }) => file)).toEqual([]);
  });

  it('are not skipped by their tests', () => {
    const tests = ['packages', 'test']
      .flatMap((folder) => filesBelow(join(root, folder)))
      .filter((file) => file.endsWith('.test.ts') && !/node_modules|\/dist\//.test(file));
    const skips = /\b(it|test|describe)\.(skip|only|todo)\b/;
    expect(tests.length).toBeGreaterThan(50);
    expect(
      tests
        .filter((file) => skips.test(readFileSync(file, 'utf8')))
        .filter((file) => !file.endsWith('rules.test.ts'))
        .map((file) => relative(root, file)),
    ).toEqual([]);
  });

  it('are written to JSON without bigint only through a helper that knows it', () => {
    // JSON.stringify throws on a bigint, and offsets are bigint: in the packages it may appear only
    // in files that are known to handle plain values.
    const known =
      /serdes\/(json|simple|serialization-error)\.ts|json-lines\.ts|topics-file\.ts|broker-configs\.ts|clean-shutdown\.ts|directory-lock\.ts|process-identity\.ts|duration\.ts|admin-commands\.ts/;
    expect(
      sources
        .filter(
          ({ file, text }) =>
            /packages\/(?!examples)/.test(file) && text.includes('JSON.stringify('),
        )
        .filter(({ file }) => !known.test(file))
        .map(({ file }) => file),
    ).toEqual([]);
  });
});
