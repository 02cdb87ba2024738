/**
 * One life of one instance of the application under chaos: `chaos-app.js OPTIONS`, `ChaosAppOptions` as JSON.
 * Its log at debug goes to standard error, synchronously, so that it tells what it did last. SIGTERM ends it,
 * with exit code 0.
 */
import { createLogger, KafkaStreams } from '@millrace/runtime';
import { pino } from 'pino';
import { redirectConnections, type Redirects } from './redirect.ts';
import { APPLICATION_ID } from './topics.ts';
import { chaosTopology, type StoreTypes } from './topology.ts';

export interface ChaosAppOptions {
  readonly bootstrapServers: string;
  readonly stateDir: string;
  /** A static member has one. */
  readonly groupInstanceId: string | null;
  readonly storeTypes: StoreTypes;
  readonly redirects: Redirects;
  readonly threads: number;
}

const STDERR = 2;
const CLOSE_TIMEOUT_MS = 20_000;

const options = JSON.parse(process.argv[2] ?? '{}') as ChaosAppOptions;
redirectConnections(options.redirects);
const streams = new KafkaStreams(
  chaosTopology(options.storeTypes),
  {
    'application.id': APPLICATION_ID,
    'bootstrap.servers': options.bootstrapServers,
    'state.dir': options.stateDir,
    'processing.guarantee': 'exactly_once_v2',
    'commit.interval.ms': 100,
    'delete.interval.ms': 1_000,
    'num.stream.threads': options.threads,
    'session.timeout.ms': 6_000,
    'heartbeat.interval.ms': 500,
    'max.poll.interval.ms': 20_000,
    'transaction.timeout.ms': 6_000,
    'linger.ms': 5,
    'fetch.max.wait.ms': 100,
    ...(options.groupInstanceId === null ? {} : { 'group.instance.id': options.groupInstanceId }),
  },
  { logger: createLogger({ level: 'debug' }, pino.destination({ dest: STDERR, sync: true })) },
);
process.once('SIGTERM', () => {
  void streams.close({ timeoutMs: CLOSE_TIMEOUT_MS });
});
await streams.run();
