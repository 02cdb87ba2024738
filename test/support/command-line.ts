import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { run } from '@millrace/cli';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const main = join(root, 'packages/cli/dist/main.js');
const DEADLINE_MS = 60_000;

export interface CommandResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

/** A `millrace` command as a process of its own, from the build. */
export class RunningCommand {
  readonly exited: Promise<CommandResult>;
  readonly #child: ChildProcessWithoutNullStreams;
  #out = '';
  #err = '';

  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    program: readonly [string, ...string[]] = [process.execPath, main],
  ) {
    const [executable, ...first] = program;
    const child = spawn(executable, [...first, ...args], {
      env: { PATH: process.env['PATH'], ...environment },
    });
    this.#child = child;
    const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#err += text));
    // A command that ends before it has read its input is judged by its exit code.
    child.stdin.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        clearTimeout(deadline);
        resolve({ code, signal, out: this.#out, err: this.#err });
      });
    });
  }

  get out(): string {
    return this.#out;
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** As `| head` does once it has seen enough. */
  closeOutput(): void {
    this.#child.stdout.destroy();
  }

  /** Resolves when the output has `text`; rejects when the command ends before that. */
  async printed(text: string): Promise<void> {
    while (!this.#out.includes(text)) {
      const ended = await Promise.race([
        this.exited,
        new Promise<null>((resolve) => setTimeout(resolve, 20, null)),
      ]);
      if (ended !== null && !this.#out.includes(text)) {
        throw new Error(`ended without printing ${text}: ${ended.err}`);
      }
    }
  }
}

/** Runs a command within this process. */
export async function runHere(args: readonly string[], input = ''): Promise<CommandResult> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(args, {
    out: (text) => out.push(`${text}\n`),
    err: (text) => err.push(`${text}\n`),
    drained: () => Promise.resolve(),
    outputClosed: new AbortController().signal,
    input: Readable.from([Buffer.from(input)]),
    isInputTyped: false,
  });
  return { code, signal: null, out: out.join(''), err: err.join('') };
}

/** Runs a command as a process of its own, to its end. */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = '',
): Promise<CommandResult> {
  const command = new RunningCommand(args, environment);
  command.type(input);
  command.endInput();
  return command.exited;
}

/** Runs a line of shell, in which `millrace` is the command. */
export async function runShell(
  line: string,
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  const script = `millrace() { '${process.execPath}' '${main}' "$@"; }; ${line}`;
  const shell = new RunningCommand([script], environment, ['sh', '-c']);
  shell.endInput();
  return shell.exited;
}
