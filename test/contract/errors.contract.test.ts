/** Exception handlers and dead letters, as an application with brokers has them. */
import {
  connect,
  deadLetter,
  GroupProgress,
  KafkaStreams,
  readTopic,
  serdes,
  silentLogger,
  StreamsBuilder,
  TopicWriter,
  type ReadRecord,
  type StreamsClient,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { afterEach, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const WAIT_MS = 30_000;
const POLL_MS = 50;

describeOnBothBrokers('the errors of an application', (broker) => {
  const clients: StreamsClient[] = [];
  const applications: KafkaStreams[] = [];
  afterEach(async () => {
    await Promise.all(applications.splice(0).map((streams) => streams.close()));
    await Promise.all(clients.splice(0).map((client) => client.close(5_000)));
  });

  function open(): StreamsClient {
    const config = { 'bootstrap.servers': broker().bootstrapServers };
    const client = connect(config, { logger: silentLogger() });
    clients.push(client);
    return client;
  }

  async function create(
    client: StreamsClient,
    prefix: string,
    config: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const topic = unique(prefix);
    const settings = new Map(Object.entries({ 'retention.ms': '-1', ...config }));
    await client
      .admin()
      .createTopics([{ topic, partitionCount: 1, replicationFactor: -1, config: settings }]);
    return topic;
  }

  async function write(client: StreamsClient, topic: string, values: string[]): Promise<void> {
    const writer = await TopicWriter.open(client, { topic, ...strings });
    values.forEach((value, i) => {
      writer.send(`k${String(i)}`, value, { timestamp: 1_000 + i });
    });
    await writer.close();
  }

  async function start(topology: Topology, config: StreamsConfigInput): Promise<KafkaStreams> {
    const streams = new KafkaStreams(
      topology,
      {
        'bootstrap.servers': broker().bootstrapServers,
        'commit.interval.ms': 100,
        'linger.ms': 0,
        ...config,
      },
      { logger: silentLogger() },
    );
    applications.push(streams);
    await streams.start();
    return streams;
  }

  async function until(isDone: () => Promise<boolean>): Promise<void> {
    const untilMs = Date.now() + WAIT_MS;
    while (!(await isDone()) && Date.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async function committed(client: StreamsClient, group: string, topic: string): Promise<bigint> {
    const progress = new GroupProgress(client, group);
    try {
      const partitions = await progress.of(topic);
      return partitions?.[0]?.committedOffset ?? 0n;
    } finally {
      await progress.close();
    }
  }

  async function recordsOf(
    client: StreamsClient,
    topic: string,
  ): Promise<ReadRecord<string, string>[]> {
    const records: ReadRecord<string, string>[] = [];
    for await (const chunk of readTopic(client, { topic, ...strings })) records.push(...chunk);
    return records;
  }

  const valuesOf = async (client: StreamsClient, topic: string): Promise<string[]> =>
    (await recordsOf(client, topic)).map(({ value }) => String(value));

  it('commit past records that are skipped, even if there is nothing else (KAFKA-6502)', async () => {
    const client = open();
    const [input, out] = [await create(client, 'in'), await create(client, 'out')];
    const id = unique('app');
    const builder = new StreamsBuilder();
    builder.stream(input, { key: serdes.string(), value: serdes.long() }).to(out, {
      key: serdes.string(),
      value: serdes.long(),
    });
    await write(
      client,
      input,
      Array.from({ length: 10 }, () => 'no long'),
    );
    const handler = 'deserialization.exception.handler';
    await start(builder.build(), { 'application.id': id, [handler]: 'continue' });
    await until(async () => (await committed(client, id, input)) === 10n);
    expect(await committed(client, id, input)).toBe(10n);
    expect(await valuesOf(client, out)).toEqual([]);
  });

  it('leave dead letters of what a function fails on, and of what a handler of the user chooses', async () => {
    const client = open();
    const [input, out] = [await create(client, 'in'), await create(client, 'out')];
    const [dlq, own] = [await create(client, 'dlq'), await create(client, 'own')];
    const topology = (): Topology => {
      const builder = new StreamsBuilder();
      builder
        .stream(input, strings)
        .mapValues((value) => {
          if (value === 'bad') throw new RangeError('this one is bad');
          return value.toUpperCase();
        })
        .to(out, strings);
      return builder.build();
    };
    await write(client, input, ['a', 'bad', 'c']);
    const first = await start(topology(), {
      'application.id': unique('app'),
      'processing.exception.handler': 'continue',
      'errors.dead.letter.queue.topic.name': dlq,
    });
    await until(async () => (await valuesOf(client, out)).length === 2);
    expect(await valuesOf(client, out)).toEqual(['A', 'C']);
    await first.close();
    const [letter] = await recordsOf(client, dlq);
    expect(letter).toMatchObject({ key: 'k1', value: 'bad', timestamp: 1_001 });
    const headers = new Map(
      letter?.headers?.toArray().map(({ key, value }) => [key, String(value)]),
    );
    expect(headers.get('__streams.errors.exception')).toBe('RangeError');
    expect(headers.get('__streams.errors.message')).toBe('this one is bad');
    expect(headers.get('__streams.errors.topic')).toBe(input);
    expect(headers.get('__streams.errors.offset')).toBe('1');

    await start(topology(), {
      'application.id': unique('app'),
      'processing.exception.handler': (context, _record, error) =>
        Promise.resolve({
          answer: 'continue' as const,
          deadLetterRecords: [deadLetter(own, context, error)],
        }),
    });
    await until(async () => (await valuesOf(client, own)).length === 1);
    expect(await valuesOf(client, own)).toEqual(['bad']);
    expect(await valuesOf(client, dlq)).toEqual(['bad']);
  });

  it('let go a record that the broker refuses for its size, and deliver the rest', async () => {
    const client = open();
    const input = await create(client, 'in');
    const [out, dlq] = [
      await create(client, 'out', { 'max.message.bytes': '1000' }),
      await create(client, 'dlq'),
    ];
    const id = unique('app');
    const builder = new StreamsBuilder();
    builder.stream(input, strings).to(out, strings);
    await write(client, input, ['a', 'x'.repeat(5_000), 'c']);
    const streams = await start(builder.build(), {
      'application.id': id,
      'production.exception.handler': 'continue',
      'errors.dead.letter.queue.topic.name': dlq,
    });
    await until(async () => (await committed(client, id, input)) === 3n);
    expect(await valuesOf(client, out)).toEqual(['a', 'c']);
    expect(await valuesOf(client, dlq)).toEqual(['x'.repeat(5_000)]);
    expect(streams.state).toBe('RUNNING');
  });

  it('end an application by default, with nothing committed past the record', async () => {
    const client = open();
    const [input, out] = [await create(client, 'in'), await create(client, 'out')];
    const id = unique('app');
    const builder = new StreamsBuilder();
    builder
      .stream(input, strings)
      .filter(() => {
        throw new Error('no more');
      })
      .to(out, strings);
    await write(client, input, ['a']);
    const streams = await start(builder.build(), { 'application.id': id });
    await until(() => Promise.resolve(streams.state === 'ERROR'));
    expect(streams.failure).toMatchObject({ code: 'PROCESSING_FAILED' });
    expect(await committed(client, id, input)).toBe(0n);
  });
});
