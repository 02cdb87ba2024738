import { describe, expect, it } from 'vitest';
import { TopologyError } from '../errors.ts';
import { serdes } from '../serdes/serdes.ts';
import { bindTopology } from '../topology/topology.ts';
import { StreamsBuilder } from './streams-builder.ts';
import type { KTable } from './streams.ts';
import { untilTimeLimit, untilWindowCloses } from './suppressed.ts';
import { timeWindows } from './time-windows.ts';

const string = serdes.string();

function counted(builder: StreamsBuilder) {
  return builder
    .stream('in', { key: string, value: string })
    .groupByKey()
    .windowedBy(timeWindows({ size: 10, grace: '5s' }))
    .count({ store: 'n' });
}

describe('suppress', () => {
  it('names node and store as Kafka Streams does; a given name uses up no index', () => {
    const builder = new StreamsBuilder();
    const table = builder.table('t', { key: string, value: string });
    table.suppress(untilTimeLimit(5)).toStream();
    table.suppress(untilTimeLimit(5, { name: 'lim' })).toStream();
    const text = builder.build().describe().toString();
    expect(text).toContain(
      'Processor: KTABLE-SUPPRESS-0000000003 (stores: [KTABLE-SUPPRESS-STATE-STORE-0000000004])\n' +
        '      --> KTABLE-TOSTREAM-0000000005',
    );
    expect(text).toContain(
      'Processor: lim (stores: [lim-store])\n      --> KTABLE-TOSTREAM-0000000006',
    );
    // What it needs: the old values of a table that nobody stored so far.
    expect(text).toContain(
      'Processor: KTABLE-SOURCE-0000000002 (stores: [t-STATE-STORE-0000000000])',
    );
  });

  it('has a compacted changelog of its own, or none', () => {
    const builder = new StreamsBuilder();
    const table = builder.table('t', { key: string, value: string });
    table.suppress(untilTimeLimit(5, { name: 'a', logging: { 'segment.ms': '1000' } }));
    table.suppress(untilTimeLimit(5, { name: 'b', logging: false }));
    const built = bindTopology(builder.build(), { applicationId: 'app' });
    const logs = built.subtopologies.flatMap(({ changelogs }) => changelogs);
    expect(logs.map(({ name }) => name)).toEqual([
      'app-t-STATE-STORE-0000000000-changelog',
      'app-a-store-changelog',
    ]);
    expect(Object.fromEntries(logs[1]?.config ?? [])).toEqual({
      'cleanup.policy': 'compact',
      'message.timestamp.type': 'CreateTime',
      'segment.ms': '1000',
    });
  });

  it('until windows close needs a windowed aggregation above', () => {
    const builder = new StreamsBuilder();
    const table = builder.table('t', { key: string, value: string });
    const asWindowed = table as unknown as ReturnType<typeof counted>;
    expect(() => asWindowed.suppress(untilWindowCloses())).toThrow(TopologyError);
    expect(() => asWindowed.suppress(untilWindowCloses())).toThrow(
      /after KTABLE-SOURCE-0000000002: window close time is only defined for windowed computations/,
    );
    const windowed = counted(builder);
    expect(() => windowed.suppress(untilWindowCloses()).suppress(untilTimeLimit(1))).not.toThrow();
  });

  it('refuses bounds and limits that are none', () => {
    expect(() => untilTimeLimit(5, { maxRecords: -1 })).toThrow('maxRecords of suppress is -1');
    expect(() => untilTimeLimit(5, { maxBytes: Number.NaN })).toThrow(
      'maxBytes of suppress is NaN',
    );
    expect(() => untilTimeLimit(-5)).toThrow('limit of suppress');
    expect(() => {
      new StreamsBuilder().table('t').suppress(untilTimeLimit(5, { name: 'a b' }));
    }).toThrow('The name "a b" is illegal');
  });

  it('is checked by types', () => {
    const builder = new StreamsBuilder();
    const plain: KTable<string, string> = builder.table<string, string>('t');
    const windowed = counted(builder);
    const counts: typeof windowed = windowed.suppress(untilWindowCloses({ maxRecords: 5 }));
    counts.suppress(untilTimeLimit('5s', { whenFull: 'shutDown' }));
    expect(() => {
      // @ts-expect-error a plain table has no windows
      plain.suppress(untilWindowCloses());
    }).toThrow(TopologyError);
    // @ts-expect-error a window has one result only
    untilWindowCloses({ whenFull: 'emitEarly' });
  });
});

describe('stream-table join with grace', () => {
  it('needs a versioned table', () => {
    const builder = new StreamsBuilder();
    const table = builder.table('t', { key: string, value: string, store: 't' });
    expect(() => {
      builder
        .stream('l', { key: string, value: string })
        .join(table, (left, right) => left + right, { grace: 10 });
      builder.build();
    }).toThrow(
      /The join KSTREAM-JOIN-0000000003 has a grace period, but its table is not versioned/,
    );
  });
});
