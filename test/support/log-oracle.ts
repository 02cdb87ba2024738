import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileJava } from './kafka/compile-java.ts';
import { supportFolder } from './kafka/jars.ts';
import { LineServer } from './line-server.ts';

/** Kafka 4.4's own storage classes behind a line protocol: what they make of a directory. */
export class LogOracle {
  readonly #server: LineServer;

  private constructor() {
    const source = join(supportFolder(), 'oracle', 'src', 'main', 'java', 'oracle');
    const classPath = compileJava('log-oracle', source);
    this.#server = new LineServer('java', ['-Xmx512m', '-cp', classPath, 'oracle.Main', 'serve']);
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
    const answer = await this.#server.ask<T>(request);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}
