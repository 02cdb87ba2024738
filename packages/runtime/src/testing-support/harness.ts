import type { StreamsConfigInput } from '../config/config-input.ts';
import { KafkaStreams } from '../kafka-streams.ts';
import type { KafkaStreamsOptions } from '../kafka-streams-options.ts';
import { silentLogger } from '../logging/logger.ts';
import type { Topology } from '../topology/topology.ts';
import { FakeClient } from './fake-client.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeCluster } from './fake-cluster.ts';

/** A KafkaStreams on a fake cluster under a fake clock, started and settled. */
export interface Harness {
  readonly streams: KafkaStreams;
  readonly cluster: FakeCluster;
  readonly client: FakeClient;
  readonly clock: FakeClock;
}

export interface HarnessOptions {
  readonly topology: Topology;
  readonly cluster?: FakeCluster;
  readonly clock?: FakeClock;
  readonly config?: StreamsConfigInput;
  readonly options?: KafkaStreamsOptions;
  /** Started paused. */
  readonly isPaused?: boolean;
}

const APPLICATION_ID = 'app';

export function createHarness(setup: HarnessOptions): Harness {
  const cluster = setup.cluster ?? new FakeCluster();
  const clock = setup.clock ?? new FakeClock();
  const client = new FakeClient(cluster);
  const streams = new KafkaStreams(
    setup.topology,
    {
      'application.id': APPLICATION_ID,
      // A fake clock and a real disk do not go together.
      'dsl.store.suppliers.class': 'inMemory',
      ...setup.config,
    },
    {
      client,
      clock,
      random: () => 0.5,
      environment: {},
      logger: silentLogger(),
      ...setup.options,
    },
  );
  return { streams, cluster, client, clock };
}

export async function startHarness(setup: HarnessOptions): Promise<Harness> {
  const harness = createHarness(setup);
  if (setup.isPaused === true) harness.streams.pause();
  await harness.streams.start();
  await harness.clock.advance(0);
  return harness;
}
