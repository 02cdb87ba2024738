/** An instance that counts, until it is killed. */
import { KafkaStreams, silentLogger } from '@millrace/runtime';
import { finalCounts, SESSION_MS } from './final-counts.ts';

const [applicationId = '', bootstrapServers = '', stateDir = ''] = process.argv.slice(2);
const streams = new KafkaStreams(
  finalCounts(),
  {
    'application.id': applicationId,
    'bootstrap.servers': bootstrapServers,
    'state.dir': stateDir,
    'commit.interval.ms': 100,
    'producer.linger.ms': 2,
    'session.timeout.ms': SESSION_MS,
    'heartbeat.interval.ms': 100,
  },
  { logger: silentLogger() },
);
streams.state$.subscribe(({ state }) => {
  process.stdout.write(`${state}\n`);
});
await streams.run();
