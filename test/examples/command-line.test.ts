/** The commands that README.md shows, as a shell runs them. Needs the build. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBroker } from '@millrace/broker';
import { describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const SHELL_MS = 100_000;

function commands(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const section = readme.slice(readme.indexOf('\n## The command line\n'));
  const block = /```sh\n([\s\S]*?)```/.exec(section)?.[1];
  if (block === undefined) throw new Error('README.md shows no commands');
  return block;
}

describe('the command line in README.md', () => {
  it(
    'does what it shows',
    async () => {
      const directory = temporaryDirectory();
      await using broker = await startBroker({ dataDir: join(directory, 'data') });
      // The application of the quick start, as far as commands see it.
      for (const args of [
        ['topics', 'create', 'revenue-orders', '-p', '1'],
        ['topics', 'create', 'revenue-revenue-changelog', '-p', '1'],
        ['groups', 'reset', 'revenue', '--topic', 'revenue-orders', '--to-earliest', '--execute'],
      ]) {
        const { code, err } = await runHere([...args, '-b', broker.bootstrapServers]);
        expect(code, err).toBe(0);
      }
      const main = join(root, 'packages/cli/dist/main.js');
      const script = `set -e\npnpm() { shift 2; '${process.execPath}' '${main}' "$@"; }\n${commands()}`;
      const shell = spawnSync('sh', ['-c', script], {
        cwd: directory,
        encoding: 'utf8',
        timeout: SHELL_MS,
        env: { PATH: process.env['PATH'] },
      });
      expect(shell.status, shell.stderr).toBe(0);
      expect(shell.stdout).toContain('created topic orders with 3 partitions');
      expect(shell.stdout).toContain('2 records acknowledged by topic orders');
      expect(shell.stdout).toMatch(/\tann\t42\n/);
      expect(shell.stdout).toContain('{"topic":"orders","acknowledged":2,"unacknowledged":0}');
      expect(shell.stdout).toMatch(/retention\.ms=86400000/);
      expect(shell.stdout).toMatch(/data\/orders-0\/00000000000000000000\.log: \d+ bytes/);
      expect(shell.stdout).toMatch(/application +revenue\nstate +Empty\n/);
      expect(shell.stdout).toContain(
        'topic revenue-revenue-changelog of 1 partition would be deleted',
      );
      expect(shell.stderr).toContain('Nothing was changed: --execute does it.');
      expect(shell.stderr).toContain('Nothing was deleted: leave out --dry-run to do it.');
    },
    SHELL_MS,
  );
});
