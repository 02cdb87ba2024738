import type { Operation } from '../case.ts';
import { serdeOf } from '../codec.ts';
import { timestampExtractor } from '../extractors.ts';
import { call, options, type Interpretation, type Result } from './interpretation.ts';
import { materialized } from './stores.ts';

export function source(on: Interpretation, n: Operation): Result {
  const key = n.keySerde ?? on.defaults.key;
  const value = n.valueSerde ?? on.defaults.value;
  const topics = (n['topics'] ?? (n['topic'] === undefined ? [] : [n['topic']])) as string[];
  for (const topic of topics) on.inputTypes.set(topic, { key, value });
  const extractor = timestampExtractor(n['timestampExtractor']);
  const consumed = {
    name: n.name,
    key: serdeOf(n.keySerde),
    value: serdeOf(n.valueSerde),
    timestampExtractor: extractor === undefined ? undefined : on.user(extractor),
    offsetReset: n['reset'],
  };
  if (n.op === 'stream') {
    const { pattern } = n;
    const from = pattern === undefined ? topics : new RegExp(pattern as string);
    const ref = call(on.builder, 'stream', from, options(consumed));
    return { kind: 'stream', ref, key, value };
  }
  // As in Kafka Streams, the Consumed's serdes replace the Materialized's, unset ones included.
  const all = options({ ...materialized(n), ...consumed });
  const ref = call(on.builder, n.op, topics[0], all);
  return { kind: n.op as 'table' | 'globalTable', ref, key, value };
}
