import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { startHarness, type Harness } from '../testing-support/harness.ts';
import type { Metric } from './registry.ts';

const text = { key: serdes.string(), value: serdes.string() };

function find({ streams }: Harness, name: string, tags: Record<string, string> = {}): Metric {
  const found = streams
    .metrics()
    .filter((metric) => metric.name === name)
    .filter((metric) => Object.entries(tags).every(([tag, value]) => metric.tags[tag] === value));
  expect(found.map((metric) => [metric.name, metric.tags])).toHaveLength(1);
  return found[0] as Metric;
}

function value(harness: Harness, name: string, tags: Record<string, string> = {}): number | string {
  return find(harness, name, tags).value();
}

const ofThread = { 'thread-id': 'client-StreamThread-1' };

/** `in` through a repartition topic to `out`; each record of `in` takes 7 ms. */
async function start(config: StreamsConfigInput = {}): Promise<Harness> {
  const clock = new FakeClock();
  const cluster = new FakeCluster();
  cluster.createTopic('in', 1);
  cluster.createTopic('out', 1);
  const builder = new StreamsBuilder();
  builder
    .stream('in', text)
    .peek(() => {
      clock.elapse(7);
    })
    .selectKey((_key, given) => given)
    .repartition({ name: 'by-value', ...text })
    .to('out', text);
  return startHarness({
    topology: builder.build(),
    cluster,
    clock,
    config: { 'client.id': 'client', 'commit.interval.ms': 10_000, ...config },
  });
}

function write({ cluster, clock }: Harness, count: number, ageMs: number): void {
  const timestamp = clock.now() - ageMs;
  cluster
    .log('in')
    .write(
      Array.from({ length: count }, (_, i) => ({ key: 'k', value: `v${String(i)}`, timestamp })),
    );
  cluster.changed('in');
}

describe('metrics of an application', () => {
  it('have the time of a thread, and rates over its windows', async () => {
    const harness = await start();
    write(harness, 10, 0);
    await harness.clock.advance(1_000);
    const byThread = (name: string): number | string => {
      const found = harness.streams
        .metrics()
        .find((metric) => metric.name === name && metric.group === 'stream-thread-metrics');
      return found?.value() ?? 'missing';
    };
    expect(byThread('process-total')).toBe(10);
    // Ten records of 7 ms take two turns.
    expect(byThread('process-records-max')).toBe(8);
    expect(byThread('process-latency-max')).toBe(7);
    expect(byThread('process-ratio')).toBeCloseTo(70 / 1_000, 3);
    // One full window is counted in from the start, as in Kafka.
    expect(byThread('process-rate')).toBeCloseTo(10 / 31, 2);
    expect(byThread('poll-records-max')).toBe(10);
    expect(byThread('state')).toBe('RUNNING');
    expect(byThread('thread-state')).toBe(4);
    await harness.clock.advance(200_000);
    expect(byThread('process-rate')).toBe(0);
    expect(byThread('process-latency-max')).toBe(NaN);
    expect(byThread('process-total')).toBe(20);
    expect(byThread('commit-total')).toBe(2);
    expect(Number(byThread('commit-rate'))).toBe(0);
    await harness.streams.close();
  });

  it('tell what sources and sinks had, and how old it was', async () => {
    const harness = await start({ 'metrics.recording.level': 'DEBUG' });
    write(harness, 3, 500);
    await harness.clock.advance(20_000);
    const source = { 'processor-node-id': 'KSTREAM-SOURCE-0000000000' };
    expect(find(harness, 'records-consumed-total', source)).toMatchObject({
      group: 'stream-topic-metrics',
      type: 'counter',
      unit: 'records',
      tags: { ...ofThread, 'task-id': '0_0', topic: 'in', ...source },
    });
    expect(value(harness, 'records-consumed-total', source)).toBe(3);
    // Key of 1, value of 2, name of 2, and 20.
    expect(value(harness, 'bytes-consumed-total', source)).toBe(3 * 25);
    expect(value(harness, 'records-produced-total', { topic: 'out' })).toBe(3);
    expect(Number(value(harness, 'bytes-produced-total', { topic: 'out' }))).toBeGreaterThan(3 * 4);
    expect(value(harness, 'record-e2e-latency-avg', source)).toBe(500);
    const sinks = harness.streams
      .metrics()
      .filter(({ name, tags }) => name === 'record-e2e-latency-max' && tags['task-id'] === '1_0');
    expect(sinks).toHaveLength(2);
    // It has waited in the repartition topic for a commit.
    for (const metric of sinks) expect(Number(metric.value())).toBeGreaterThan(500);
    expect(value(harness, 'process-total', source)).toBe(3);
    expect(value(harness, 'process-latency-avg', { 'task-id': '0_0' })).toBe(7_000_000);
    expect(value(harness, 'record-lateness-max', { 'task-id': '0_0' })).toBe(0);
    expect(value(harness, 'active-process-ratio', { 'task-id': '0_0' })).toBe(1);
    expect(value(harness, 'active-buffer-count', { 'task-id': '1_0' })).toBe(0);
    await harness.streams.close();
  });

  it('tell purges and what they leave', async () => {
    const harness = await start({ 'delete.interval.ms': 60_000 });
    write(harness, 3, 0);
    await harness.clock.advance(30_000);
    expect(value(harness, 'purge-total')).toBe(0);
    expect(value(harness, 'purge-lag-records')).toBe(3);
    expect(Number(value(harness, 'purge-lag-ms'))).toBeGreaterThan(5_000);
    await harness.clock.advance(40_000);
    expect(value(harness, 'purge-total')).toBe(1);
    expect(value(harness, 'purge-lag-records')).toBe(0);
    expect(value(harness, 'purge-lag-ms')).toBe(0);
    await harness.streams.close();
  });

  it('leave out at INFO what costs more', async () => {
    const harness = await start();
    const levels = (): Set<string> => new Set(harness.streams.metrics().map(({ level }) => level));
    expect(levels()).toEqual(new Set(['INFO']));
    expect(value(harness, 'recording-level')).toBe(0);
    await harness.streams.close();
    const debug = await start({ 'metrics.recording.level': 'DEBUG' });
    const { streams } = debug;
    expect(new Set(streams.metrics().map(({ level }) => level))).toEqual(
      new Set(['INFO', 'DEBUG']),
    );
    expect(value(debug, 'recording-level')).toBe(1);
    await streams.close();
  });

  it('are the client’s own after it was closed', async () => {
    const harness = await start();
    expect(value(harness, 'client-state')).toBe(2);
    expect(value(harness, 'topology-description')).toContain('Sub-topology: 1');
    await harness.streams.close();
    const left = harness.streams.metrics();
    expect(new Set(left.map(({ group }) => group))).toEqual(new Set(['stream-metrics']));
    expect(value(harness, 'client-state')).toBe(4);
    expect(value(harness, 'alive-stream-threads')).toBe(0);
  });
});
