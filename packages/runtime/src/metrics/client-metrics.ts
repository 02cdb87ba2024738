import type { MetricsRegistry } from './registry.ts';
import { MetricsGroup } from './registry.ts';

/** What a KafkaStreams client lets be read. */
export interface MeasuredClient {
  readonly clientId: string;
  readonly applicationId: string;
  readonly state: string;
  readonly aliveThreadCount: number;
  readonly failedThreadCount: number;
}

export function registerClientMetrics(registry: MetricsRegistry, client: MeasuredClient): void {
  new MetricsGroup(registry, 'stream-metrics', { 'client-id': client.clientId })
    .add('application-id', 'The application id.', () => client.applicationId)
    .add('state', 'The state of the client.', () => client.state)
    .add(
      'alive-stream-threads',
      'Threads that run or take part in a rebalance.',
      () => client.aliveThreadCount,
    )
    .add(
      'failed-stream-threads',
      'Threads that failed since the start.',
      () => client.failedThreadCount,
    );
}
