import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cacheFolder, kafkaJars, supportFolder } from './kafka/jars.ts';

/** Kafka 4.4's own storage classes behind a line protocol: what they make of a directory. */
export class LogOracle {
  readonly #process: ChildProcess;
  readonly #waiting: ((line: string) => void)[] = [];
  readonly #ended: Promise<void>;
  #stderr = '';

  private constructor() {
    const classPath = [oracleClasses(), join(kafkaJars(), '*')].join(':');
    this.#process = spawn('java', ['-Xmx512m', '-cp', classPath, 'oracle.Main', 'serve'], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#process.stderr?.on('data', (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-10_000);
    });
    const lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => this.#waiting.shift()?.(line));
    this.#ended = new Promise((resolve) => {
      this.#process.once('close', () => {
        for (const one of this.#waiting.splice(0)) {
          one(JSON.stringify({ error: `the oracle ended: ${this.#stderr}` }));
        }
        resolve();
      });
    });
  }

  static async start(): Promise<LogOracle> {
    const oracle = new LogOracle();
    // The first log that it opens makes the logging library complain, which must not get into an answer.
    const warmUp = mkdtempSync(join(tmpdir(), 'log-oracle-warm-up-'));
    try {
      await oracle.ask({ cmd: 'write', dir: join(warmUp, 't-0'), batches: [] });
    } finally {
      rmSync(warmUp, { recursive: true });
    }
    return oracle;
  }

  /** Asks; throws what the oracle answers as an error. */
  async ask<T>(request: object): Promise<T> {
    const line = await new Promise<string>((resolve) => {
      this.#waiting.push(resolve);
      this.#process.stdin?.write(`${JSON.stringify(request)}\n`);
    });
    const answer = JSON.parse(line) as { error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer as T;
  }

  async close(): Promise<void> {
    this.#process.stdin?.end();
    await this.#ended;
  }
}

/** Compiled once per version of its sources. */
function oracleClasses(): string {
  const source = join(supportFolder(), 'oracle', 'src', 'main', 'java', 'oracle');
  const files = readdirSync(source)
    .sort()
    .map((name) => join(source, name));
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  const target = join(cacheFolder(), `log-oracle-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(target)) return target;
  const output = `${target}.${String(process.pid)}`;
  mkdirSync(output, { recursive: true });
  execFileSync('javac', ['-nowarn', '-d', output, '-cp', join(kafkaJars(), '*'), ...files], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  try {
    renameSync(output, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
    rmSync(output, { recursive: true, force: true });
  }
  return target;
}
