/** `millrace broker` as a process of its own; needs the build, which `npm test` makes first. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { adminRequest } from '@millrace/broker';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

class BrokerProcess {
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  err = '';
  #out = '';
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;

  constructor(...args: string[]) {
    this.#child = spawn(process.execPath, [main, 'broker', '--port', '0', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout.on('data', (chunk: Buffer) => (this.#out += chunk.toString()));
    this.#child.stderr.on('data', (chunk: Buffer) => (this.err += chunk.toString()));
    this.exited = new Promise((resolve) => {
      this.#child.on('close', (code, signal) => {
        resolve({ code, signal });
      });
    });
  }

  /** The address that it prints. */
  async address(): Promise<string> {
    for (;;) {
      const match = /listening on (\S+)\n/.exec(this.#out);
      if (match !== null) return match[1] as string;
      const isOver = await Promise.race([
        this.exited.then(() => true),
        new Promise<false>((resolve) => setTimeout(resolve, 20, false)),
      ]);
      if (isOver) throw new Error(`the broker ended: ${this.err}`);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

describe.skipIf(!existsSync(main))('millrace broker', () => {
  let dataDir: string;
  const started: BrokerProcess[] = [];

  const start = (...args: string[]): BrokerProcess => {
    const broker = new BrokerProcess('--data-dir', dataDir, ...args);
    started.push(broker);
    return broker;
  };

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'millrace-broker-process-'));
  });

  afterEach(async () => {
    for (const broker of started.splice(0)) {
      broker.kill('SIGKILL');
      await broker.exited;
    }
    await rm(dataDir, { recursive: true, force: true });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('stops cleanly on %s', async (signal) => {
    const broker = start();
    const address = await broker.address();
    expect(await adminRequest(dataDir, 'status')).toMatchObject({ bootstrapServers: address });
    broker.kill(signal);
    expect(await broker.exited).toEqual({ code: 0, signal: null });
    const levels = broker.err
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { level: number }).level);
    expect(levels.every((level) => level <= 30)).toBe(true);
    expect(existsSync(join(dataDir, '.kafka_cleanshutdown'))).toBe(true);
  });

  it('ends with 0 after `millrace stop`', async () => {
    const broker = start('--log-level', 'silent');
    await broker.address();
    await adminRequest(dataDir, 'stop');
    expect(await broker.exited).toEqual({ code: 0, signal: null });
    expect(broker.err).toBe('');
  });

  it('starts again after kill -9, over what it left', async () => {
    const first = start();
    await first.address();
    first.kill('SIGKILL');
    await first.exited;
    expect(existsSync(join(dataDir, 'admin.sock'))).toBe(true);
    const second = start();
    const address = await second.address();
    expect(await adminRequest(dataDir, 'status')).toMatchObject({ bootstrapServers: address });
  });

  it('fails with 1 on a directory that another one holds', async () => {
    const first = start();
    await first.address();
    const second = start();
    expect(await second.exited).toMatchObject({ code: 1 });
    expect(second.err).toContain(dataDir);
  });
});
