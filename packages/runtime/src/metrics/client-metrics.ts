import { eventLoopActiveMs } from '../platform/watch-event-loop.ts';
import type { RecordingLevel } from './definition.ts';
import { recordingLevels } from './definition.ts';
import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';
import { VERSION } from './version.ts';
import type { WindowedValues } from './windows.ts';

/** What a KafkaStreams client lets be read. */
export interface MeasuredClient {
  readonly clientId: string;
  readonly applicationId: string;
  readonly processId: string;
  readonly topologyDescription: string;
  readonly state: () => string;
  readonly stateIndex: () => number;
  readonly aliveThreadCount: () => number;
  readonly failedThreadCount: () => number;
  /** ms, at each look. */
  readonly eventLoopLag: WindowedValues;
}

export function registerClientMetrics(registry: MetricsRegistry, client: MeasuredClient): void {
  const { applicationId, clientId, processId, eventLoopLag } = client;
  const level: RecordingLevel = registry.level;
  new MetricsGroup(registry, 'stream-metrics', { 'client-id': clientId })
    .add('version', () => VERSION)
    .add('application-id', () => applicationId)
    .add('topology-description', () => client.topologyDescription)
    .add('state', client.state)
    .add('client-state', client.stateIndex, {
      'application-id': applicationId,
      'process-id': processId,
    })
    .add('alive-stream-threads', client.aliveThreadCount)
    .add('failed-stream-threads', client.failedThreadCount)
    .add('recording-level', () => recordingLevels.indexOf(level), { 'process-id': processId })
    .addAverageAndMax('event-loop-lag', eventLoopLag)
    .addRatio('event-loop-utilization', eventLoopActiveMs);
}
