import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../packages/cli/dist/main.js', import.meta.url));
const START_DEADLINE_MS = 30_000;
const WARN = 40;

export interface BrokerProcessOptions {
  readonly dataDir: string;
  /** Broker configuration under Kafka's names. */
  readonly config?: Readonly<Record<string, string>>;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

/** `millrace broker` as a process of its own, which may be killed and come back on the same port. */
export class BrokerProcess {
  /** Log lines above info, of all its lives. */
  readonly loudLines: string[] = [];
  readonly dataDir: string;
  readonly #config: readonly string[];
  #port = 0;
  #running: Running | null = null;

  private constructor(options: BrokerProcessOptions) {
    this.dataDir = options.dataDir;
    this.#config = Object.entries(options.config ?? {}).flatMap(([key, value]) => [
      '--config',
      `${key}=${value}`,
    ]);
  }

  static async start(options: BrokerProcessOptions): Promise<BrokerProcess> {
    const broker = new BrokerProcess(options);
    await broker.restart();
    return broker;
  }

  get bootstrapServers(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Starts it again on its data and its port. */
  async restart(): Promise<void> {
    const child = spawn(
      process.execPath,
      [
        program,
        'broker',
        '--port',
        String(this.#port),
        '--data-dir',
        this.dataDir,
        '--log-level',
        'warn',
        ...this.#config,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const errors: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      errors.push(line);
      if (isLoud(line)) this.loudLines.push(line);
    });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    this.#running = { child, ended };
    const listening = new Promise<number>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const port = /listening on .*:(\d+)$/.exec(line)?.[1];
        if (port !== undefined) resolve(Number(port));
      });
    });
    let deadline: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      deadline = setTimeout(
        () => reject(new Error(`the broker did not start within ${START_DEADLINE_MS} ms`)),
        START_DEADLINE_MS,
      );
    });
    const failed = ended.then(() => {
      throw new Error(`the broker ended while starting:\n${errors.join('\n')}`);
    });
    // Once it has started, its end is nobody's failure.
    failed.catch(() => undefined);
    try {
      this.#port = await Promise.race([listening, failed, late]);
    } catch (error) {
      await this.kill();
      throw error;
    } finally {
      clearTimeout(deadline);
    }
  }

  /** kill -9. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  close(): Promise<void> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    this.#running = null;
    running?.child.kill(signal);
    await running?.ended;
  }
}

function isLoud(line: string): boolean {
  if (!line.startsWith('{')) return true;
  const { level } = JSON.parse(line) as { readonly level: number };
  return level >= WARN;
}
