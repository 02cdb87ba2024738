/** The broker in its own thread; needs the build, which `npm test` makes first. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ApiVersions } from '@millrace/protocol';
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { adminRequest } from './server/admin-client.ts';
import { startBroker } from './start-broker.ts';
import { TestClient } from './testing-support/test-client.ts';

const isBuilt = existsSync(new URL('../dist/broker-worker.js', import.meta.url));
const directories: string[] = [];

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'worker-broker-'));
  directories.push(path);
  return path;
}

afterEach(async () => {
  vi.restoreAllMocks();
  for (const path of directories.splice(0)) await rm(path, { recursive: true, force: true });
});

describe.skipIf(!isBuilt)('a broker in its own thread', () => {
  it('serves, logs through the given logger, stops, and tidies up', async () => {
    const lines: { level: number; msg: string; topics?: number }[] = [];
    const logger = pino(
      { level: 'debug' },
      { write: (line: string) => lines.push(JSON.parse(line) as (typeof lines)[0]) },
    );
    const broker = await startBroker({ logger, config: { 'num.partitions': 2 } });
    const client = await TestClient.connect(broker);
    const { errorCode } = await client.send(ApiVersions, 2, {});
    expect(errorCode).toBe(0);
    await client.close();
    await broker.close();
    await broker.closed;
    expect(existsSync(broker.dataDir)).toBe(false);
    expect(lines.find(({ msg }) => msg === 'broker is ready')).toMatchObject({
      level: 30,
      topics: 0,
    });
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
  });

  it('tells why it did not start', async () => {
    const dataDir = await directory();
    await using broker = await startBroker({ dataDir });
    await expect(startBroker({ dataDir })).rejects.toMatchObject({
      name: 'BrokerStartError',
      code: 'LOG_DIR_LOCKED',
    });
    await expect(startBroker({ port: broker.port })).rejects.toMatchObject({
      code: 'BROKER_PORT_IN_USE',
    });
    await expect(startBroker({ config: { 'num.partitions': 'x' } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it('can be stopped from the command line', async () => {
    const dataDir = await directory();
    const broker = await startBroker({ dataDir });
    await adminRequest(dataDir, 'stop');
    await broker.closed;
    await broker.close();
  });

  it('that ends by itself rejects `closed`, and lets go of the directory', async () => {
    const dataDir = await directory();
    const on = vi.spyOn(Worker.prototype, 'on');
    const broker = await startBroker({ dataDir });
    const crashed = expect(broker.closed).rejects.toMatchObject({ code: 'BROKER_CRASHED' });
    await (on.mock.contexts[0] as Worker).terminate();
    await crashed;
    await broker.close();
    on.mockRestore();
    const again = await startBroker({ dataDir });
    await again.close();
  });
});
