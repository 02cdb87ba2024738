import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseLine, type SoakLine } from './lines.ts';

const isSource = import.meta.url.endsWith('.ts');
const program = fileURLToPath(
  new URL(isSource ? '../../dist/chaos/soak/soak-app.js' : './soak-app.js', import.meta.url),
);
const SHOWN_ERROR_CHARACTERS = 1_000;

/** One life of one client. */
export class SoakClient {
  /** Resolves when it has ended and all that it said is read, with what it said on standard error. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;

  constructor(args: readonly string[], onLine: (line: SoakLine) => void) {
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (errors.length < SHOWN_ERROR_CHARACTERS) errors += String(chunk);
    });
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = parseLine(text);
      if (line !== null) onLine(line);
    });
    this.ended = new Promise((resolve) => child.once('close', () => resolve(errors)));
  }

  /** kill -9. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
