/** Global tables, sources by pattern and source topics as changelogs, as an application sees them. */
import {
  byDuration,
  readTopic,
  serdes,
  StreamsBuilder,
  TopicWriter,
  type KafkaStreams,
  type RestoreProgress,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const WAIT_MS = 30_000;
const POLL_MS = 50;

type Pair = readonly [key: string, value: string | null];

describeOnBothBrokers('the sources of an application', (broker) => {
  const apps = applicationsOn(broker);

  async function write(topic: string, ...records: Pair[]): Promise<void> {
    const writer = await TopicWriter.open(apps.client, { topic, ...strings });
    for (const [key, value] of records) writer.send(key, value, { timestamp: Date.now() });
    await writer.close();
  }

  async function start(
    topology: Topology,
    applicationId: string,
    config: StreamsConfigInput = {},
  ): Promise<{ streams: KafkaStreams; restored: RestoreProgress[] }> {
    const streams = apps.create(topology, {
      'application.id': applicationId,
      'commit.interval.ms': 100,
      'linger.ms': 0,
      'state.dir': temporaryDirectory(),
      ...config,
    });
    const restored: RestoreProgress[] = [];
    streams.restore$.subscribe((progress) => {
      if (progress.kind === 'end') restored.push(progress);
    });
    await streams.start();
    return { streams, restored };
  }

  async function valuesOf(topic: string): Promise<string[]> {
    const values: string[] = [];
    for await (const chunk of readTopic(apps.client, { topic, ...strings })) {
      for (const { value } of chunk) values.push(String(value));
    }
    return values;
  }

  /** Reads the topic until it holds as many records; sorted. */
  async function output(topic: string, count: number): Promise<string[]> {
    const untilMs = Date.now() + WAIT_MS;
    for (;;) {
      const values = await valuesOf(topic);
      if (values.length >= count || Date.now() > untilMs) return values.sort();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  it('may be global tables: complete at the start, then kept up to date', async () => {
    const [customers, orders, out] = [unique('customers'), unique('orders'), unique('out')];
    await apps.createTopics([customers], 3);
    await apps.createTopics([orders], 2);
    await apps.createTopics([out], 1);
    const names = Array.from({ length: 200 }, (_, i): Pair => [
      `c${String(i)}`,
      `name${String(i)}`,
    ]);
    await write(customers, ...names, ['c0', null]);
    await write(orders, ...names.map(([key]): Pair => [`o-${key}`, key]));

    const builder = new StreamsBuilder();
    const table = builder.globalTable(customers, { ...strings, store: 'customers' });
    builder
      .stream(orders, strings)
      .leftJoin(
        table,
        (_order, customer) => customer,
        (customer, name) => `${customer}=${String(name)}`,
      )
      .to(out, strings);
    const id = unique('app');
    const { streams, restored } = await start(builder.build(), id);
    const expected = names.map(([key, name]) => `${key}=${key === 'c0' ? 'null' : String(name)}`);
    expect(await output(out, names.length)).toEqual(expected.sort());
    expect(restored.filter(({ topic }) => topic === customers)).toHaveLength(3);
    expect(restored.reduce((sum, { restoredRecords }) => sum + restoredRecords, 0)).toBe(201);

    await write(customers, ['late', 'Lea']);
    const applied = streams
      .metrics()
      .find(({ name, tags }) => name === 'process-total' && /Global/.test(tags['thread-id'] ?? ''));
    await expect.poll(() => applied?.value(), { timeout: WAIT_MS }).toBe(202);
    await write(orders, ['o', 'late']);
    expect(await output(out, names.length + 1)).toContain('late=Lea');
    expect(streams.state).toBe('RUNNING');
    const topics = await apps.client.admin().listTopics();
    expect(topics.filter((topic) => topic.startsWith(`${id}-`))).toEqual([]);
  }, 90_000);

  it('may be patterns: a topic that is created later is read, too', async () => {
    const [prefix, out] = [unique('pattern'), unique('out')];
    await apps.createTopics([`${prefix}-a`, out], 1);
    await write(`${prefix}-a`, ['k', 'a1']);
    const builder = new StreamsBuilder();
    builder.stream(new RegExp(`${prefix}-.*`), strings).to(out, strings);
    const { streams } = await start(builder.build(), unique('app'), { 'metadata.max.age.ms': 200 });
    expect(await output(out, 1)).toEqual(['a1']);
    await apps.createTopics([`${prefix}-b`], 2);
    await write(`${prefix}-b`, ['k', 'b1'], ['l', 'b2']);
    expect(await output(out, 3)).toEqual(['a1', 'b1', 'b2']);
    await write(`${prefix}-a`, ['k', 'a2']);
    expect(await output(out, 4)).toEqual(['a1', 'a2', 'b1', 'b2']);
    expect(streams.state).toBe('RUNNING');
  }, 90_000);

  it('may be changelogs of their tables: as far as they are committed', async () => {
    const [table, keys, out] = [unique('table'), unique('keys'), unique('out')];
    const application = unique('app');
    await apps.createTopics([table, keys, out], 1);
    await write(table, ['a', '1'], ['b', '2'], ['a', '3']);
    const topology = (): Topology => {
      const builder = new StreamsBuilder();
      const rows = builder.table(table, { ...strings, store: 'rows' });
      rows
        .toStream()
        .mapValues((value) => `row ${value}`, { value: strings.value })
        .to(out, strings);
      builder
        .stream(keys, strings)
        .join(rows, (left, right) => `${left}+${right}`)
        .to(out, strings);
      return builder.build({ 'topology.optimization': 'reuse.ktable.source.topics' });
    };
    const first = await start(topology(), application, { 'statestore.cache.max.bytes': 0 });
    expect(await output(out, 3)).toEqual(['row 1', 'row 2', 'row 3']);
    await first.streams.close();

    // Written while nobody runs: this is processed, not silently restored.
    await write(table, ['c', '4']);
    const second = await start(topology(), application, { 'statestore.cache.max.bytes': 0 });
    await expect.poll(() => second.streams.state, { timeout: WAIT_MS }).toBe('RUNNING');
    expect(await output(out, 4)).toEqual(['row 1', 'row 2', 'row 3', 'row 4']);
    expect(second.restored).toMatchObject([
      { topic: table, storeName: 'rows', endOffset: 3n, restoredRecords: 3 },
    ]);
    await write(keys, ['a', 'x'], ['b', 'y'], ['c', 'z']);
    expect(await output(out, 7)).toEqual(expect.arrayContaining(['x+3', 'y+2', 'z+4']) as unknown);
    const topics = await apps.client.admin().listTopics();
    expect(topics.filter((topic) => topic.startsWith(application))).toEqual([]);
  }, 90_000);

  it('begin where they are told, each by its own reset policy', async () => {
    const [early, late, recent, out] = ['early', 'late', 'recent', 'out'].map(unique) as [
      string,
      string,
      string,
      string,
    ];
    await apps.createTopics([early, late, recent, out], 1);
    for (const topic of [early, late]) await write(topic, ['k', `${topic} old`]);
    const writer = await TopicWriter.open(apps.client, { topic: recent, ...strings });
    writer.send('k', `${recent} too old`, { timestamp: Date.now() - 7_200_000 });
    writer.send('k', `${recent} young`, { timestamp: Date.now() - 60_000 });
    await writer.close();
    const builder = new StreamsBuilder();
    builder.stream(early, strings).to(out, strings);
    builder.stream(late, { ...strings, offsetReset: 'latest' }).to(out, strings);
    builder.stream(recent, { ...strings, offsetReset: byDuration('1h') }).to(out, strings);
    const { streams } = await start(builder.build(), unique('app'));
    await expect.poll(() => streams.state, { timeout: WAIT_MS }).toBe('RUNNING');
    for (const topic of [early, late, recent]) await write(topic, ['k', `${topic} new`]);
    expect(await output(out, 5)).toEqual(
      [`${early} new`, `${early} old`, `${late} new`, `${recent} new`, `${recent} young`].sort(),
    );
  }, 90_000);
});
