/** What another instance makes of the windows of one that was killed; the number is the report's. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { finalCounts, SESSION_MS, WINDOW_MS } from './final-counts.ts';
import { APPLICATION_ID, type Entry, eventually, Lab } from './lab.ts';

const program = fileURLToPath(new URL('../dist/regressions/final-counts-app.js', import.meta.url));

let lab: Lab;
afterEach(() => lab.close());

it('38: windows of an owner that was killed have their final results once, from the next owner', async () => {
  lab = await Lab.open({ in: 1, out: 1 });
  const args = [program, APPLICATION_ID, lab.broker.bootstrapServers, temporaryDirectory()];
  const owner = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(owner, 'close');
  try {
    let said = '';
    owner.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    await eventually(() => said.includes('RUNNING'));
    const next = await lab.start(finalCounts(), { 'session.timeout.ms': SESSION_MS });
    const committed = (offset: bigint) =>
      eventually(async () => (await lab.committed('in')) === offset);
    const begin = Math.floor(Date.now() / WINDOW_MS) * WINDOW_MS;
    const write = (at: number, ...entries: Entry[]) =>
      lab.write('in', entries, { timestamp: begin + at });

    await write(0, ['a', ''], ['b', ''], ['a', '']);
    await committed(3n);
    const processed = next.streams.metrics().find(({ name }) => name === 'process-total');
    expect(processed?.value()).toBe(0);
    owner.kill('SIGKILL');
    await ended;
    await write(WINDOW_MS / 2, ['a', '']);
    await write(3 * WINDOW_MS, ['z', '']);
    await committed(5n);
    await write(6 * WINDOW_MS, ['z', '']);
    await committed(6n);
    const results = (await lab.read('out')).map(({ key, value }) => [key, value]);
    expect(results).toEqual([
      ['a', '3'],
      ['b', '1'],
      ['z', '1'],
    ]);
    expect(processed?.value()).toBe(3);
    expect(next.loud).toEqual([]);
  } finally {
    owner.kill('SIGKILL');
    await ended;
  }
}, 60_000);
