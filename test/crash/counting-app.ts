/** Counts the records of a topic, per key and per key and day, on disk; the crash test kills it. */
import { createLogger, KafkaStreams, serdes, StreamsBuilder, timeWindows } from '@millrace/runtime';
import { pino } from 'pino';

const STDERR = 2;
const [bootstrapServers = '', stateDir = '', applicationId = '', topic = '', guarantee] =
  process.argv.slice(2);

const text = serdes.string();
const builder = new StreamsBuilder();
const grouped = builder.stream(topic, { key: text, value: text }).groupByKey();
grouped.count({ store: 'total' });
grouped.windowedBy(timeWindows({ size: '1d' })).count({ store: 'daily' });

const streams = new KafkaStreams(
  builder.build(),
  {
    'application.id': applicationId,
    'bootstrap.servers': bootstrapServers,
    'state.dir': stateDir,
    'commit.interval.ms': 150,
    'processing.guarantee': guarantee ?? 'at_least_once',
    'producer.linger.ms': 5,
    'group.instance.id': 'counting',
    // Every record is one in each changelog: what was counted twice can be told from their ends.
    'statestore.cache.max.bytes': 0,
  },
  { logger: createLogger({ level: 'warn' }, pino.destination({ dest: STDERR, sync: true })) },
);

/** By store: how many changelog records were restored. */
const restored: Record<string, number> = {};

function say(event: string): void {
  process.stdout.write(`${JSON.stringify({ event, restored })}\n`);
}

streams.restore$.subscribe(({ kind, storeName, startOffset, endOffset, restoredRecords }) => {
  if (kind === 'start' && startOffset < endOffset) say('restoring');
  if (kind === 'end') restored[storeName] = restoredRecords;
});
streams.state$.subscribe(({ state }) => {
  if (state === 'RUNNING') say('running');
});
process.once('SIGTERM', () => {
  say('stopping');
  void streams.close();
});
await streams.run();
say('stopped');
