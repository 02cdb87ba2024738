import { describe, expect, it } from 'vitest';
import { TopologyError } from '../errors.ts';
import { serdes } from '../serdes/serdes.ts';
import { TopologyTestDriver } from '../testing/topology-test-driver.ts';
import { bindTopology } from '../topology/topology.ts';
import { StreamsBuilder } from './streams-builder.ts';
import type { KTable } from './streams.ts';

const string = serdes.string();
const text = { key: string, value: string };

type Tables = readonly [KTable<string, string>, KTable<string, string>];

/** The nodes with their stores, and the sinks with their topics, of what `use` makes of two tables. */
function nodes(use: (...tables: Tables) => unknown): string[] {
  const builder = new StreamsBuilder({ defaultKeySerde: string, defaultValueSerde: string });
  use(builder.table('l', text), builder.table('r', text));
  const { subtopologies } = builder.build().describe();
  return subtopologies
    .flatMap((part) => part.nodes)
    .filter(({ name, kind }) => kind !== 'source' && !name.startsWith('KTABLE-SOURCE'))
    .map(({ name, stores, topics }) => [name, ...stores, ...topics].join(' '))
    .sort();
}

const both = (left: string | null, right: string | null): string =>
  `${String(left)}+${String(right)}`;

describe('names of table operators', () => {
  it('are generated in the order of the calls, stores before nodes', () => {
    expect(
      nodes((left) => {
        const grouped = left.groupBy((key, value) => [value, key]);
        grouped.count();
        grouped.reduce(both, both, { store: 'r1' });
      }),
    ).toEqual([
      'KSTREAM-SINK-0000000008 KTABLE-AGGREGATE-STATE-STORE-0000000007-repartition',
      'KSTREAM-SINK-0000000011 r1-repartition',
      'KTABLE-AGGREGATE-0000000010 KTABLE-AGGREGATE-STATE-STORE-0000000007',
      'KTABLE-REDUCE-0000000013 r1',
      'KTABLE-SELECT-0000000006',
    ]);
  });

  it('of a join are those of its sides and of its result', () => {
    expect(nodes((left, right) => left.leftJoin(right, both).toStream())).toEqual([
      'KTABLE-JOINOTHER-0000000008 l-STATE-STORE-0000000000',
      'KTABLE-JOINTHIS-0000000007 r-STATE-STORE-0000000003',
      'KTABLE-MERGE-0000000006',
      'KTABLE-TOSTREAM-0000000009',
    ]);
    expect(
      nodes((left, right) => left.join(right, both, { name: 'j', store: 's' }).toStream()),
    ).toEqual([
      'KTABLE-TOSTREAM-0000000009',
      'j s',
      'j-join-other l-STATE-STORE-0000000000',
      'j-join-this r-STATE-STORE-0000000003',
    ]);
  });

  it('use up their indexes if they are given', () => {
    expect(
      nodes((left) =>
        left
          .filter(() => true, { name: 'f' })
          .groupBy((key, value) => [key, value], { name: 'g' })
          .count({ name: 'c', store: 'n' })
          .toStream(),
      ),
    ).toEqual(['KTABLE-TOSTREAM-0000000011', 'c n', 'c-sink g-repartition', 'f', 'g']);
  });

  it("use up a store's index if anything is said of a store without a name", () => {
    const [silent] = nodes((left) => left.mapValues((value) => value));
    const [said] = nodes((left) => left.mapValues((value) => value, { value: string }));
    expect([silent, said]).toEqual(['KTABLE-MAPVALUES-0000000006', 'KTABLE-MAPVALUES-0000000007']);
  });

  it('store the result of a join if anything is said of its store, but not for a serde alone', () => {
    const merge = (options: object): string | undefined =>
      nodes((left, right) => left.join(right, both, options)).find((node) =>
        node.includes('MERGE'),
      );
    expect(merge({ value: string })).toBe(
      'KTABLE-MERGE-0000000007 KTABLE-MERGE-STATE-STORE-0000000006',
    );
    expect(merge({ result: string })).toBe('KTABLE-MERGE-0000000006');
  });
});

describe('queryableStoreName', () => {
  it('is the name that the user gave, or the generated one of a stored join', () => {
    const builder = new StreamsBuilder();
    const left = builder.table('l', { ...text, store: 'mine' });
    const right = builder.table('r', text);
    expect(left.queryableStoreName).toBe('mine');
    expect(right.queryableStoreName).toBeNull();
    expect(left.filter(() => true).queryableStoreName).toBeNull();
    expect(left.filter(() => true, { store: 'f' }).queryableStoreName).toBe('f');
    expect(left.join(right, both).queryableStoreName).toBeNull();
    expect(left.join(right, both, { value: string }).queryableStoreName).toMatch(
      /^KTABLE-MERGE-STATE-STORE-\d{10}$/,
    );
  });
});

describe('stores of tables', () => {
  function stores(use: (table: KTable<string, string>) => unknown): string[] {
    const builder = new StreamsBuilder({ defaultKeySerde: string, defaultValueSerde: string });
    use(builder.table('t', text));
    const bound = bindTopology(builder.build(), { applicationId: 'app' });
    return bound.subtopologies.flatMap((part) => part.changelogs.map(({ storeName }) => storeName));
  }

  it('are there only where somebody needs them', () => {
    expect(stores((table) => table.toStream())).toEqual([]);
    expect(stores((table) => table.filter(() => true).toStream())).toEqual([]);
    expect(stores((table) => table.filter(() => true, { store: 'f' }).toStream())).toEqual(['f']);
    // Grouping needs old values, which a stored filter has and a plain one has not.
    const grouped = (table: KTable<string, string>): unknown =>
      table.groupBy((key, value) => [value, key]).count({ store: 'n' });
    expect(stores((table) => grouped(table.filter(() => true)))).toEqual([
      't-STATE-STORE-0000000000',
      'n',
    ]);
    expect(stores((table) => grouped(table.filter(() => true, { store: 'f' })))).toEqual([
      'f',
      'n',
    ]);
    expect(stores((table) => grouped(table.toStream().toTable()))).toEqual([
      'KSTREAM-TOTABLE-STATE-STORE-0000000005',
      'n',
    ]);
  });

  it('inherit serdes where the options name none', () => {
    const builder = new StreamsBuilder();
    builder
      .table('t', { key: string, value: serdes.long() })
      .filter(() => true, { store: 'f' })
      .toStream()
      .toTable({ store: 's' });
    expect(() => bindTopology(builder.build(), { applicationId: 'app' })).not.toThrow();
  });
});

describe('tables', () => {
  it('must be copartitioned to be joined', () => {
    const builder = new StreamsBuilder();
    builder
      .table('l', text)
      .join(builder.table('r', text), both)
      .leftJoin(builder.stream('s', text).toTable(), both);
    const [part] = bindTopology(builder.build(), { applicationId: 'app' }).subtopologies;
    expect(part?.copartitionGroups).toEqual([
      ['l', 'r'],
      ['l', 'r', 's'],
    ]);
  });

  it('of a stream with new keys are repartitioned', () => {
    const builder = new StreamsBuilder();
    builder
      .stream('s', text)
      .selectKey((_key, value) => value, { key: string })
      .toTable({ name: 'latest' });
    const bound = bindTopology(builder.build(), { applicationId: 'app' });
    expect(bound.subtopologies.map((part) => part.sourceTopics)).toEqual([
      ['s'],
      ['app-latest-repartition'],
    ]);
  });

  it('refuse what comes of no builder', () => {
    const builder = new StreamsBuilder();
    const table = builder.table('t', text);
    expect(() => table.join({} as KTable<string, string>, both)).toThrow(TopologyError);
  });

  it('keep one aggregate per group over all partitions, as rows come, change and go', async () => {
    const builder = new StreamsBuilder();
    builder
      .table('flights', text)
      .groupBy(async (key, airport) => [airport, key], text)
      .aggregate(
        () => '',
        (_airport, flight, all) => [...all.split(' '), flight].sort().join(' ').trim(),
        (_airport, flight, all) =>
          all
            .split(' ')
            .filter((one) => one !== flight)
            .join(' '),
        { store: 'at', value: string },
      )
      .toStream()
      .to('at', { value: string });
    const config = { 'statestore.cache.max.bytes': 0 };
    const driver = new TopologyTestDriver(builder.build(), config, { partitions: 4 });
    const flights = driver.createInputTopic('flights', text);
    const at = driver.createOutputTopic('at', text);
    for (let i = 0; i < 8; i++) await flights.pipe(`f${String(i)}`, i % 2 === 0 ? 'AMS' : 'BER');
    await flights.pipe('f0', 'BER');
    await flights.pipe('f1', null);
    expect(at.readKeyValuesToMap()).toEqual(
      new Map([
        ['AMS', 'f2 f4 f6'],
        ['BER', 'f0 f3 f5 f7'],
      ]),
    );
    await driver.close();
  });
});
