/** Metrics for OpenTelemetry: `@millrace/runtime/opentelemetry`. Needs `@opentelemetry/api`. */
import type { BatchObservableCallback, Meter, Observable } from '@opentelemetry/api';
import type { MetricDefinition } from './metrics/definition.ts';
import {
  exportedDefinitions,
  exportedValue,
  metricKey,
  type MetricsSource,
} from './metrics/exported-metrics.ts';

export type { MetricsSource } from './metrics/exported-metrics.ts';

/**
 * Makes an observable instrument of each metric of a `KafkaStreams`, on a meter of yours: counters of
 * what only grows, gauges of the rest. They are read when the SDK collects, and cost nothing in between.
 *
 * Names are those under which Kafka's own clients push metrics (KIP-714, KIP-1076):
 * `org.apache.kafka.<group>.<name>` without `-metrics` and with `.` for `-`, such as
 * `org.apache.kafka.stream.thread.process.total`; tags are attributes with `_` for `-` (`thread_id`,
 * `task_id` ...), units are UCUM's. Texts are left out, as are averages of nothing. docs/metrics.md lists them.
 *
 * @returns ends that
 */
export function registerOpenTelemetryMetrics(source: MetricsSource, meter: Meter): () => void {
  const instruments = new Map<string, Observable>();
  for (const definition of exportedDefinitions(source)) {
    instruments.set(metricKey(definition), createInstrument(meter, definition));
  }
  const observe: BatchObservableCallback = (result) => {
    for (const metric of source.metrics()) {
      const instrument = instruments.get(metricKey(metric));
      const value = exportedValue(metric);
      if (instrument === undefined || value === null) continue;
      result.observe(instrument, value, attributes(metric.tags));
    }
  };
  const observables = [...instruments.values()];
  meter.addBatchObservableCallback(observe, observables);
  return () => {
    meter.removeBatchObservableCallback(observe, observables);
  };
}

function createInstrument(meter: Meter, definition: MetricDefinition): Observable {
  const { description, unit } = definition;
  const options = { description, unit: ucum(unit) };
  const name = openTelemetryName(definition);
  return definition.type === 'counter'
    ? meter.createObservableCounter(name, options)
    : meter.createObservableGauge(name, options);
}

function openTelemetryName({ group, name }: MetricDefinition): string {
  const scope = group.replace(/-metrics$/, '');
  return `org.apache.kafka.${scope}.${name}`.replaceAll('-', '.');
}

function attributes(tags: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tags).map(([tag, value]) => [tag.replaceAll('-', '_'), value]),
  );
}

/** `records/s` is `{record}/s`. */
function ucum(unit: string): string {
  if (unit === '' || unit === 'ratio') return '1';
  if (unit === 'bytes') return 'By';
  const [what = '', per] = unit.split('/');
  const counted = what === 'ms' || what === 'ns' ? what : `{${what.replace(/s$/, '')}}`;
  return per === undefined ? counted : `${counted}/${per}`;
}
