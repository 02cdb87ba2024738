import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileJava } from '../../support/kafka/compile-java.ts';
import { supportFolder } from '../../support/kafka/jars.ts';
import { LineServer } from '../../support/line-server.ts';
import type { GoldenCase } from '../case.ts';

/** A case without what Kafka Streams makes of it. */
export type OpenCase = Omit<GoldenCase, 'expected'>;

/** Kafka Streams 4.4 behind a line protocol: completes cases with what it makes of them. */
export class JavaStreams {
  readonly #server: LineServer;
  /** Where it puts its state; removed at the end. */
  readonly #folder = mkdtempSync(join(tmpdir(), 'java-streams-'));

  constructor() {
    const classPath = compileJava(
      'golden-harness',
      join(supportFolder(), '..', 'golden', 'java-harness', 'golden'),
    );
    this.#server = new LineServer('java', [
      '-Xmx512m',
      '-XX:TieredStopAtLevel=1',
      `-Djava.io.tmpdir=${this.#folder}`,
      '-cp',
      classPath,
      'golden.Main',
      'serve',
    ]);
  }

  /** null if the case makes no sense to the harness. */
  async complete(open: OpenCase): Promise<GoldenCase | null> {
    const answer = await this.#server.ask<GoldenCase & { readonly bad?: string }>(open);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.bad === undefined ? answer : null;
  }

  async close(): Promise<void> {
    await this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
