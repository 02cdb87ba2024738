import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { byDuration } from '../dsl/offset-reset.ts';
import { MisconfiguredTopicError, TopologyError } from '../errors.ts';
import { serdes } from '../serdes/serdes.ts';
import { keyValueStore } from '../state/store-builders.ts';
import { bindTopology, Topology } from './topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const nothing = (): { process(): void } => ({ process: () => undefined });

describe('sources by pattern', () => {
  it('become one source if they are written alike', () => {
    const builder = new StreamsBuilder();
    builder.stream(/in-.*/, strings).to('a');
    builder.stream(/in-.*/, strings).to('b');
    const text = builder.build().describe().toString();
    expect(text.match(/Source:/g)).toHaveLength(1);
    expect(text).toContain('(topics: in-.*)');
  });

  it('must agree on the offset reset then', () => {
    const builder = new StreamsBuilder();
    builder.stream(/in/, { ...strings, offsetReset: byDuration('1h') });
    builder.stream(/in/, { ...strings, offsetReset: byDuration('2h') });
    expect(() => builder.build()).toThrow(/different offset reset policies/);
    const other = new StreamsBuilder();
    other.stream(/in/, { ...strings, offsetReset: byDuration('1h') });
    other.stream(/in/, { ...strings, offsetReset: byDuration(3_600_000) });
    other.build();
  });

  it.each([
    ['before', ['in-1', /in-.*/] as const],
    ['after', [/in-.*/, 'in-1'] as const],
  ])('must not match a topic that another source reads, named %s', (_when, sources) => {
    const builder = new StreamsBuilder();
    for (const source of sources) builder.stream(source, strings);
    expect(() => builder.build()).toThrow(TopologyError);
    expect(() => new Topology().addSource('a', sources[0]).addSource('b', sources[1])).toThrow(
      /in-1/,
    );
  });

  it('match whole names, and never topics of the application itself', () => {
    const builder = new StreamsBuilder();
    builder
      .stream(/.*a|b/, strings)
      .groupBy((_key, value) => value, strings)
      .count({ store: 'a' })
      .toStream()
      .to('out');
    const built = bindTopology(builder.build(), { applicationId: 'app' });
    expect(built.subtopologies[0]?.sourceTopics).toEqual([]);
    const topics = ['xa', 'ax', 'b', 'bb', 'app-a-changelog', 'app-a-repartition', 'app-a'];
    const matched = built.matching(topics);
    expect(matched.subtopologies[0]?.sourceTopics).toEqual(['app-a', 'b', 'xa']);
    expect(matched.instantiate(0, 0).sources.size).toBe(3);
    expect(matched.matching(topics)).toBe(matched);
    expect(built.matching([])).toBe(built);
  });

  it('must exclude each other', () => {
    const topology = new Topology(strings).addSource('a', /in-a.*/).addSource('b', /in-.b/);
    const built = bindTopology(topology, { applicationId: 'app' });
    expect(() => built.matching(['in-ab'])).toThrow(MisconfiguredTopicError);
    expect(() => built.matching(['in-ab'])).toThrow(/in-a\.\* \(a\) and in-\.b \(b\)/);
  });
});

describe('global stores', () => {
  const store = keyValueStore({ name: 'g', ...strings, logging: false });

  it('belong to no subtopology, but take an id', () => {
    const builder = new StreamsBuilder();
    builder.globalTable('first', { ...strings, store: 'table' });
    builder.stream('in', strings).to('out');
    builder.addGlobalStore(store, 'second', strings, nothing);
    const topology = builder.build();
    const built = bindTopology(topology, { applicationId: 'app' });
    expect(built.subtopologies.map(({ id }) => id)).toEqual([1]);
    expect([...(built.global?.storeOfTopic ?? [])]).toEqual([
      ['first', 'table'],
      ['second', 'g'],
    ]);
    expect([...(built.global?.instantiate().stores.keys() ?? [])]).toEqual(['table', 'g']);
    expect(() => built.instantiate(0, 0)).toThrow(/no subtopology 0/);
    const text = topology.describe().toString();
    expect(text.match(/Sub-topology: \d.*/g)).toEqual([
      'Sub-topology: 0 for global store (will not generate tasks)',
      'Sub-topology: 1',
      'Sub-topology: 2 for global store (will not generate tasks)',
    ]);
  });

  it('have a topic of their own, and need not be connected', () => {
    const builder = new StreamsBuilder();
    builder.globalTable('in', strings);
    builder.stream('in', strings);
    expect(() => builder.build()).toThrow(/in has already been registered/);
    const topology = new Topology(strings)
      .addGlobalStore(store, 'source', 'topic', 'filler', nothing)
      .addSource('s', 'other')
      .addProcessor('p', nothing, 's');
    expect(() => topology.connectProcessorAndStateStores('p', 'g')).toThrow(/global store g/);
  });

  it('have no changelog, no history and no stores beside them', () => {
    const logged = keyValueStore({ name: 'g', ...strings });
    expect(() => new Topology().addGlobalStore(logged, 's', 't', 'p', nothing)).toThrow(
      /logging: false/,
    );
    const supplier = { get: nothing, stores: () => [logged] };
    expect(() => new Topology().addGlobalStore(store, 's', 't', 'p', supplier)).toThrow(/brings/);
    const builder = new StreamsBuilder();
    expect(() => builder.addGlobalStore(store, 't', strings, supplier)).toThrow(/brings/);
  });
});

describe('topology.optimization', () => {
  function build(optimization: string): Topology {
    const builder = new StreamsBuilder();
    const table = builder.table('rows', { ...strings, store: 'rows' });
    const rekeyed = builder.stream('in', strings).selectKey((_key, value) => value, strings);
    rekeyed.groupByKey(strings).count({ store: 'a' });
    rekeyed.groupByKey(strings).count({ store: 'b' });
    rekeyed.join(table, (left) => left).to('out', strings);
    return builder.build({ 'topology.optimization': optimization });
  }

  it('is none by default: a changelog for each store, a repartition topic for each use', () => {
    const built = bindTopology(build('none'), { applicationId: 'app' });
    const topics = built.subtopologies.flatMap((s) => s.repartitionSourceTopics);
    expect(topics).toHaveLength(3);
    const changelogs = built.subtopologies.flatMap((s) => s.changelogs);
    expect(changelogs.filter(({ isSourceTopic }) => isSourceTopic)).toEqual([]);
  });

  it('may make one repartition topic of all that one change of keys needs', () => {
    const built = bindTopology(build('merge.repartition.topics'), { applicationId: 'app' });
    const topics = built.subtopologies.flatMap((s) => s.repartitionSourceTopics);
    expect(topics.map(({ name }) => name)).toEqual(['app-a-repartition']);
    expect(built.subtopologies.flatMap((s) => s.copartitionGroups)).toEqual([
      ['app-a-repartition', 'rows'],
    ]);
  });

  it('says so where repartition topics cannot be merged, as in Kafka Streams', () => {
    const builder = new StreamsBuilder();
    const passed = builder
      .stream('in', strings)
      .selectKey((_key, value) => value, strings)
      .filter(() => true);
    passed.groupByKey(strings).count();
    passed.groupByKey(strings).count();
    expect(() => builder.build({ 'topology.optimization': 'all' })).toThrow(/cannot be merged/);
  });

  it("may make a table's topic its changelog", () => {
    const built = bindTopology(build('reuse.ktable.source.topics'), { applicationId: 'app' });
    const changelogs = built.subtopologies.flatMap((s) => s.changelogs);
    expect(changelogs.find(({ storeName }) => storeName === 'rows')).toMatchObject({
      name: 'rows',
      isSourceTopic: true,
    });
  });
});
