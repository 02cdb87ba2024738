import { createLogger, type Topology } from '@millrace/runtime';
import { pino } from 'pino';
import { openCluster, stateDirectory, type Cluster } from './cluster.ts';
import { listenForInterruption } from './interruption.ts';
import { runToEnd } from './run-to-end.ts';

export interface Example {
  readonly applicationId: string;
  readonly topology: Topology;
  /** All topics that the application reads, repartition topics last. */
  readonly topics: readonly string[];
  load(cluster: Cluster): Promise<void>;
  show(cluster: Cluster): Promise<void>;
}

const STDERR = 2;

/** Runs a short example on an embedded broker of its own: load, process, show. */
export async function runExample(example: Example): Promise<void> {
  const destination = pino.destination({ dest: STDERR, sync: true });
  const logger = createLogger({ level: 'warn' }, destination);
  const interruption = listenForInterruption();
  const cluster = await openCluster({ bootstrapServers: null, dataDir: null, logger });
  const stateDir = await stateDirectory(null);
  try {
    await example.load(cluster);
    await runToEnd({
      topology: example.topology,
      config: {
        'application.id': example.applicationId,
        'bootstrap.servers': cluster.bootstrapServers,
        'state.dir': stateDir.path,
        'commit.interval.ms': '200ms',
      },
      streamsOptions: { logger },
      client: cluster.client,
      topics: example.topics,
      signal: interruption.signal,
    });
    await example.show(cluster);
  } finally {
    interruption.stop();
    await cluster.close();
    await stateDir.remove();
  }
}
