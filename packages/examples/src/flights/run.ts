import type { Logger } from 'pino';
import type { Cluster } from '../support/cluster.ts';
import { runToEnd } from '../support/run-to-end.ts';
import type { TopicProgress } from '../support/topic-progress.ts';
import { flightsTopology } from './topology.ts';
import { AIRPORTS_TOPIC, FLIGHTS_TOPIC } from './topics.ts';

/** Name of the application: its consumer group, and the beginning of its internal topics' names. */
export const APPLICATION_ID = 'flight-delays-by-state';
export const REPARTITION_TOPIC = `${APPLICATION_ID}-by-state-repartition`;

export interface FlightsProgress {
  /** Flights of the topic that are joined, and passed on, for good. */
  readonly joined: number;
  readonly flights: number;
  /** Records under their state that are counted, for good. */
  readonly counted: number;
}

export interface RunOptions {
  readonly cluster: Pick<Cluster, 'bootstrapServers' | 'client' | 'isEmbedded'>;
  readonly stateDir: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: FlightsProgress) => void;
}

/** Processes all that is in the topics and has not been processed before. */
export async function processFlights(options: RunOptions): Promise<FlightsProgress> {
  const { cluster, stateDir, logger, signal, onProgress } = options;
  const last = await runToEnd({
    topology: flightsTopology(),
    config: {
      'application.id': APPLICATION_ID,
      'bootstrap.servers': cluster.bootstrapServers,
      'state.dir': stateDir,
      // Twice a minute is usual; progress is told from what is committed, and shall be seen.
      'commit.interval.ms': '1s',
      // The changelog of a window store is kept for as long as the store's windows, and so much more. The
      // windows are of 2001, and retention goes by a record's own time.
      'windowstore.changelog.additional.retention.ms': '36500d',
      // An instance that is killed is missed only when its session is over, and until then its
      // partitions are nobody's. On a broker of our own there is one instance and no other, so it has
      // a name under which it takes its partitions up at once.
      ...(cluster.isEmbedded ? { 'group.instance.id': APPLICATION_ID } : {}),
    },
    streamsOptions: { logger },
    client: cluster.client,
    topics: [AIRPORTS_TOPIC, FLIGHTS_TOPIC, REPARTITION_TOPIC],
    signal,
    onProgress: (progress) => onProgress(toFlightsProgress(progress)),
  });
  return toFlightsProgress(last);
}

function toFlightsProgress(progress: readonly TopicProgress[]): FlightsProgress {
  const [, flights, repartition] = progress as [TopicProgress, TopicProgress, TopicProgress];
  return {
    joined: flights.committed,
    flights: flights.end,
    counted: repartition.committed,
  };
}
