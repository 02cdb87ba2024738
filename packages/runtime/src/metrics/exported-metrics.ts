import type { MetricDefinition } from './definition.ts';
import { recordingLevels } from './definition.ts';
import { metricDefinitions } from './definitions.ts';
import type { Metric } from './registry.ts';

/** Whose metrics are exported: a KafkaStreams. */
export interface MetricsSource {
  metrics(): readonly Metric[];
}

/** Of the numbers; what a source does not measure at its `metrics.recording.level` is left out. */
export function exportedDefinitions(source: MetricsSource): readonly MetricDefinition[] {
  const told = source
    .metrics()
    .find(({ name }) => name === 'recording-level')
    ?.value();
  const levels = recordingLevels.slice(0, Number(told ?? 0) + 1);
  return metricDefinitions.filter(({ type, level }) => type !== 'text' && levels.includes(level));
}

export function metricKey({ group, name }: { group: string; name: string }): string {
  return `${group}/${name}`;
}

/** null: there is nothing to be told, such as the average of nothing. */
export function exportedValue(metric: Metric): number | null {
  const value = metric.value();
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
