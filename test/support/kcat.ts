import { type ChildProcessByStdio, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { cacheFolder } from './kafka/jars.ts';

const APT_DEADLINE_MS = 5 * 60_000;
const RUN_DEADLINE_MS = 20_000;
const END_DEADLINE_MS = 10_000;
/** What every Debian has, and what a program cannot bring with it. */
const BASE_PACKAGES = new Set(['libc6', 'libgcc-s1']);

function runs(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

let missing: string | null | undefined;

/** null if this machine has kcat or can get it, else what it lacks. In CI a lack is an error, not a reason to skip. */
export function missingForKcat(): string | null {
  if (missing === undefined) {
    const isThere = runs('kcat', ['-V']) || existsSync(unpacked());
    const canGet = isThere || (runs('apt-get', ['--version']) && runs('dpkg-deb', ['--version']));
    missing = canGet ? null : 'neither kcat nor apt-get is on the PATH';
    if (missing !== null && process.env['CI'] !== undefined) {
      throw new Error(`${missing}, and CI must run every suite`);
    }
  }
  return missing;
}

function unpacked(): string {
  return join(cacheFolder(), 'kcat');
}

/** Debian's kcat with the libraries that it needs, unpacked into the cache: nothing is installed. */
function unpackFromDebian(): string {
  const target = unpacked();
  if (existsSync(target)) return target;
  const output = `${target}.${String(process.pid)}`;
  const downloads = join(output, 'downloads');
  mkdirSync(join(downloads, 'lists', 'partial'), { recursive: true });
  // Lists of its own: the machine's may be missing or old, and are not this user's to renew.
  const options = ['-o', `Dir::State::lists=${join(downloads, 'lists')}`];
  const apt = (command: string, ...args: string[]): string =>
    execFileSync(command, [...options, '-o', `Dir::Cache=${downloads}`, ...args], {
      cwd: downloads,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: APT_DEADLINE_MS,
    });
  apt('apt-get', 'update');
  const only = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'];
  const packages = apt(
    'apt-cache',
    'depends',
    '--recurse',
    ...only.map((relation) => `--no-${relation}`),
    'kcat',
  )
    .split('\n')
    .filter((line) => /^(kcat$|lib)/.test(line) && !BASE_PACKAGES.has(line));
  apt('apt-get', 'download', ...packages);
  for (const file of readdirSync(downloads).filter((name) => name.endsWith('.deb'))) {
    execFileSync('dpkg-deb', ['-x', join(downloads, file), output]);
  }
  rmSync(downloads, { recursive: true });
  try {
    renameSync(output, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
    rmSync(output, { recursive: true, force: true });
  }
  return target;
}

interface Program {
  readonly command: string;
  readonly environment: NodeJS.ProcessEnv;
}

let program: Program | undefined;

function kcatProgram(): Program {
  if (program !== undefined) return program;
  // Neither a user's own settings nor his locale.
  const environment = { ...process.env, HOME: '/nonexistent', LC_ALL: 'C.UTF-8' };
  if (runs('kcat', ['-V'])) return (program = { command: 'kcat', environment });
  const folder = unpackFromDebian();
  const libraries = ['usr/lib', 'lib']
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .filter((path) => path.endsWith('-linux-gnu'));
  return (program = {
    command: join(folder, 'usr', 'bin', 'kcat'),
    environment: { ...environment, LD_LIBRARY_PATH: libraries.join(':') },
  });
}

/** A record as `kcat -J` shows it; headers are names and values in turn. */
export interface KcatRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly tstype: 'create' | 'logappend' | 'unknown';
  readonly ts: number;
  readonly headers?: readonly (string | null)[];
  readonly key: string | null;
  readonly payload: string | null;
}

/** One run of kcat, librdkafka's command line client. */
export class Kcat {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ended: Promise<number | null>;
  readonly #name: string;
  readonly lines: string[] = [];
  standardError = '';

  constructor(bootstrapServers: string, args: readonly string[]) {
    const { command, environment } = kcatProgram();
    this.#name = `kcat ${args.join(' ')}`;
    this.#child = spawn(command, ['-b', bootstrapServers, ...args], {
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.lines.push(line));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.standardError += text;
    });
    this.#ended = new Promise((resolve) => this.#child.once('close', (code) => resolve(code)));
  }

  get records(): KcatRecord[] {
    return this.lines.map((line) => JSON.parse(line) as KcatRecord);
  }

  /** The partitions that a member of a group has, by what it has said of rebalances. */
  get assignment(): readonly string[] {
    const assigned = new Set<string>();
    for (const line of this.standardError.split('\n')) {
      const change = /\b(assigned|revoked|incremental assignment|incremental revoke)\b/.exec(
        line,
      )?.[1];
      if (change === undefined) continue;
      if (change === 'assigned') assigned.clear();
      for (const [, partition] of line.matchAll(/\[(\d+)\]/g)) {
        if (change.endsWith('assignment') || change === 'assigned')
          assigned.add(partition as string);
        else assigned.delete(partition as string);
      }
    }
    return [...assigned].sort();
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  signal(signal: 'SIGINT' | 'SIGKILL'): void {
    this.#child.kill(signal);
  }

  /** Ends its input and waits until it has ended by itself; throws if it says that it failed. */
  async finish(): Promise<void> {
    this.#child.stdin.end();
    const deadline = setTimeout(() => this.#child.kill('SIGKILL'), RUN_DEADLINE_MS);
    const code = await this.#ended;
    clearTimeout(deadline);
    if (code !== 0) throw new Error(`${this.#name} ended with ${code}: ${this.standardError}`);
  }

  /** Tells it to end, as Ctrl-C does: a consumer leaves its group, a transaction is aborted. */
  async stop(): Promise<void> {
    this.#child.kill('SIGINT');
    // A producer does not look up from its input before.
    this.#child.stdin.end();
    const deadline = setTimeout(() => this.#child.kill('SIGKILL'), END_DEADLINE_MS);
    await this.#ended;
    clearTimeout(deadline);
  }
}

/** Runs kcat to its end; the lines that it has printed. */
export async function runKcat(
  bootstrapServers: string,
  args: readonly string[],
  input = '',
): Promise<Kcat> {
  const kcat = new Kcat(bootstrapServers, args);
  kcat.write(input);
  await kcat.finish();
  return kcat;
}
