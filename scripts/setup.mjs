// Brings a checkout to the point where everything runs: pnpm, the dependencies, the build.
// Only Node and npm are needed before it, so this file imports nothing but Node's own modules.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const INSTALLED = join(root, 'node_modules', '.millrace-installed');

/** Runs a command to its end and ends this process with its status if it fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (result.error) throw result.error;
  if (result.status !== 0) {
    if (options.mayFail) return result.status ?? 1;
    console.error(`\n${command} ${args.join(' ')} failed`);
    process.exit(result.status ?? 1);
  }
  return 0;
}

function pnpm(args) {
  const wanted = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager;
  const version = wanted.slice('pnpm@'.length);
  const found = spawnSync('pnpm', ['--version'], { cwd: root, encoding: 'utf8' });
  if (found.status === 0 && found.stdout.trim() === version) run('pnpm', args);
  else run('npm', ['exec', '--yes', `--package=${wanted}`, '--', 'pnpm', ...args]);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`Millrace needs Node 20.19 or later; this is ${process.versions.node}.`);
  process.exit(1);
}

/** Installs when the lock file has changed since the last time. */
export function install() {
  checkNode();
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'pnpm-lock.yaml')))
    .digest('hex');
  if (!existsSync(INSTALLED) || readFileSync(INSTALLED, 'utf8') !== lock) {
    pnpm(['install', '--frozen-lockfile']);
    mkdirSync(dirname(INSTALLED), { recursive: true });
    writeFileSync(INSTALLED, lock);
  }
}

/** Builds what has changed. */
export function build() {
  run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b']);
}

export function setup() {
  install();
  build();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setup();
