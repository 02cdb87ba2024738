import { InvariantError } from '../errors.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import { METRICS_WINDOW_MIN_MS } from '../limits.ts';
import type { MetricDefinition, RecordingLevel } from './definition.ts';
import { recordingLevels } from './definition.ts';
import { findDefinition } from './definitions.ts';
import type { Windowed, WindowedValues, WindowLengths } from './windows.ts';
import { WindowedRate } from './windows.ts';

export type MetricTags = Readonly<Record<string, string>>;

/** One measured thing, under Kafka Streams' name, group, tags and level; docs/metrics.md lists them all. */
export interface Metric {
  readonly name: string;
  /** `stream-metrics`, `stream-thread-metrics`, `stream-task-metrics` ... */
  readonly group: string;
  readonly description: string;
  readonly tags: MetricTags;
  /** A counter only grows while what it belongs to is there; a text is no number. */
  readonly type: 'counter' | 'gauge' | 'text';
  /** `records`, `bytes`, `ms`, `ns`, `ratio`, `records/s` ...; empty for a text or a code. */
  readonly unit: string;
  /** From which `metrics.recording.level` on it is measured. */
  readonly level: RecordingLevel;
  /** Reads it now. An average of nothing is NaN, as in Kafka. */
  value(): number | string;
}

export interface MetricsRegistryOptions extends WindowLengths {
  /** `metrics.recording.level`. */
  readonly level: RecordingLevel;
  readonly clock: Clock;
}

/**
 * What is measured. Nothing is recorded here: whoever counts keeps a plain field, and the registry
 * reads it when it is asked, so a metric costs the record path no more than an addition. Rates come
 * from the same fields, which are read once per window.
 */
export class MetricsRegistry {
  readonly level: RecordingLevel;
  readonly #metrics = new Set<Metric>();
  readonly #providers = new Set<() => Iterable<Metric>>();
  readonly #windowed = new Set<Windowed>();
  readonly #lengths: WindowLengths;
  /** Monotonic times of whatever is timed are its. */
  readonly clock: Clock;
  #timer: Timer | null = null;

  constructor({ level, windowMs, sampleCount, clock }: MetricsRegistryOptions) {
    this.level = level;
    this.#lengths = { windowMs: Math.max(windowMs, METRICS_WINDOW_MIN_MS), sampleCount };
    this.clock = clock;
  }

  /** Ends windows from here on, until `close`. */
  start(): void {
    this.#timer = this.clock.setTimer(this.#lengths.windowMs, () => {
      const nowMs = this.clock.monotonicMs();
      for (const windowed of this.#windowed) windowed.endWindow(this.#lengths, nowMs);
      this.start();
    });
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Whether what counts for this level is measured. */
  records(level: RecordingLevel): boolean {
    return recordingLevels.indexOf(level) <= recordingLevels.indexOf(this.level);
  }

  /** Adds a metric, and returns how to take it away again. */
  add(metric: Metric): () => void {
    this.#metrics.add(metric);
    return () => {
      this.#metrics.delete(metric);
    };
  }

  /** Asked for more whenever all are listed: of things that come and go by themselves. */
  provide(provider: () => Iterable<Metric>): () => void {
    this.#providers.add(provider);
    return () => {
      this.#providers.delete(provider);
    };
  }

  /** Ends its windows together with all others. */
  watch(windowed: Windowed): () => void {
    this.#windowed.add(windowed);
    return () => {
      this.#windowed.delete(windowed);
    };
  }

  rateOf(counter: () => number): WindowedRate {
    return new WindowedRate(counter, this.clock.monotonicMs());
  }

  perSecond(rate: WindowedRate): number {
    return rate.perSecond(this.#lengths, this.clock.monotonicMs());
  }

  ofTime(rate: WindowedRate): number {
    return rate.ofTime(this.clock.monotonicMs());
  }

  /** All that is measured at this moment. */
  list(): readonly Metric[] {
    const all = [...this.#metrics];
    for (const provider of this.#providers) all.push(...provider());
    return all;
  }
}

/** A metric as docs/metrics.md has it. */
export function metricOf(
  { group, name, description, type, unit, level }: MetricDefinition,
  tags: MetricTags,
  value: () => number | string,
): Metric {
  return { group, name, description, type, unit, level, tags, value };
}

export function definitionOf(group: string, name: string): MetricDefinition {
  const definition = findDefinition(group, name);
  if (definition !== undefined) return definition;
  throw new InvariantError(
    `${group} has no metric ${name}: metrics/definitions.ts does not list it`,
  );
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

  /** What is above the level of the registry is left out. `tags` are further ones. */
  add(name: string, value: () => number | string, tags: MetricTags = {}): this {
    const definition = definitionOf(this.#group, name);
    if (this.#registry.records(definition.level)) {
      const metric = metricOf(definition, { ...this.#tags, ...tags }, value);
      this.#removals.push(this.#registry.add(metric));
    }
    return this;
  }

  /** `<name>-rate` and `<name>-total` of a counter. */
  addRateAndTotal(name: string, counter: () => number): this {
    return this.addRate(`${name}-rate`, counter).add(`${name}-total`, counter);
  }

  addRate(name: string, counter: () => number): this {
    if (!this.#isRecorded(name)) return this;
    const rate = this.#watched(this.#registry.rateOf(counter));
    return this.add(name, () => this.#registry.perSecond(rate));
  }

  /** The part of the time that a counter of milliseconds has counted. */
  addRatio(name: string, countedMs: () => number): this {
    if (!this.#isRecorded(name)) return this;
    const rate = this.#watched(this.#registry.rateOf(countedMs));
    return this.add(name, () => this.#registry.ofTime(rate));
  }

  /** `<name>-avg` and `<name>-max`. */
  addAverageAndMax(name: string, values: WindowedValues): this {
    if (!this.#isRecorded(`${name}-avg`)) return this;
    this.#watched(values);
    return this.add(`${name}-avg`, () => values.average).add(`${name}-max`, () => values.max);
  }

  /** And `<name>-min`. */
  addAverageMinAndMax(name: string, values: WindowedValues): this {
    return this.addAverageAndMax(name, values).add(`${name}-min`, () => values.min);
  }

  remove(): void {
    for (const remove of this.#removals) remove();
    this.#removals.length = 0;
  }

  #isRecorded(name: string): boolean {
    return this.#registry.records(definitionOf(this.#group, name).level);
  }

  #watched<W extends Windowed>(windowed: W): W {
    this.#removals.push(this.#registry.watch(windowed));
    return windowed;
  }
}
