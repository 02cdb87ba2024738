export type MetricTags = Readonly<Record<string, string>>;

/** One measured thing, under Kafka Streams' name, group and tags. */
export interface Metric {
  readonly name: string;
  /** `stream-metrics`, `stream-thread-metrics`, `stream-task-metrics` ... */
  readonly group: string;
  readonly description: string;
  readonly tags: MetricTags;
  /** Reads it now. */
  value(): number | string;
}

/**
 * What is measured. Nothing is recorded here: whoever counts keeps a plain field, and the registry
 * reads it when it is asked, so a metric costs the record path no more than an addition.
 */
export class MetricsRegistry {
  readonly #metrics = new Set<Metric>();

  /** Adds a metric, and returns how to take it away again. */
  add(metric: Metric): () => void {
    this.#metrics.add(metric);
    return () => {
      this.#metrics.delete(metric);
    };
  }

  /** All that is measured at this moment. */
  list(): readonly Metric[] {
    return [...this.#metrics];
  }
}

/** The metrics of one thing, all with its tags, added and taken away together. */
export class MetricsGroup {
  readonly #registry: MetricsRegistry;
  readonly #group: string;
  readonly #tags: MetricTags;
  readonly #removals: (() => void)[] = [];

  constructor(registry: MetricsRegistry, group: string, tags: MetricTags) {
    this.#registry = registry;
    this.#group = group;
    this.#tags = tags;
  }

  add(name: string, description: string, value: () => number | string): this {
    const metric = { name, group: this.#group, tags: this.#tags, description, value };
    this.#removals.push(this.#registry.add(metric));
    return this;
  }

  remove(): void {
    for (const remove of this.#removals) remove();
    this.#removals.length = 0;
  }
}
