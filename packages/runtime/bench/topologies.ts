import { StreamsBuilder, serdes, timeWindows } from '../src/public-dsl.ts';
import type { Topology } from '../src/public-dsl.ts';

export const strings = { key: serdes.string(), value: serdes.string() };

export interface Topics {
  readonly input: string;
  readonly table: string;
  readonly output: string;
}

const WINDOW_MS = 10_000;

/** The new key in the case `rekey`: a hundred of them. */
export function groupOf(key: string): string {
  return `group-${key.charAt(key.length - 1)}${key.charAt(key.length - 2)}`;
}

/** The cases of the side-by-side benchmarks that this version has. */
export const topologies: Readonly<Record<string, (topics: Topics) => Topology>> = {
  map: ({ input, output }) => {
    const builder = new StreamsBuilder();
    builder
      .stream(input, strings)
      .mapValues((value) => value.toUpperCase(), { value: serdes.string() })
      .to(output, strings);
    return builder.build();
  },
  count: ({ input, output }) => {
    const builder = new StreamsBuilder();
    builder
      .stream(input, strings)
      .groupByKey()
      .count()
      .toStream()
      .mapValues(String, { value: serdes.string() })
      .to(output, strings);
    return builder.build();
  },
  window: ({ input, output }) => {
    const builder = new StreamsBuilder();
    builder
      .stream(input, strings)
      .groupByKey()
      .windowedBy(timeWindows({ size: WINDOW_MS }))
      .count()
      .toStream()
      .map((key, value) => [`${key.key}@${String(key.start)}`, String(value)], strings)
      .to(output, strings);
    return builder.build();
  },
  rekey: ({ input, output }) => {
    const builder = new StreamsBuilder();
    builder
      .stream(input, strings)
      .selectKey(groupOf)
      .groupByKey(strings)
      .count()
      .toStream()
      .mapValues(String, { value: serdes.string() })
      .to(output, strings);
    return builder.build();
  },
  join: ({ input, table, output }) => {
    const builder = new StreamsBuilder();
    const rows = builder.table(table, strings);
    builder
      .stream(input, strings)
      .join(rows, (left, right) => `${String(left.length)}:${String(right.length)}`)
      .to(output, strings);
    return builder.build();
  },
};
