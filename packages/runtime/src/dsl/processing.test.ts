import { describe, expect, expectTypeOf, it } from 'vitest';
import { TopologyError } from '../errors.ts';
import type { Processor, ProcessorContext } from '../operators/processor-api.ts';
import { serdes } from '../serdes/serdes.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import { stores } from '../state/stores.ts';
import { TopologyTestDriver } from '../testing/topology-test-driver.ts';
import { bindTopology, Topology } from '../topology/topology.ts';
import { StreamsBuilder } from './streams-builder.ts';
import type { KStream } from './streams.ts';

const texts = { key: serdes.string(), value: serdes.string() };
const applicationId = 'app';

const store = () => stores.keyValue<string, string>({ name: 'st', ...texts });

/** Puts every record into the store `st`, and says what was there before. */
class Replace implements Processor<string, string> {
  #context: ProcessorContext<string, string> | null = null;
  #store: KeyValueStore<string, string> | null = null;

  init(context: ProcessorContext<string, string>): void {
    this.#context = context;
    this.#store = context.getStateStore(store());
  }

  process(record: Parameters<Processor<string, string>['process']>[0]): unknown {
    const before = this.#store?.get(record.key) ?? 'nothing';
    this.#store?.put(record.key, record.value, record.timestamp);
    return this.#context?.forward(record.withValue(`${before} before`));
  }
}

async function pipe(topology: Topology, ...values: string[]): Promise<string[]> {
  const driver = new TopologyTestDriver(topology);
  const input = driver.createInputTopic('in', texts);
  for (const value of values) await input.pipe('k', value);
  const found = driver
    .producedTopicNames()
    .filter((topic) => !topic.startsWith('test-'))
    .flatMap((topic) =>
      driver
        .createOutputTopic(topic, texts)
        .readKeyValues()
        .map(([key, value]) => `${topic} ${String(key)}=${String(value)}`),
    );
  await driver.close();
  return found;
}

describe('split', () => {
  it('gives the branches by name, as whatever stream their function makes of them', async () => {
    const builder = new StreamsBuilder();
    const branches = builder
      .stream('in', texts)
      .split({ name: 'by-' })
      .branch((_key, value) => value.startsWith('x'), { name: 'x' })
      .branch((_key, value) => value.startsWith('n'), {
        name: 'lengths',
        use: (branch) => branch.mapValues((value) => String(value.length), { value: texts.value }),
      })
      .branch((_key, value) => value.startsWith('y'), {
        name: 'y',
        use: (branch) => {
          branch.to('ys');
        },
      })
      .defaultBranch({ name: 'rest' });
    expect(Object.keys(branches)).toEqual(['by-x', 'by-lengths', 'by-rest']);
    expectTypeOf(branches['by-x']).toEqualTypeOf<KStream<string, string>>();
    // @ts-expect-error -- its function returns nothing
    expect(branches['by-y']).toBeUndefined();
    branches['by-x'].to('xs');
    branches['by-lengths'].to('lengths');
    branches['by-rest'].to('rests');
    const found = await pipe(builder.build(), 'xy', 'nnn', 'y', 'z');
    expect(found).toEqual(['lengths k=3', 'rests k=z', 'xs k=xy', 'ys k=y']);
  });

  it('numbers branches without a name', () => {
    const builder = new StreamsBuilder();
    const split = builder.stream('in', texts).split();
    const branches = split.branch(() => true).noDefaultBranch();
    expectTypeOf(branches).toExtend<Readonly<Record<string, KStream<string, string>>>>();
    expect(Object.keys(branches)).toEqual(['KSTREAM-BRANCH-00000000011']);
  });

  it('refuses two branches of one name', () => {
    const builder = new StreamsBuilder();
    const split = builder.stream('in', texts).split({ name: 's-' });
    split.branch(() => true, { name: 'a' }).branch(() => true, { name: 'a' });
    expect(() => builder.build()).toThrow(/s-a is already added/u);
  });
});

describe('repartition', () => {
  it('takes name, partitions and partitioner', () => {
    const builder = new StreamsBuilder();
    builder
      .stream('in', texts)
      .repartition({ name: 'mine', partitions: 7, partitioner: () => 3 })
      .to('out');
    const built = bindTopology(builder.build(), { applicationId });
    expect(built.subtopologies.flatMap((part) => part.repartitionSourceTopics)).toMatchObject([
      { name: 'app-mine-repartition', partitionCount: 7 },
    ]);
  });

  it.each([-1, 1.5, Number.NaN])('refuses %d partitions', (partitions) => {
    const stream = new StreamsBuilder().stream('in', texts);
    expect(() => stream.repartition({ partitions })).toThrow(TopologyError);
  });
});

describe('process', () => {
  it('uses stores that were added, or named with a builder, or brought by the supplier', async () => {
    const topologies = [
      (builder: StreamsBuilder) => {
        builder.addStateStore(store());
        return builder.stream('in', texts).process(() => new Replace(), { stores: ['st'] });
      },
      (builder: StreamsBuilder) =>
        builder.stream('in', texts).process(() => new Replace(), { stores: [store()] }),
      (builder: StreamsBuilder) =>
        builder
          .stream('in', texts)
          .process({ get: () => new Replace(), stores: () => [store()] }, { name: 'mine' }),
    ];
    for (const make of topologies) {
      const builder = new StreamsBuilder();
      make(builder).to('out', texts);
      expect(await pipe(builder.build(), '1', '2')).toEqual([
        'out k=nothing before',
        'out k=1 before',
      ]);
    }
  });

  it('refuses a store that nobody added, and another one of the same name', () => {
    const unknown = new StreamsBuilder();
    unknown.stream('in', texts).process(() => new Replace(), { stores: ['st'] });
    expect(() => unknown.build()).toThrow(/st, which is not added yet/u);
    const twice = new StreamsBuilder();
    const one = store();
    twice.addStateStore(one).addStateStore(one).addStateStore(store());
    expect(() => twice.build()).toThrow(/store named st is already added/u);
  });

  it('leaves out a store that nobody uses', () => {
    const builder = new StreamsBuilder();
    builder.addStateStore(store());
    builder.stream('in', texts).to('out');
    const built = bindTopology(builder.build(), { applicationId });
    expect(built.subtopologies.map((part) => part.changelogs)).toEqual([[]]);
    expect(built.instantiate(0, 0).stores.size).toBe(0);
  });

  it('refuses a supplier that gives one processor to all tasks, or none', () => {
    const stream = new StreamsBuilder().stream('in', texts);
    const shared = new Replace();
    expect(() => stream.process(() => shared)).toThrow(/same processor twice/u);
    expect(() => stream.process(() => ({}) as never)).toThrow(/no processor/u);
    expect(() => stream.processValues(() => null as never)).toThrow(/no processor/u);
  });

  it('is repartitioned for what follows, and processValues is not', () => {
    const builder = new StreamsBuilder();
    const stream = builder.stream('in', texts);
    stream
      .process(() => new Replace(), { stores: [store()], ...texts })
      .groupByKey()
      .count({ store: 'one' });
    stream
      .processValues(() => ({ process: () => undefined }), { value: texts.value })
      .groupByKey()
      .count({ store: 'two' });
    const built = bindTopology(builder.build(), { applicationId });
    const topics = built.subtopologies.flatMap((part) => part.repartitionSourceTopics);
    expect(topics.map(({ name }) => name)).toEqual(['app-one-repartition']);
  });
});

describe('a topology put together by hand', () => {
  it('takes suppliers with their stores, and sinks that choose topics', async () => {
    const topology = new Topology()
      .addSource('source', 'in', texts)
      .addProcessor<string, string>(
        'replace',
        { get: () => new Replace(), stores: () => [store()] },
        'source',
      )
      .addSink(
        'sink',
        (_key: string, value: string) => `to-${value.slice(0, 1)}`,
        texts,
        'replace',
      );
    expect(await pipe(topology, '1', '2')).toEqual(['to-1 k=1 before', 'to-n k=nothing before']);
    expect(topology.describe().toString()).toContain('Sink: sink (extractor class: ');
  });
});

describe('generated names', () => {
  const explicit = { 'ensure.explicit.internal.resource.naming': true };

  function counted(store?: string, name?: string): StreamsBuilder {
    const builder = new StreamsBuilder();
    builder
      .stream('in', texts)
      .selectKey((_key, value) => value, { key: texts.key })
      .groupByKey({ name })
      .count({ store });
    return builder;
  }

  it('are refused on demand, when the topology is built or run', () => {
    const found =
      'Following changelog topic(s) has not been named: KSTREAM-AGGREGATE-STATE-STORE-0000000002-changelog\n' +
      'Following state store(s) has not been named: KSTREAM-AGGREGATE-STATE-STORE-0000000002\n' +
      'Following repartition topic(s) has not been named: KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition\n';
    expect(() => counted().build(explicit)).toThrow(found);
    const topology = counted().build();
    expect(() => bindTopology(topology, { applicationId, ensureExplicitNames: true })).toThrow(
      found,
    );
    expect(() => new TopologyTestDriver(counted().build(), explicit)).toThrow(TopologyError);
  });

  it('are none where the store has one, whose name the repartition topic takes', () => {
    expect(() => counted('counts').build(explicit)).not.toThrow();
    expect(() => counted(undefined, 'by-value').build(explicit)).toThrow(/state store/u);
  });
});
