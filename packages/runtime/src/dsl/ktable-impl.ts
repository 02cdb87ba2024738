import type { KeyValueMapper } from '../operators/map.ts';
import { ToStreamOperator } from '../operators/to-stream.ts';
import { OperatorNode } from '../topology/graph-nodes.ts';
import { prefixes } from '../topology/naming.ts';
import type { NamedOptions, ResultKeyOptions } from './options.ts';
import { suppressTable } from './suppress-table.ts';
import type { Suppressed } from './suppressed.ts';
import { rememberTable, type TableState } from './stream-context.ts';
import type { KStream, KTable } from './streams.ts';

/** See `KTable`. */
export class KTableImpl<K, V> implements KTable<K, V> {
  readonly #state: TableState<K, V>;

  constructor(state: TableState<K, V>) {
    this.#state = state;
    rememberTable(this, state);
  }

  get queryableStoreName(): string | null {
    return this.#state.queryableStoreName;
  }

  toStream(options?: NamedOptions): KStream<K, V>;
  toStream<KR>(mapper: KeyValueMapper<K, V, KR>, options?: ResultKeyOptions<KR>): KStream<KR, V>;
  toStream<KR>(
    first?: NamedOptions | KeyValueMapper<K, V, KR>,
    second: ResultKeyOptions<KR> = {},
  ): KStream<K, V> | KStream<KR, V> {
    if (typeof first === 'function') {
      return this.#toStream(second).selectKey(
        first as KeyValueMapper<K, V, KR>,
        second.key === undefined ? {} : { key: second.key },
      );
    }
    return this.#toStream(first ?? {});
  }

  suppress(suppressed: Suppressed<K>): KTable<K, V> {
    return suppressTable(this.#state, suppressed);
  }

  #toStream(options: NamedOptions): KStream<K, V> {
    const { builder, graphNode, keySerde, valueSerde, sources } = this.#state;
    const name = builder.naming.nodeName(options.name, prefixes.toStream);
    const node = new OperatorNode(name, (nodeName) => new ToStreamOperator(nodeName));
    builder.graph.add(node, graphNode);
    return builder.make.stream<K, V>({
      builder,
      name,
      graphNode: node,
      keySerde,
      valueSerde,
      sources,
      needsRepartition: false,
    });
  }
}
