/** An instance that is closed by SIGTERM, with a function that never settles once it has a record. */
import {
  closeOnSignals,
  KafkaStreams,
  serdes,
  silentLogger,
  StreamsBuilder,
} from '@millrace/runtime';

const [topic = '', bootstrapServers = '', stateDir = '', timeoutMs = ''] = process.argv.slice(2);
const text = { key: serdes.string(), value: serdes.string() };
const builder = new StreamsBuilder();
builder
  .stream(topic, text)
  .peek((_key, value) => {
    process.stdout.write(`${value}\n`);
    return value === 'stuck' ? new Promise<void>(() => undefined) : undefined;
  })
  .groupByKey()
  .count({ store: 'counts' });
const streams = new KafkaStreams(
  builder.build(),
  {
    'application.id': `${topic}-application`,
    'bootstrap.servers': bootstrapServers,
    'state.dir': stateDir,
  },
  { logger: silentLogger() },
);
streams.state$.subscribe(({ state }) => {
  process.stdout.write(`${state}\n`);
});
closeOnSignals(streams, { timeoutMs: Number(timeoutMs) });
await streams.start();
