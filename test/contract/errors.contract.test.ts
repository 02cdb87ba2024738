/** Exception handlers and dead letters, as an application with brokers has them. */
import {
  deadLetter,
  GroupProgress,
  readTopic,
  serdes,
  StreamsBuilder,
  TopicWriter,
  type KafkaStreams,
  type ReadRecord,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const WAIT_MS = 30_000;
const POLL_MS = 50;

describeOnBothBrokers('the errors of an application', (broker) => {
  const apps = applicationsOn(broker);

  async function create(
    prefix: string,
    config: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const topic = unique(prefix);
    await apps.createTopics([topic], 1, config);
    return topic;
  }

  async function write(topic: string, values: string[]): Promise<void> {
    const writer = await TopicWriter.open(apps.client, { topic, ...strings });
    values.forEach((value, i) => {
      writer.send(`k${String(i)}`, value, { timestamp: 1_000 + i });
    });
    await writer.close();
  }

  const start = (topology: Topology, config: StreamsConfigInput): Promise<KafkaStreams> =>
    apps.start(topology, { 'commit.interval.ms': 100, 'linger.ms': 0, ...config });

  async function until(isDone: () => Promise<boolean>): Promise<void> {
    const untilMs = Date.now() + WAIT_MS;
    while (!(await isDone()) && Date.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async function committed(group: string, topic: string): Promise<bigint> {
    const progress = new GroupProgress(apps.client, group);
    try {
      const partitions = await progress.of(topic);
      return partitions?.[0]?.committedOffset ?? 0n;
    } finally {
      await progress.close();
    }
  }

  async function recordsOf(topic: string): Promise<ReadRecord<string, string>[]> {
    const records: ReadRecord<string, string>[] = [];
    for await (const chunk of readTopic(apps.client, { topic, ...strings })) records.push(...chunk);
    return records;
  }

  const valuesOf = async (topic: string): Promise<string[]> =>
    (await recordsOf(topic)).map(({ value }) => String(value));

  it('commit past records that are skipped, even if there is nothing else (KAFKA-6502)', async () => {
    const [input, out] = [await create('in'), await create('out')];
    const id = unique('app');
    const builder = new StreamsBuilder();
    builder.stream(input, { key: serdes.string(), value: serdes.long() }).to(out, {
      key: serdes.string(),
      value: serdes.long(),
    });
    await write(
      input,
      Array.from({ length: 10 }, () => 'no long'),
    );
    const handler = 'deserialization.exception.handler';
    await start(builder.build(), { 'application.id': id, [handler]: 'continue' });
    await until(async () => (await committed(id, input)) === 10n);
    expect(await committed(id, input)).toBe(10n);
    expect(await valuesOf(out)).toEqual([]);
  });

  it('leave dead letters of what a function fails on, and of what a handler of the user chooses', async () => {
    const [input, out] = [await create('in'), await create('out')];
    const [dlq, own] = [await create('dlq'), await create('own')];
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
    await write(input, ['a', 'bad', 'c']);
    const first = await start(topology(), {
      'application.id': unique('app'),
      'processing.exception.handler': 'continue',
      'errors.dead.letter.queue.topic.name': dlq,
    });
    await until(async () => (await valuesOf(out)).length === 2);
    expect(await valuesOf(out)).toEqual(['A', 'C']);
    await first.close();
    const [letter] = await recordsOf(dlq);
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
    await until(async () => (await valuesOf(own)).length === 1);
    expect(await valuesOf(own)).toEqual(['bad']);
    expect(await valuesOf(dlq)).toEqual(['bad']);
  });

  it('let go a record that the broker refuses for its size, and deliver the rest', async () => {
    const input = await create('in');
    const [out, dlq] = [await create('out', { 'max.message.bytes': '1000' }), await create('dlq')];
    const id = unique('app');
    const builder = new StreamsBuilder();
    builder.stream(input, strings).to(out, strings);
    await write(input, ['a', 'x'.repeat(5_000), 'c']);
    const streams = await start(builder.build(), {
      'application.id': id,
      'production.exception.handler': 'continue',
      'errors.dead.letter.queue.topic.name': dlq,
    });
    await until(async () => (await committed(id, input)) === 3n);
    expect(await valuesOf(out)).toEqual(['a', 'c']);
    expect(await valuesOf(dlq)).toEqual(['x'.repeat(5_000)]);
    expect(streams.state).toBe('RUNNING');
  });

  it('end an application by default, with nothing committed past the record', async () => {
    const [input, out] = [await create('in'), await create('out')];
    const id = unique('app');
    const builder = new StreamsBuilder();
    builder
      .stream(input, strings)
      .filter(() => {
        throw new Error('no more');
      })
      .to(out, strings);
    await write(input, ['a']);
    const streams = await start(builder.build(), { 'application.id': id });
    await until(() => Promise.resolve(streams.state === 'ERROR'));
    expect(streams.failure).toMatchObject({ code: 'PROCESSING_FAILED' });
    expect(await committed(id, input)).toBe(0n);
  });
});
