import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@millrace/compaction';
import { ApiVersions, CreateTopics, ListOffsets, Produce } from '@millrace/protocol';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { adminRequest } from './server/admin-client.ts';
import { startBroker } from './start-broker.ts';
import { batchOf, TestClient } from './testing-support/test-client.ts';

const directories: string[] = [];

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'start-broker-'));
  directories.push(path);
  return path;
}

afterEach(async () => {
  for (const path of directories.splice(0)) await rm(path, { recursive: true, force: true });
});

describe('startBroker', () => {
  it('takes a free port and a temporary directory, which goes on close', async () => {
    const broker = await startBroker({ inProcess: true });
    expect(broker.port).toBeGreaterThan(0);
    expect(broker.bootstrapServers).toBe(`127.0.0.1:${broker.port}`);
    expect(existsSync(broker.dataDir)).toBe(true);
    await Promise.all([broker.close(), broker.close()]);
    await broker.closed;
    expect(existsSync(broker.dataDir)).toBe(false);
  });

  it('keeps a directory that it was given', async () => {
    const dataDir = await directory();
    {
      await using broker = await startBroker({ inProcess: true, dataDir });
      expect(broker.dataDir).toBe(dataDir);
    }
    expect(existsSync(join(dataDir, 'meta.properties'))).toBe(true);
  });

  it('refuses wrong configuration before it touches anything', async () => {
    const dataDir = join(await directory(), 'new');
    await expect(
      startBroker({ inProcess: true, dataDir, config: { 'num.partition': 1 } }),
    ).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(existsSync(dataDir)).toBe(false);
  });

  it('listens on loopback only', async () => {
    await expect(startBroker({ inProcess: true, host: '0.0.0.0' })).rejects.toMatchObject({
      code: 'BROKER_HOST_NOT_LOOPBACK',
    });
  });

  it('says when the port is taken, and leaves the directory unlocked', async () => {
    const dataDir = await directory();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    await expect(startBroker({ inProcess: true, dataDir, port })).rejects.toMatchObject({
      code: 'BROKER_PORT_IN_USE',
      message: expect.stringContaining(String(port)) as string,
    });
    await new Promise((resolve) => other.close(resolve));
    await using broker = await startBroker({ inProcess: true, dataDir, port });
    expect(broker.port).toBe(port);
  });

  it('logs nothing above info on a clean run and stop', async () => {
    const lines: { level: number; msg: string }[] = [];
    const logger = pino(
      { level: 'trace' },
      { write: (line: string) => lines.push(JSON.parse(line) as { level: number; msg: string }) },
    );
    const broker = await startBroker({ inProcess: true, logger });
    const client = await TestClient.connect(broker);
    await client.send(ApiVersions, 3, { clientSoftwareName: 'a', clientSoftwareVersion: '1' });
    await client.close();
    await broker.close();
    expect(lines.map(({ msg }) => msg)).toContain('broker is ready');
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
  });

  it('runs retention by its clock', async () => {
    const clock = new FakeClock(Date.now());
    await using broker = await startBroker({ inProcess: true, clock });
    const client = await TestClient.connect(broker);
    await client.send(CreateTopics, 7, {
      topics: [
        {
          name: 'short',
          numPartitions: 1,
          replicationFactor: 1,
          configs: [{ name: 'retention.ms', value: '1000' }],
        },
      ],
    });
    const records = batchOf({ values: ['old'], timestamp: clock.now() });
    await client.send(Produce, 9, {
      acks: -1,
      topicData: [{ name: 'short', partitionData: [{ index: 0, records }] }],
    });
    const earliest = async (): Promise<bigint> => {
      const { topics } = await client.send(ListOffsets, 5, {
        topics: [{ name: 'short', partitions: [{ partitionIndex: 0, timestamp: -2n }] }],
      });
      return topics[0]!.partitions[0]!.offset;
    };
    clock.advance(29_000);
    expect(await earliest()).toBe(0n);
    clock.advance(2_000);
    expect(await earliest()).toBe(1n);
    await client.close();
  });
});

describe('the admin socket', () => {
  it('is for this user only and answers commands', async () => {
    const dataDir = await directory();
    const broker = await startBroker({ inProcess: true, dataDir });
    expect(statSync(join(dataDir, 'admin.sock')).mode & 0o777).toBe(0o600);
    expect(await adminRequest(dataDir, 'status')).toMatchObject({
      pid: process.pid,
      bootstrapServers: broker.bootstrapServers,
      topics: 0,
    });
    const client = await TestClient.connect(broker);
    await client.send(CreateTopics, 7, {
      topics: [{ name: 'orders', numPartitions: 2, replicationFactor: 1 }],
    });
    expect(await adminRequest(dataDir, 'topics')).toMatchObject([
      { name: 'orders', partitions: 2 },
    ]);
    expect(await adminRequest(dataDir, 'topics', { topic: 'orders' })).toMatchObject({
      partitions: [{ partition: 0, logEndOffset: '0' }, { partition: 1 }],
    });
    expect(await adminRequest(dataDir, 'flush')).toBeNull();
    await expect(adminRequest(dataDir, 'topics', { topic: 'nope' })).rejects.toMatchObject({
      code: 'ADMIN_UNKNOWN_TOPIC',
    });
    await expect(adminRequest(dataDir, 'dance')).rejects.toMatchObject({
      code: 'ADMIN_UNKNOWN_COMMAND',
      message: expect.stringContaining('status') as string,
    });
    await client.close();
    await broker.close();
    expect(existsSync(join(dataDir, 'admin.sock'))).toBe(false);
    await expect(adminRequest(dataDir, 'status')).rejects.toMatchObject({
      code: 'ADMIN_NOT_RUNNING',
    });
  });

  it('stops the broker', async () => {
    const dataDir = await directory();
    const broker = await startBroker({ inProcess: true, dataDir });
    await adminRequest(dataDir, 'stop');
    await broker.closed;
    await broker.close();
  });

  it('works where the path is longer than a socket address', async () => {
    const dataDir = join(await directory(), 'd'.repeat(150));
    await using broker = await startBroker({ inProcess: true, dataDir });
    expect(existsSync(join(dataDir, 'admin.sock'))).toBe(true);
    expect(await adminRequest(dataDir, 'status')).toMatchObject({ dataDir, pid: process.pid });
    expect(broker.dataDir).toBe(dataDir);
  });

  it('replaces what a killed broker has left, but nothing else', async () => {
    const dataDir = await directory();
    const left = createServer();
    await new Promise<void>((resolve) => left.listen(join(dataDir, 'left.sock'), resolve));
    const { link } = await import('node:fs/promises');
    await link(join(dataDir, 'left.sock'), join(dataDir, 'admin.sock'));
    await new Promise((resolve) => left.close(resolve));
    const broker = await startBroker({ inProcess: true, dataDir });
    expect(await adminRequest(dataDir, 'status')).toMatchObject({ pid: process.pid });
    await broker.close();
    await writeFile(join(dataDir, 'admin.sock'), 'mine');
    await expect(startBroker({ inProcess: true, dataDir })).rejects.toMatchObject({
      code: 'BROKER_ADMIN_SOCKET_FAILED',
    });
  });

  it('survives lines that are no requests, and cuts off one without end', async () => {
    const dataDir = await directory();
    await using broker = await startBroker({ inProcess: true, dataDir });
    expect(broker.port).toBeGreaterThan(0);
    const { connect } = await import('node:net');
    const talk = (text: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(join(dataDir, 'admin.sock'));
        let answer = '';
        socket.on('data', (chunk) => {
          answer += chunk.toString();
          if (answer.endsWith('\n')) socket.end();
        });
        socket.on('error', () => undefined);
        socket.on('close', () => {
          resolve(answer);
        });
        socket.write(text);
      });
    expect(JSON.parse(await talk('nonsense\n'))).toMatchObject({
      id: null,
      error: { code: 'ADMIN_BAD_REQUEST' },
    });
    expect(JSON.parse(await talk('null\n'))).toMatchObject({
      error: { code: 'ADMIN_BAD_REQUEST' },
    });
    expect(JSON.parse(await talk('{"id":7,"cmd":"status","args":3}\n'))).toMatchObject({
      error: { code: 'ADMIN_BAD_REQUEST' },
    });
    expect(await talk('x'.repeat(2_000_000))).toContain('ADMIN_LINE_TOO_LONG');
    expect(await adminRequest(dataDir, 'status')).toMatchObject({ pid: process.pid });
  });
});
