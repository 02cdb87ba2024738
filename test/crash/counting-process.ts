import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

interface CountingEvent {
  readonly event: 'restoring' | 'running' | 'stopping' | 'stopped';
  /** By store: changelog records that were restored so far. */
  readonly restored: Readonly<Record<string, number>>;
}

const program = fileURLToPath(new URL('../dist/crash/counting-app.js', import.meta.url));

/** The built program, and what it says. */
export class CountingProcess {
  readonly #child: ChildProcess;
  readonly #events: CountingEvent[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #closed: Promise<void>;
  #isClosed = false;
  standardError = '';

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [program, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { stdout, stderr } = this.#child;
    stderr?.setEncoding('utf8').on('data', (text: string) => (this.standardError += text));
    if (stdout !== null) {
      createInterface({ input: stdout }).on('line', (line) => {
        this.#events.push(JSON.parse(line) as CountingEvent);
        this.#wake();
      });
    }
    this.#closed = new Promise((resolve) => {
      this.#child.once('close', () => {
        this.#isClosed = true;
        this.#wake();
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Resolves when it has said so. */
  async said(event: CountingEvent['event']): Promise<CountingEvent> {
    for (;;) {
      const found = this.#events.find((each) => each.event === event);
      if (found !== undefined) return found;
      if (this.#isClosed) throw new Error(`it ended before ${event}: ${this.standardError}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  signal(signal: 'SIGKILL' | 'SIGTERM'): void {
    this.#child.kill(signal);
  }

  /** Resolves when it has ended. */
  async ended(): Promise<void> {
    await this.#closed;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
