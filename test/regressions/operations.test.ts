/** What users of other stream processors saw when brokers or settings were amiss; the number is the report's. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StreamsBuilder } from '@millrace/runtime';
import { afterEach, expect, it } from 'vitest';
import { eventually, Lab } from './lab.ts';
import { texts } from './topologies.ts';

let lab: Lab;
afterEach(() => lab.close());

const APPLICATIONS = 8;
const AWAY_MS = 3_000;
const CPU_SHARE_MAX = 0.05;

function copy() {
  const builder = new StreamsBuilder();
  builder.stream('in', texts).to('out', texts);
  return builder.build();
}

it('170, 172: many applications wait for brokers that are down, at little cost, and end (kafkajs#702, #418, #1402)', async () => {
  lab = await Lab.open({ in: 1, out: 1 });
  const running = await lab.start(copy());
  await lab.broker.close();
  // An unhandled rejection in any of them would fail the run.
  const waiting = Array.from({ length: APPLICATIONS }, (_, i) =>
    lab.create(copy(), { 'application.id': `app-${String(i)}` }),
  );
  for (const { streams } of waiting) void streams.start();
  await sleep(1_000);
  const before = process.cpuUsage();
  await sleep(AWAY_MS);
  const { user, system } = process.cpuUsage(before);
  const share = (user + system) / 1_000 / AWAY_MS / (APPLICATIONS + 1);
  expect(share).toBeLessThan(CPU_SHARE_MAX);
  for (const { streams } of [running, ...waiting]) {
    const startMs = performance.now();
    await streams.close({ timeoutMs: 500 });
    expect(performance.now() - startMs).toBeLessThan(2_000);
  }
}, 30_000);

it('179: every interval and size that may be 0 works at 0 (lovoo/goka#255, n8n#35616)', async () => {
  lab = await Lab.open({ in: 1, out: 1 });
  const app = await lab.start(copy(), {
    'commit.interval.ms': 0,
    'consumer.fetch.max.bytes': 0,
    'consumer.fetch.min.bytes': 0,
    'consumer.max.partition.fetch.bytes': 0,
    'delete.interval.ms': 0,
    'fetch.max.wait.ms': 0,
    'log.summary.interval.ms': 0,
    'max.task.idle.ms': 0,
    'metadata.max.age.ms': 0,
    'producer.batch.size': 0,
    'producer.buffer.memory': 0,
    'producer.linger.ms': 0,
    'state.cleanup.delay.ms': 0,
    'statestore.cache.max.bytes': 0,
    'task.timeout.ms': 0,
  });
  const values = Array.from({ length: 500 }, (_, i) => ['k', `v${String(i)}`] as const);
  await lab.write('in', values);
  await eventually(async () => (await lab.read('out')).length === values.length);
  await eventually(async () => (await lab.committed('in')) === BigInt(values.length));
  expect(app.streams.state).toBe('RUNNING');
  expect(app.loud).toEqual([]);
});
