import { Counter, Gauge, type Registry } from 'prom-client';
import type { MetricDefinition } from './definition.ts';
import { storeScopes, STORE_TAG } from './definitions.ts';
import {
  exportedDefinitions,
  exportedValue,
  metricKey,
  type MetricsSource,
} from './exported-metrics.ts';
import type { Metric } from './registry.ts';

/** What is registered with one registry of prom-client: each name once, for all sources together. */
export class PrometheusExport {
  readonly #registry: Registry;
  readonly #sources = new Set<MetricsSource>();
  readonly #names = new Map<string, string>();
  /** By group and name, while a scrape goes on: it asks for one name after the other. */
  #found: ReadonlyMap<string, readonly Metric[]> | null = null;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  add(source: MetricsSource): () => void {
    this.#sources.add(source);
    for (const definition of exportedDefinitions(source)) this.#register(definition);
    return () => {
      this.#sources.delete(source);
      if (this.#sources.size > 0) return;
      for (const name of this.#names.values()) this.#registry.removeSingleMetric(name);
      this.#names.clear();
    };
  }

  #register(definition: MetricDefinition): void {
    const key = metricKey(definition);
    if (this.#names.has(key)) return;
    const name = prometheusName(key);
    this.#names.set(key, name);
    const metrics = (): readonly Metric[] => this.#find().get(key) ?? [];
    const configuration = {
      name,
      help: definition.description,
      labelNames: labelNames(definition.tags),
      registers: [this.#registry],
    };
    if (definition.type === 'counter') {
      new Counter({
        ...configuration,
        collect() {
          this.reset();
          for (const metric of metrics()) this.inc(labels(metric), exportedValue(metric) ?? 0);
        },
      });
    } else {
      new Gauge({
        ...configuration,
        collect() {
          this.reset();
          for (const metric of metrics()) {
            const value = exportedValue(metric);
            if (value !== null) this.set(labels(metric), value);
          }
        },
      });
    }
  }

  #find(): ReadonlyMap<string, readonly Metric[]> {
    if (this.#found !== null) return this.#found;
    const found = new Map<string, Metric[]>();
    for (const source of this.#sources) {
      for (const metric of source.metrics()) {
        const key = metricKey(metric);
        const same = found.get(key);
        if (same === undefined) found.set(key, [metric]);
        else same.push(metric);
      }
    }
    this.#found = found;
    // A scrape asks for all names before it waits for anything.
    queueMicrotask(() => {
      this.#found = null;
    });
    return found;
  }
}

function prometheusName(text: string): string {
  return `kafka_streams_${text.replaceAll(/[^a-zA-Z0-9]/g, '_')}`;
}

function labelName(tag: string): string {
  return tag.replaceAll('-', '_');
}

function labelNames(tags: readonly string[]): string[] {
  return tags
    .flatMap((tag) => (tag === STORE_TAG ? storeScopes.map((scope) => `${scope}-id`) : [tag]))
    .map(labelName);
}

function labels({ tags }: Metric): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).map(([tag, value]) => [labelName(tag), value]));
}
