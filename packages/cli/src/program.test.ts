import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from '@millrace/broker';
import { afterEach, describe, expect, it } from 'vitest';
import { millrace } from './test-support/millrace.ts';

const directories: string[] = [];

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  directories.push(path);
  return path;
}

afterEach(async () => {
  for (const path of directories.splice(0)) await rm(path, { recursive: true, force: true });
});

describe('millrace', () => {
  it('shows its help', async () => {
    const { code, out } = await millrace('--help');
    expect(code).toBe(0);
    expect(out).toMatch(/broker.*status.*stop/s);
    expect((await millrace('broker', '--help')).out).toContain('--data-dir');
  });

  it.each([
    [['broker', '--port', 'x'], /not a port/],
    [['broker', '--port', '70000'], /not a port/],
    [['broker', '--config', 'nonsense'], /not key=value/],
    [['broker', '--log-level', 'loud'], /log-level/],
    [['broker', '--prot', '1'], /--port/],
    [['borker'], /broker/],
    [['status'], /data-dir/],
  ])('explains what is wrong with %j', async (args, message) => {
    const { code, err } = await millrace(...args);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  it('lists wrong configuration', async () => {
    const { code, err } = await millrace(
      'broker',
      '-p',
      '0',
      '-c',
      'num.partition=1',
      '-c',
      'node.id=-4',
    );
    expect(code).toBe(2);
    expect(err).toContain('did you mean num.partitions?');
    expect(err).toContain('node.id');
  });

  it('says that the port is in use, or the directory', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    const taken = await millrace('broker', '-p', String(port), '--log-level', 'silent');
    expect(taken).toMatchObject({
      code: 1,
      err: expect.stringContaining(`Port ${port}`) as string,
    });
    await new Promise((resolve) => other.close(resolve));

    const dataDir = await directory();
    await using broker = await startBroker({ dataDir, inProcess: true });
    const locked = await millrace('broker', '-p', '0', '-d', dataDir, '--log-level', 'silent');
    expect(locked.code, broker.bootstrapServers).toBe(1);
    expect(locked.err).toContain(dataDir);
    expect(locked.err).toContain(String(process.pid));
  });

  it('shows the status of a running broker, and stops it', async () => {
    const dataDir = await directory();
    const broker = await startBroker({ dataDir, inProcess: true });
    const status = await millrace('status', '-d', dataDir);
    expect(status.code).toBe(0);
    expect(status.out).toContain(broker.bootstrapServers);
    const json = await millrace('status', '-d', dataDir, '--json');
    expect(JSON.parse(json.out)).toMatchObject({ bootstrapServers: broker.bootstrapServers });
    expect(await millrace('stop', '-d', dataDir)).toMatchObject({ code: 0, out: 'stopped' });
    await broker.close();
    const gone = await millrace('status', '-d', dataDir);
    expect(gone).toMatchObject({
      code: 1,
      err: expect.stringContaining('No broker runs') as string,
    });
    expect((await millrace('stop', '-d', join(dataDir, 'nope'))).code).toBe(1);
  });
});
