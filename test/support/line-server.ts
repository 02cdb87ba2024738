import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

const STDERR_KEPT_CHARACTERS = 10_000;

/** A process that answers every JSON line that it is given with one of its own, in order. */
export class LineServer {
  readonly #process: ChildProcess;
  readonly #waiting: ((line: string) => void)[] = [];
  readonly #ended: Promise<void>;
  #stderr = '';

  constructor(command: string, args: readonly string[]) {
    this.#process = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#process.stderr?.on('data', (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-STDERR_KEPT_CHARACTERS);
    });
    const lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
    // Logging libraries may complain on the same stream.
    lines.on('line', (line) => {
      if (line.startsWith('{')) this.#waiting.shift()?.(line);
    });
    this.#ended = new Promise((resolve) => {
      this.#process.once('close', () => {
        const failure = JSON.stringify({ error: `${command} ended: ${this.#stderr}` });
        for (const one of this.#waiting.splice(0)) one(failure);
        resolve();
      });
    });
  }

  /** The answer; it has an `error` if the process ended instead. */
  async ask<T>(request: object): Promise<T & { readonly error?: string }> {
    const line = await new Promise<string>((resolve) => {
      this.#waiting.push(resolve);
      this.#process.stdin?.write(`${JSON.stringify(request)}\n`);
    });
    return JSON.parse(line) as T & { readonly error?: string };
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended;
  }

  async close(): Promise<void> {
    this.#process.stdin?.end();
    await this.#ended;
  }
}
