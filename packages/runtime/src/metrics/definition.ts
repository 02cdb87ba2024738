/** Kafka's levels, from what costs least to what costs most (`metrics.recording.level`). */
export const recordingLevels = ['INFO', 'DEBUG', 'TRACE'] as const;

/** At DEBUG what counts for INFO is measured, too; at TRACE everything. */
export type RecordingLevel = (typeof recordingLevels)[number];

/** What one metric is, wherever it is measured. */
export interface MetricDefinition {
  /** `stream-metrics`, `stream-thread-metrics`, `stream-task-metrics` ... */
  readonly group: string;
  readonly name: string;
  /** A counter only grows while the thing that it belongs to is there; a text is no number. */
  readonly type: 'counter' | 'gauge' | 'text';
  /** `records`, `bytes`, `ms`, `ns`, `ratio`, `records/s` ...; empty for a text or a code. */
  readonly unit: string;
  readonly level: RecordingLevel;
  /** Names of the tags. */
  readonly tags: readonly string[];
  readonly description: string;
  /** Kafka Streams has it under the same group and name. */
  readonly isKafkas: boolean;
}
