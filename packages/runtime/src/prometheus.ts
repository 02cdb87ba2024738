/** Metrics for Prometheus: `@millrace/runtime/prometheus`. Needs `prom-client`. */
import type { Registry } from 'prom-client';
import type { MetricsSource } from './metrics/exported-metrics.ts';
import { PrometheusExport } from './metrics/prometheus-export.ts';

export type { MetricsSource } from './metrics/exported-metrics.ts';

const registered = new WeakMap<Registry, PrometheusExport>();

/**
 * Adds the metrics of a `KafkaStreams` to a registry of prom-client, your own or its `register`, whose
 * `metrics()` then has them in Prometheus' text format beside all others. They are read when the registry
 * is asked, and cost nothing in between. Several may be added to one registry.
 *
 * A metric's name is `kafka_streams_<group>_<name>` with `_` for `-`, such as
 * `kafka_streams_stream_thread_metrics_process_total`, as Prometheus' JMX exporter has it for Kafka
 * Streams; its tags are the labels (`thread_id`, `task_id` ...). Texts are left out, as are averages of
 * nothing. docs/metrics.md lists them.
 *
 * @returns takes them away again
 */
export function registerPrometheusMetrics(source: MetricsSource, registry: Registry): () => void {
  let found = registered.get(registry);
  if (found === undefined) {
    found = new PrometheusExport(registry);
    registered.set(registry, found);
  }
  return found.add(source);
}
