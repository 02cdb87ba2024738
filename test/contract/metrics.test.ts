/** The metrics of an application on the embedded broker, in each of the ways to read them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import {
  serdes,
  stores,
  StreamsBuilder,
  timeWindows,
  TopicWriter,
  untilTimeLimit,
  Windowed,
  type KafkaStreams,
  type Metric,
  type SessionStore,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { registerOpenTelemetryMetrics } from '@millrace/runtime/opentelemetry';
import { registerPrometheusMetrics } from '@millrace/runtime/prometheus';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import parsePrometheus from 'parse-prometheus-text-format';
import { Counter, Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { documentedMetrics } from '../support/documented-metrics.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const RECORDS = 500;
const KEYS = 10;
const WAIT_MS = 20_000;
const BLOCKED_MS = 300;
const text = { key: serdes.string(), value: serdes.string() };

/** Has something of everything that is measured. */
function topology(): Topology {
  const builder = new StreamsBuilder();
  builder.globalTable('names', text);
  builder.addStateStore(stores.session({ name: 'visits', retention: '1h', ...text }));
  builder.addStateStore(stores.keyValue({ name: 'seen', type: 'inMemory', ...text }));
  let visits: SessionStore<string, string> | undefined;
  builder.stream('in', text).process(
    () => ({
      init(context) {
        visits = context.getStateStore('visits');
        context.schedule('20ms', 'wall-clock-time', () => undefined);
      },
      process({ key }) {
        visits?.remove(new Windowed(key, 0, 1));
      },
    }),
    { stores: ['visits', 'seen'] },
  );
  const grouped = builder
    .stream('in-two', text)
    .selectKey((_key, value) => value)
    .groupByKey({ name: 'by-value', ...text });
  grouped.count({ store: 'counts' }).toStream().to('out', { key: text.key, value: serdes.long() });
  grouped
    .windowedBy(timeWindows({ size: '1s' }))
    .count({ store: 'windows' })
    .suppress(untilTimeLimit('1ms', { name: 'calm' }));
  return builder.build();
}

let broker: EmbeddedBroker;
const apps = applicationsOn(() => broker);

beforeAll(async () => {
  broker = await startBroker();
  await apps.createTopics(['in', 'in-two', 'out', 'names'], 1);
  for (const name of ['in', 'in-two', 'names']) {
    const writer = await TopicWriter.open(apps.client, { topic: name, ...text });
    for (let i = 0; i < RECORDS; i++) {
      const timestamp = Date.now();
      writer.send(`k${String(i % KEYS)}`, `v${String(i % KEYS)}`, { timestamp });
    }
    await writer.close();
  }
}, 60_000);

afterAll(async () => {
  await broker.close();
});

/** Of the metrics with the name, in the group and with the tags: the sum of their values. */
function sum(metrics: readonly Metric[], group: string, name: string): number {
  return metrics
    .filter((metric) => metric.group === group && metric.name === name)
    .reduce((total, metric) => total + Number(metric.value()), 0);
}

/** Runs until all that is there is processed, committed and purged. */
async function start(id: string, config: StreamsConfigInput = {}): Promise<KafkaStreams> {
  const streams = await apps.start(topology(), {
    'application.id': id,
    'state.dir': temporaryDirectory(),
    'commit.interval.ms': 100,
    'delete.interval.ms': 100,
    'linger.ms': 0,
    'metrics.recording.level': 'DEBUG',
    ...config,
  });
  const untilMs = performance.now() + WAIT_MS;
  const isDone = (): boolean => {
    const metrics = streams.metrics();
    return (
      sum(metrics, 'stream-topic-metrics', 'records-consumed-total') === 3 * RECORDS &&
      sum(metrics, 'stream-thread-metrics', 'purge-total') > 0 &&
      sum(metrics, 'stream-thread-metrics', 'purge-lag-records') === 0
    );
  };
  while (!isDone() && performance.now() < untilMs) await sleep(20);
  expect(isDone()).toBe(true);
  return streams;
}

function key({ group, name }: { readonly group: string; readonly name: string }): string {
  return `${group}/${name}`;
}

describe('metrics of a running application', () => {
  it('are those of docs/metrics.md, each with its tags', { timeout: 60_000 }, async () => {
    const streams = await start('documented');
    const metrics = streams.metrics();
    const documented = documentedMetrics();
    const byKey = new Map(documented.map((metric) => [key(metric), metric]));
    for (const metric of metrics) {
      const { type, unit, level, tags } = byKey.get(key(metric)) ?? {};
      expect({ type, unit, level }, key(metric)).toEqual({
        type: metric.type,
        unit: metric.unit,
        level: metric.level,
      });
      const names = Object.keys(metric.tags).map((tag) =>
        tag.endsWith('-state-id') ? '<store-scope>-id' : tag,
      );
      expect(names.sort(), key(metric)).toEqual([...(tags ?? [])].sort());
      expect(typeof metric.value(), key(metric)).toBe(metric.type === 'text' ? 'string' : 'number');
    }
    const measured = new Set(metrics.map(key));
    expect(documented.map(key).filter((one) => !measured.has(one))).toEqual([]);
  });

  it('count what the application did', { timeout: 60_000 }, async () => {
    const streams = await start('counting');
    const metrics = streams.metrics();
    const of = (name: string, tags: Record<string, string>): number[] =>
      metrics
        .filter((metric) => metric.name === name)
        .filter((metric) =>
          Object.entries(tags).every(([tag, value]) => metric.tags[tag] === value),
        )
        .map((metric) => Number(metric.value()));
    expect(of('records-consumed-total', { topic: 'in' })).toEqual([RECORDS]);
    expect(of('records-consumed-total', { topic: 'counting-by-value-repartition' })).toEqual([
      RECORDS,
    ]);
    expect(of('records-produced-total', { topic: 'counting-by-value-repartition' })).toEqual([
      RECORDS,
    ]);
    const [produced = 0] = of('records-produced-total', { topic: 'out' });
    expect(produced).toBeGreaterThanOrEqual(KEYS);
    expect(produced).toBeLessThanOrEqual(RECORDS);
    // Timestamp and name apart: the key and value of "k1" and "v1".
    expect(of('bytes-consumed-total', { topic: 'in' })).toEqual([RECORDS * (4 + 20 + 2)]);
    const threads = metrics.filter(({ group }) => group === 'stream-thread-metrics');
    expect(sum(threads, 'stream-thread-metrics', 'process-total')).toBe(4 * RECORDS);
    expect(sum(threads, 'stream-thread-metrics', 'commit-total')).toBeGreaterThan(0);
    expect(of('put-rate', { 'lmdb-state-id': 'counts' })[0]).toBeGreaterThan(0);
    const latencies = of('record-e2e-latency-max', {}).filter((latency) => !Number.isNaN(latency));
    expect(latencies.length).toBeGreaterThanOrEqual(4);
    for (const latency of latencies) {
      expect(latency).toBeGreaterThanOrEqual(0);
      expect(latency).toBeLessThan(60_000);
    }

    await streams.close();
    expect(new Set(streams.metrics().map(({ group }) => group))).toEqual(
      new Set(['stream-metrics']),
    );
  });

  it('show that something has held up the event loop', { timeout: 60_000 }, async () => {
    const streams = await start('blocked', { 'metrics.recording.level': 'INFO' });
    const untilMs = performance.now() + BLOCKED_MS;
    while (performance.now() < untilMs);
    await sleep(100);
    const find = (name: string): number =>
      Number(
        streams
          .metrics()
          .find((metric) => metric.name === name)
          ?.value(),
      );
    expect(find('event-loop-lag-max')).toBeGreaterThan(BLOCKED_MS - 50);
    expect(find('event-loop-lag-avg')).toBeLessThan(find('event-loop-lag-max'));
    expect(find('event-loop-utilization')).toBeGreaterThan(0);
    expect(find('event-loop-utilization')).toBeLessThanOrEqual(1);
  });

  it('are Prometheus’ in a registry of prom-client', { timeout: 60_000 }, async () => {
    const registry = new Registry();
    new Counter({ name: 'my_own_total', help: 'Mine.', registers: [registry] }).inc(3);
    const streams = await start('prometheus-one');
    const other = await start('prometheus-two', { 'metrics.recording.level': 'INFO' });
    const removals = [streams, other].map((source) => registerPrometheusMetrics(source, registry));
    const families = parsePrometheus(await registry.metrics());
    const family = (name: string) => families.find((one) => one.name === name);
    expect(family('my_own_total')?.metrics).toEqual([{ value: '3' }]);

    const processed = family('kafka_streams_stream_thread_metrics_process_total');
    expect(processed?.type).toBe('COUNTER');
    expect(processed?.help).toBe('Records processed.');
    const threads = new Map(
      processed?.metrics.map(({ labels, value }) => [labels?.['thread_id'], Number(value)]),
    );
    for (const metric of [...streams.metrics(), ...other.metrics()]) {
      if (metric.group !== 'stream-thread-metrics' || metric.name !== 'process-total') continue;
      expect(threads.get(metric.tags['thread-id'])).toBe(metric.value());
    }
    expect(threads.size).toBe(4);
    const state = family('kafka_streams_stream_metrics_client_state');
    expect(state?.type).toBe('GAUGE');
    expect(state?.metrics.map(({ value }) => value)).toEqual(['2', '2']);
    const puts = family('kafka_streams_stream_state_metrics_put_rate');
    expect(puts?.metrics.map(({ labels }) => labels?.['lmdb_state_id'])).toContain('counts');
    // Texts are left out, and so are averages of nothing.
    expect(families.some(({ name }) => name.includes('topology'))).toBe(false);
    for (const { name, metrics } of families) {
      for (const { value } of metrics) expect(Number(value), name).not.toBeNaN();
    }
    const names = families.map(({ name }) => name);
    const numbers = documentedMetrics().filter(({ type }) => type !== 'text');
    expect(names.length).toBe(numbers.length + 1);

    for (const remove of removals) remove();
    expect(parsePrometheus(await registry.metrics()).map(({ name }) => name)).toEqual([
      'my_own_total',
    ]);
    removals[0] = registerPrometheusMetrics(other, registry);
    const info = parsePrometheus(await registry.metrics()).map(({ name }) => name);
    expect(info).toContain('kafka_streams_stream_thread_metrics_process_total');
    expect(info).not.toContain('kafka_streams_stream_state_metrics_put_rate');
    removals[0]();
  });

  it('are OpenTelemetry’s through a meter', { timeout: 60_000 }, async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    const streams = await start('telemetry');
    let reads = 0;
    const source = {
      metrics: () => {
        reads++;
        return streams.metrics();
      },
    };
    const stop = registerOpenTelemetryMetrics(source, provider.getMeter('test'));
    await reader.forceFlush();
    const collected = (): MetricData[] =>
      exporter
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics)
        .flatMap(({ metrics }) => metrics);
    const find = (name: string): MetricData | undefined =>
      collected().find(({ descriptor }) => descriptor.name === name);

    const processed = find('org.apache.kafka.stream.thread.process.total');
    expect(processed?.dataPointType).toBe(DataPointType.SUM);
    expect(processed?.descriptor).toMatchObject({
      description: 'Records processed.',
      unit: '{record}',
    });
    const expected = streams
      .metrics()
      .filter(({ group, name }) => group === 'stream-thread-metrics' && name === 'process-total')
      .map(({ tags, value }) => [tags['thread-id'], value()]);
    expect(
      processed?.dataPoints.map(({ attributes, value }) => [attributes['thread_id'], value]),
    ).toEqual(expected);
    const latency = find('org.apache.kafka.stream.processor.node.record.e2e.latency.avg');
    expect(latency?.dataPointType).toBe(DataPointType.GAUGE);
    expect(latency?.descriptor.unit).toBe('ms');
    expect(latency?.dataPoints.length).toBeGreaterThan(3);
    expect(find('org.apache.kafka.stream.topic.bytes.consumed.total')?.descriptor.unit).toBe('By');
    expect(find('org.apache.kafka.stream.state.put.rate')?.descriptor.unit).toBe('{call}/s');
    expect(find('org.apache.kafka.stream.state')).toBeUndefined();

    stop();
    const before = reads;
    await reader.forceFlush();
    expect(reads).toBe(before);
    await provider.shutdown();
  });
});
