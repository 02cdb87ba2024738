import { serdes, type StreamsBuilder, type StreamsConfigInput } from '@millrace/runtime';
import { TopologyTestDriver, type TopologyTestDriverOptions } from '@millrace/runtime/testing';

export const texts = { key: serdes.string(), value: serdes.string() };
export const numbers = { key: serdes.string(), value: serdes.long() };

/** Every change is seen: without a record cache, as the reports have it. */
export function drive(
  builder: StreamsBuilder,
  config: StreamsConfigInput = {},
  options: TopologyTestDriverOptions = {},
): TopologyTestDriver {
  return new TopologyTestDriver(
    builder.build(),
    { 'statestore.cache.max.bytes': 0, ...config },
    { startTime: 0, ...options },
  );
}
