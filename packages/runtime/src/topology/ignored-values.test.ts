import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { timeWindows } from '../dsl/time-windows.ts';
import type { Serde } from '../serdes/serde.ts';
import { serdes } from '../serdes/serdes.ts';
import { bindTopology } from './topology.ts';

const string = serdes.string();

function readsValues(
  add: (builder: StreamsBuilder) => unknown,
  skipsIgnoredValues = true,
): boolean {
  const builder = new StreamsBuilder();
  add(builder);
  const bound = bindTopology(builder.build(), { applicationId: 'app', skipsIgnoredValues });
  const serde = bound.instantiate(0, 0).sources.get('in')?.valueSerde;
  return serde?.read(Buffer.from('text'), 0, 4) === 'text';
}

const source = (builder: StreamsBuilder, value: Serde<string> = string) =>
  builder.stream('in', { key: string, value });

describe('values that no node looks at', () => {
  it('are not read where they are only counted', () => {
    expect(readsValues((builder) => source(builder).groupByKey().count())).toBe(false);
    expect(
      readsValues((builder) =>
        source(builder)
          .groupByKey()
          .windowedBy(timeWindows({ size: 5 }))
          .count(),
      ),
    ).toBe(false);
  });

  it.each<[string, (builder: StreamsBuilder) => unknown]>([
    [
      'another node looks at them',
      (b) => {
        source(b).groupByKey().count();
        source(b).to('out');
      },
    ],
    [
      'they are reduced',
      (b) =>
        source(b)
          .groupByKey()
          .reduce((a) => a),
    ],
    ['they are filtered before', (b) => source(b).filter(Boolean).groupByKey().count()],
    [
      'their bytes may be none of the type',
      (b) =>
        source(b, serdes.custom({ serialize: Buffer.from, deserialize: String }))
          .groupByKey()
          .count(),
    ],
    [
      'the timestamp may come from them',
      (b) =>
        b
          .stream('in', { key: string, value: string, timestampExtractor: () => 1 })
          .groupByKey()
          .count(),
    ],
  ])('are read if %s', (_why, add) => {
    expect(readsValues(add)).toBe(true);
  });

  it('are read if an exception handler may ask for them', () => {
    expect(readsValues((builder) => source(builder).groupByKey().count(), false)).toBe(true);
  });
});
