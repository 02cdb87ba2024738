import {
  serdes,
  StreamsBuilder,
  timeWindows,
  untilWindowCloses,
  type Topology,
} from '@millrace/runtime';

export const WINDOW_MS = 10_000;

const texts = { key: serdes.string(), value: serdes.string() };

/** The final count of each key and window of `in`, on `out`. */
export function finalCounts(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', texts)
    .groupByKey()
    .windowedBy(timeWindows({ size: WINDOW_MS }))
    .count({ store: 'counts' })
    .suppress(untilWindowCloses())
    .toStream()
    .map((window, count) => [window.key, String(count)] as const)
    .to('out', texts);
  return builder.build();
}

/** Short, so that the dead are missed soon. */
export const SESSION_MS = 6_000;
