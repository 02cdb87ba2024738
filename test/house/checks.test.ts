/**
 * The project's checks, each run twice: on the project, where it must find nothing, and on a sample
 * in which it must find what it is there for. A check that cannot fail is no check.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const samples = join(root, 'test', 'house', 'samples');
/** In `npm test` they have what processor time the other rungs leave. */
const CHECK_DEADLINE_MS = 900_000;
const options = { timeout: CHECK_DEADLINE_MS };
/** They make much that is soon garbage: more room for it takes a tenth off their time. */
const NODE = ['--max-semi-space-size=64'];

interface Result {
  readonly status: number | null;
  readonly output: string;
}

function tool(bin: string, args: string[], cwd = root): Result {
  const result = spawnSync(process.execPath, [...NODE, join(root, 'node_modules', bin), ...args], {
    cwd,
    encoding: 'utf8',
    timeout: CHECK_DEADLINE_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
  });
  return { status: result.status, output: result.stdout + result.stderr };
}

function expectClean(result: Result): void {
  expect(result.status, result.output.slice(-8_000)).toBe(0);
}

const eslint = 'eslint/bin/eslint.js';
const prettier = 'prettier/bin/prettier.cjs';
const cruiser = 'dependency-cruiser/bin/dependency-cruise.mjs';
const knip = 'knip/bin/knip.js';
const tsc = 'typescript/bin/tsc';
const vitest = 'vitest/vitest.mjs';

describe('lint', options, () => {
  it('finds nothing in the project', () => expectClean(tool(eslint, ['.'])));

  it('finds each broken rule in the sample', () => {
    const file = join(samples, 'lint/packages/runtime/src/tasks/breaks-the-rules.ts');
    const result = tool(eslint, ['--no-ignore', '--no-warn-ignored', file]);
    expect(result.status).toBe(1);
    for (const rule of [
      '@typescript-eslint/no-floating-promises',
      'no-restricted-properties',
      'no-restricted-globals',
      'no-restricted-imports',
      'no-restricted-syntax',
      'no-empty',
      'import-x/no-default-export',
    ]) {
      expect(result.output).toContain(rule);
    }
  });
});

describe('format', options, () => {
  it('finds nothing in the project', () => expectClean(tool(prettier, ['--check', '.'])));

  it('finds the sample', () => {
    const file = join(samples, 'format/badly-formatted.ts');
    const result = tool(prettier, ['--check', '--ignore-path', '/dev/null', file]);
    expect(result.status).toBe(1);
    expect(result.output).toContain('badly-formatted.ts');
  });
});

describe('arrows', options, () => {
  const config = join(root, '.dependency-cruiser.cjs');

  it('all point down in the project', () =>
    expectClean(tool(cruiser, ['--config', config, 'packages'])));

  it('sees the project at all', () => {
    const result = tool(cruiser, ['--config', config, '--output-type', 'json', 'packages']);
    const { summary, modules } = JSON.parse(result.output) as {
      summary: { totalCruised: number };
      modules: { source: string; dependencies: { resolved: string }[] }[];
    };
    expect(summary.totalCruised).toBeGreaterThan(100);
    const embedded = modules.find((module) => module.source.endsWith('runtime/src/embedded.ts'));
    expect(embedded?.dependencies.map((dependency) => dependency.resolved)).toContain(
      'packages/broker/src/index.ts',
    );
  });

  it('finds an arrow upwards and a cycle in the sample', () => {
    const result = tool(cruiser, ['--config', config, 'packages'], join(samples, 'arrows'));
    expect(result.status).not.toBe(0);
    for (const rule of ['no-cycles', 'protocol-knows-nobody', 'operators-know-state']) {
      expect(result.output).toContain(rule);
    }
  });
});

describe('unused code', options, () => {
  it('is not in the project', () => expectClean(tool(knip, [])));

  it('is found in the sample', () => {
    const result = tool(knip, ['--directory', join(samples, 'unused')], join(samples, 'unused'));
    expect(result.status).toBe(1);
    expect(result.output).toContain('orphan.ts');
    expect(result.output).toContain('unused');
  });
});

describe('types', options, () => {
  it('are strict in the sample', () => {
    const result = tool(tsc, ['-p', join(samples, 'types')]);
    expect(result.status).not.toBe(0);
    expect(result.output).toContain('TS2322');
    expect(result.output).toContain('TS2375');
  });
});

describe('the test set-up', options, () => {
  const sample = (name: string): Result =>
    tool(vitest, ['run', `${name}.sample.ts`], join(samples, 'vitest'));

  it('passes a quiet test', () => expectClean(sample('quiet')));

  it.each([
    ['unhandled-rejection', 'nobody listens'],
    ['leaked-handle', 'handles still open'],
    ['loud-log', 'log lines above info'],
  ])('fails on %s', (name, message) => {
    const result = sample(name);
    expect(result.status).toBe(1);
    expect(result.output).toContain(message);
  });
});
