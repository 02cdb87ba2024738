import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { timeWindows } from '../dsl/time-windows.ts';
import { ConfigError, TopologyError } from '../errors.ts';
import { MergeOperator } from '../operators/merge.ts';
import { serdes } from '../serdes/serdes.ts';
import { keyValueStore } from '../state/store-builders.ts';
import { validName } from './naming.ts';
import { parseOptimization } from './optimize.ts';
import { bindTopology, Topology } from './topology.ts';

const text = { key: serdes.string(), value: serdes.string() };

it('shares the named repartition topic of a grouped stream among all its aggregations', () => {
  const builder = new StreamsBuilder();
  const grouped = builder
    .stream('clicks', text)
    .selectKey((_key, value) => value, { key: serdes.string() })
    .groupByKey({ name: 'by-word' });
  grouped.count({ store: 'all' });
  grouped.windowedBy(timeWindows({ size: '1m' })).count({ store: 'per-minute' });
  grouped.windowedBy(timeWindows({ size: '1h' })).count({ store: 'per-hour' });
  const { subtopologies } = bindTopology(builder.build(), {
    applicationId: 'app',
    changelogAdditionalRetentionMs: 0,
  });
  const reading = subtopologies.filter((each) => each.repartitionSourceTopics.length > 0);
  expect(reading).toHaveLength(1);
  expect(reading[0]?.changelogs.map(({ name }) => name).sort()).toEqual([
    'app-all-changelog',
    'app-per-hour-changelog',
    'app-per-minute-changelog',
  ]);
});

describe('a bound topology', () => {
  const builder = new StreamsBuilder();
  const table = builder.table('names', { ...text, store: 'names-store' });
  builder
    .stream('clicks', text)
    .join(table, (click, name) => `${click} ${name}`, { result: serdes.string() })
    .selectKey((_key, value) => value, { key: serdes.string() })
    .groupByKey()
    .windowedBy(timeWindows({ size: '1m', grace: '30s' }))
    .count({ store: 'per-minute', logging: { 'segment.bytes': '1000' } })
    .toStream()
    .to('counts');
  const bound = bindTopology(builder.build(), {
    applicationId: 'app',
    changelogAdditionalRetentionMs: 7,
  });

  it('has the subtopologies with full topic names, configs and copartitioned topics', () => {
    expect(bound.subtopologies).toEqual([
      {
        id: 0,
        sourceTopics: ['clicks', 'names'],
        repartitionSourceTopics: [],
        repartitionSinkTopics: ['app-per-minute-repartition'],
        changelogs: [
          {
            name: 'app-names-store-changelog',
            storeName: 'names-store',
            isSourceTopic: false,
            partitionCount: null,
            config: new Map([
              ['message.timestamp.type', 'CreateTime'],
              ['cleanup.policy', 'compact'],
            ]),
          },
        ],
        copartitionGroups: [['clicks', 'names']],
      },
      {
        id: 1,
        sourceTopics: ['app-per-minute-repartition'],
        repartitionSourceTopics: [
          {
            name: 'app-per-minute-repartition',
            partitionCount: null,
            config: new Map([
              ['message.timestamp.type', 'CreateTime'],
              ['cleanup.policy', 'delete'],
              ['segment.bytes', '52428800'],
              ['retention.ms', '-1'],
            ]),
          },
        ],
        repartitionSinkTopics: [],
        changelogs: [
          {
            name: 'app-per-minute-changelog',
            storeName: 'per-minute',
            isSourceTopic: false,
            partitionCount: null,
            config: new Map([
              ['message.timestamp.type', 'CreateTime'],
              ['cleanup.policy', 'compact,delete'],
              ['retention.ms', '90007'],
              ['segment.bytes', '1000'],
            ]),
          },
        ],
        copartitionGroups: [],
      },
    ]);
  });

  it('makes fresh nodes and stores for each task, parents before children', () => {
    const one = bound.instantiate(0, 0);
    const two = bound.instantiate(0, 1);
    expect([...one.sources.keys()]).toEqual(['names', 'clicks']);
    expect(one.stores.get('names-store')).not.toBe(two.stores.get('names-store'));
    const seen = new Set<unknown>();
    for (const node of one.nodes) {
      seen.add(node);
      expect(two.nodes).not.toContain(node);
      for (const child of node.children.nodes) expect(seen.has(child)).toBe(false);
    }
    expect(() => bound.instantiate(2, 0)).toThrow('no subtopology 2');
  });

  it('keeps offset resets by topic', () => {
    const resets = new StreamsBuilder();
    resets.stream('a', { ...text, offsetReset: 'latest' }).to('x');
    resets.table('b', { ...text, store: 'b' });
    const { offsetReset } = bindTopology(resets.build(), { applicationId: 'app' });
    expect([offsetReset('a'), offsetReset('b'), offsetReset('c')]).toEqual(['latest', null, null]);
  });
});

describe('what cannot work is an error when it is built', () => {
  function error(act: () => unknown): string {
    try {
      act();
    } catch (caught) {
      expect(caught).toBeInstanceOf(TopologyError);
      return (caught as Error).message;
    }
    throw new Error('nothing was thrown');
  }

  it('missing serdes, all in one error that names the nodes', () => {
    const builder = new StreamsBuilder();
    const stream = builder.stream<string, string>('in', { key: serdes.string() });
    stream.mapValues((value) => value.length).to('out', { name: 'lengths' });
    stream.groupBy((_key, value) => value).count({ store: 'counts' });
    const message = error(() => bindTopology(builder.build(), { applicationId: 'app' }));
    expect(message).toContain('The source KSTREAM-SOURCE-0000000000 has no value serde');
    expect(message).toContain('The sink lengths has no value serde');
    expect(message).toContain('The sink counts-repartition-sink has no key serde');
    expect(message).toContain('The store counts has no key serde');
    expect(message).toContain('defaultValueSerde');
  });

  it('no serde is missing with defaults, given to the builder or when bound', () => {
    const defaults = { defaultKeySerde: serdes.string(), defaultValueSerde: serdes.string() };
    const one = new StreamsBuilder(defaults);
    one.stream('in').to('out');
    expect(bindTopology(one.build(), { applicationId: 'app' }).subtopologies).toHaveLength(1);
    const two = new StreamsBuilder();
    two.stream('in').to('out');
    const bound = bindTopology(two.build(), { applicationId: 'app', ...defaults });
    expect(bound.instantiate(0, 0).sources.get('in')?.keySerde.name).toBe('string');
  });

  it.each<[string, string, (builder: StreamsBuilder) => unknown]>([
    [
      'a topic as stream and table',
      'already been registered',
      (builder) => {
        builder.table('in', { ...text, store: 's' });
        builder.stream('in', text).to('out');
      },
    ],
    [
      'topics shared in part',
      'not all their topics',
      (builder) => {
        builder.stream(['a', 'b'], text).to('x');
        builder.stream(['b', 'c'], text).to('y');
      },
    ],
    [
      'different resets on one topic',
      'different offset reset',
      (builder) => {
        builder.stream('a', { ...text, offsetReset: 'latest' }).to('x');
        builder.stream('a', text).to('y');
      },
    ],
    [
      'a name used twice',
      'named same is already added',
      (builder) => {
        builder
          .stream('a', text)
          .filter(() => true, { name: 'same' })
          .peek(() => 0, { name: 'same' });
      },
    ],
    [
      'a store name used twice',
      'store named s is already added',
      (builder) => {
        builder.table('a', { ...text, store: 's' });
        builder.table('b', { ...text, store: 's' });
      },
    ],
    ['an illegal name', 'is illegal', (builder) => builder.stream('a', { ...text, name: 'a b' })],
    ['no topic', 'at least one topic', (builder) => builder.stream([], text)],
    ['a window of size 0', 'at least 1 ms', () => timeWindows({ size: 0 })],
    ['an advance above the size', 'from 1 ms', () => timeWindows({ size: 5, advance: 6 })],
    ['a duration that is none', 'such as "5m"', () => timeWindows({ size: '5 minutes' })],
    [
      'a retention below size and grace',
      'at least',
      (builder) =>
        builder
          .stream('a', text)
          .groupByKey()
          .windowedBy(timeWindows({ size: 10, grace: 20 }))
          .count({ store: 'n', retention: 15 }),
    ],
    ['a second build', 'before', (builder) => builder.build()],
  ])('%s', (_name, part, act) => {
    const builder = new StreamsBuilder();
    const message = error(() => {
      act(builder);
      return builder.build();
    });
    expect(message).toContain(part);
  });
});

describe('names', () => {
  it.each(['a', 'A.b_c-9', 'x'.repeat(249)])('%s is legal', (name) => {
    expect(validName(name)).toBe(name);
  });

  it.each(['', '.', '..', 'a/b', 'ä', 'x'.repeat(250)])('"%s" is not', (name) => {
    expect(() => validName(name)).toThrow(TopologyError);
  });
});

describe('topology.optimization', () => {
  it('knows none, all and the single ones', () => {
    expect(parseOptimization('none').size).toBe(0);
    expect(parseOptimization('all').size).toBe(3);
    expect([...parseOptimization('reuse.ktable.source.topics, single.store.self.join')]).toEqual([
      'reuse.ktable.source.topics',
      'single.store.self.join',
    ]);
  });

  it.each(['best', '', 'all,none', 'all,single.store.self.join'])('refuses "%s"', (value) => {
    expect(() => parseOptimization(value)).toThrow(ConfigError);
  });
});

describe('a topology put together by hand', () => {
  const pass = (name: string): MergeOperator => new MergeOperator(name);

  it('is described and bound as one of the DSL', () => {
    const store = keyValueStore({ name: 's', ...text });
    const topology = new Topology()
      .addSource('in', ['a', 'b'], text)
      .addProcessor('p', pass, 'in')
      .addProcessor('q', pass, 'in')
      .addSink('out', 'x', text, 'p', 'q')
      .addStateStore(store, 'p')
      .connectProcessorAndStateStores('q', 's');
    expect(topology.describe().toString()).toBe(
      [
        'Topologies:',
        '   Sub-topology: 0',
        '    Source: in (topics: [a, b])',
        '      --> p, q',
        '    Processor: p (stores: [s])',
        '      --> out',
        '      <-- in',
        '    Processor: q (stores: [s])',
        '      --> out',
        '      <-- in',
        '    Sink: out (topic: x)',
        '      <-- p, q',
        '',
        '',
      ].join('\n'),
    );
    expect(bindTopology(topology, { applicationId: 'app' }).instantiate(0, 0).nodes).toHaveLength(
      4,
    );
  });

  it.each<[string, string, (topology: Topology) => unknown]>([
    ['an unknown parent', 'no such node', (t) => t.addProcessor('p', pass, 'nobody')],
    ['no parent', 'has no parent', (t) => t.addProcessor('p', pass)],
    [
      'a sink as parent',
      'cannot be the parent',
      (t) => t.addSink('out', 'x', text, 'in').addProcessor('p', pass, 'out'),
    ],
    [
      'a store at a source',
      'only processors',
      (t) => t.addStateStore(keyValueStore({ name: 's', ...text }), 'in'),
    ],
    [
      'an unknown store',
      'not added yet',
      (t) => t.addProcessor('p', pass, 'in').connectProcessorAndStateStores('p', 's'),
    ],
  ])('refuses %s', (_name, part, act) => {
    const topology = new Topology().addSource('in', 'a', text);
    expect(() => act(topology)).toThrow(part);
  });
});
