import { TopologyError } from '../errors.ts';
import type { SourceOptions } from '../topology/graph-nodes.ts';
import type { ConsumedOptions } from './options.ts';

/** A source's topics or pattern, and how it reads them, as the graph has it. */
export function sourceOptions(
  topics: string | readonly string[] | RegExp,
  options: ConsumedOptions<unknown, unknown>,
): SourceOptions {
  const pattern = topics instanceof RegExp ? topics : null;
  const list = topics instanceof RegExp ? [] : typeof topics === 'string' ? [topics] : topics;
  if (pattern === null && list.length === 0) {
    throw new TopologyError('stream() needs at least one topic.');
  }
  return {
    topics: [...new Set(list)],
    pattern,
    keySerde: options.key ?? null,
    valueSerde: options.value ?? null,
    timestampExtractor: options.timestampExtractor ?? null,
    offsetReset: options.offsetReset ?? null,
  };
}
