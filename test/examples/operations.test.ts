/** The README's block on operations, as a process that is asked by its probes and told to end. */
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import parsePrometheus from 'parse-prometheus-text-format';
import { expect, it } from 'vitest';
import { RunningCommand } from '../support/command-line.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const program = join(root, 'packages/examples/dist/operations/operations.js');
const WAIT_MS = 30_000;

it.each(['SIGTERM', 'SIGINT'] as const)(
  'answers probes and Prometheus, and ends cleanly on %s',
  { timeout: 90_000 },
  async (signal) => {
    const app = new RunningCommand([program], { PORT: '0' }, [process.execPath]);
    const untilMs = performance.now() + WAIT_MS;
    let port: string | undefined;
    while (port === undefined && performance.now() < untilMs) {
      await sleep(50);
      port = /port: (\d+)/.exec(app.out)?.[1];
    }
    const url = `http://localhost:${String(port)}`;
    let ready = 0;
    while (ready !== 200 && performance.now() < untilMs) {
      ({ status: ready } = await fetch(`${url}/ready`));
      await sleep(50);
    }
    expect(ready).toBe(200);
    expect((await fetch(`${url}/live`)).status).toBe(200);
    const answer = await fetch(`${url}/metrics`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    const names = parsePrometheus(await answer.text()).map(({ name }) => name);
    expect(names).toContain('kafka_streams_stream_thread_metrics_process_total');

    app.kill(signal);
    const { code, signal: killedBy, out } = await app.exited;
    expect({ code, killedBy }).toEqual({ code: 0, killedBy: null });
    expect(out).toContain('NOT_RUNNING');
  },
);
