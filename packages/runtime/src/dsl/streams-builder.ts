import { TopologyError } from '../errors.ts';
import type { ProcessorSupplier } from '../operators/processor-api.ts';
import { SourceTable } from '../operators/table-source.ts';
import type { Serde } from '../serdes/serde.ts';
import type { StoreBuilder } from '../state/store.ts';
import { buildTopology } from '../topology/build.ts';
import { Graph } from '../topology/graph.ts';
import { StateStoreNode, StreamSourceNode, TableSourceNode } from '../topology/graph-nodes.ts';
import { Naming, prefixes } from '../topology/naming.ts';
import type { TopologyOptimization } from '../topology/optimize.ts';
import { Topology, internalTopology } from '../topology/topology.ts';
import {
  addGlobalStore,
  addGlobalTable,
  type GlobalStoreOptions,
  type GlobalTableOptions,
} from './global-ktable.ts';
import { KGroupedStreamImpl } from './kgrouped-stream-impl.ts';
import { KGroupedTableImpl } from './kgrouped-table-impl.ts';
import { KStreamImpl } from './kstream-impl.ts';
import { KTableImpl } from './ktable-impl.ts';
import { materializedStore } from './materialized.ts';
import type { GlobalKTable, KStream, KTable } from './streams.ts';
import type { ConsumedOptions, MaterializedOptions } from './options.ts';
import { sourceOptions } from './source-options.ts';
import type { BuilderContext, DslFactory } from './stream-context.ts';

export interface StreamsBuilderOptions {
  /** For every key whose serde is neither named nor inherited. */
  readonly defaultKeySerde?: Serde<unknown> | undefined;
  readonly defaultValueSerde?: Serde<unknown> | undefined;
  /** `topology.optimization`; "none" by default. */
  readonly optimization?: TopologyOptimization | undefined;
}

/** What of the configuration counts when a topology is built. */
export interface BuildConfig {
  /** "none" (default), "all", or a comma-separated list of single optimisations. */
  readonly 'topology.optimization'?: TopologyOptimization | undefined;
  /** True: stores and internal topics without a name of their own are refused (KIP-1111). */
  readonly 'ensure.explicit.internal.resource.naming'?: boolean | undefined;
}

/** Options of `table()`: how its topic is read, and the store behind it. */
export type TableOptions<K, V> = ConsumedOptions<K, V> &
  Pick<
    MaterializedOptions<K, V>,
    'store' | 'logging' | 'caching' | 'type' | 'versioned' | 'supplier'
  >;

const make: DslFactory = {
  stream: (state) => new KStreamImpl(state),
  table: (state) => new KTableImpl(state),
  groupedStream: (state, name) => new KGroupedStreamImpl(state, name),
  groupedTable: (state) => new KGroupedTableImpl(state),
};

/** Where a topology begins: streams and tables of topics, and at the end `build()`. */
export class StreamsBuilder {
  readonly #options: StreamsBuilderOptions;
  readonly #topology: Topology;
  readonly #context: BuilderContext;
  #isBuilt = false;

  constructor(options: StreamsBuilderOptions = {}) {
    this.#options = options;
    this.#topology = new Topology({
      key: options.defaultKeySerde ?? null,
      value: options.defaultValueSerde ?? null,
    });
    this.#context = {
      naming: new Naming(),
      graph: new Graph(),
      topology: internalTopology(this.#topology),
      make,
    };
  }

  /**
   * The records of one or several topics, or of all topics whose whole name matches a pattern. Topics
   * that match and are created later are found within `metadata.max.age.ms`.
   */
  stream<K, V>(
    topics: string | readonly string[] | RegExp,
    options: ConsumedOptions<K, V> = {},
  ): KStream<K, V> {
    const { naming, graph } = this.#context;
    const name = naming.nodeName(options.name, prefixes.source);
    const node = new StreamSourceNode(name, sourceOptions(topics, options));
    graph.add(node, graph.root);
    return make.stream<K, V>({
      builder: this.#context,
      name,
      graphNode: node,
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      sources: new Set([name]),
      needsRepartition: false,
    });
  }

  /**
   * The latest value per key of a topic; a null value deletes. It is stored if it is given a store's
   * name, or if another operator reads it.
   */
  table<K, V>(topic: string, options: TableOptions<K, V> = {}): KTable<K, V> {
    const { naming, graph } = this.#context;
    const storeName = naming.storeName(options.store, `${topic}-`);
    const sourceName = naming.suffixedNodeName(options.name, '-source', prefixes.source);
    const name = naming.nodeName(options.name, prefixes.tableSource);
    const table = new SourceTable<K, V>(storeName, options.store !== undefined);
    const store = materializedStore<K, V>(storeName, null, null, options);
    const node = new TableSourceNode(
      name,
      sourceName,
      sourceOptions([topic], options),
      table,
      store,
    );
    node.isOutputVersioned = store.isVersioned ?? false;
    graph.add(node, graph.root);
    if (options.store === undefined) {
      this.#context.topology.generatedNames.store(storeName, store.isLogged);
    }
    return make.table<K, V>({
      builder: this.#context,
      name,
      graphNode: node,
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      sources: new Set([sourceName]),
      table,
      queryableStoreName: options.store ?? null,
    });
  }

  /**
   * A topic of which every instance of the application holds all, as the latest value per key; a null
   * value deletes. Only streams can join it, by any key. It has no changelog, for the topic is one.
   */
  globalTable<K, V>(topic: string, options: GlobalTableOptions<K, V> = {}): GlobalKTable<K, V> {
    return addGlobalTable(this.#context, topic, options);
  }

  /**
   * A store that every instance of the application fills with all of a topic, through a processor of
   * yours: it alone writes the store, and forwards nothing. While the store is restored the records
   * pass through it, too. Every processor can read the store without being connected to it.
   */
  addGlobalStore<K, V>(
    store: StoreBuilder,
    topic: string,
    options: GlobalStoreOptions<K, V>,
    supplier: ProcessorSupplier<K, V, never, never>,
  ): this {
    addGlobalStore(this.#context, store, topic, options, supplier);
    return this;
  }

  /**
   * Adds a store for processors that name it in the options of `process` or `processValues`. The same
   * builder may be added again. A store that nobody names is never opened.
   */
  addStateStore(store: StoreBuilder): this {
    const { graph } = this.#context;
    graph.add(new StateStoreNode(store), graph.root);
    return this;
  }

  /**
   * Makes the topology, once. Throws a TopologyError for what cannot work. As in Kafka Streams,
   * `topology.optimization` counts here: it changes what is built.
   */
  build(config: BuildConfig = {}): Topology {
    if (this.#isBuilt) {
      throw new TopologyError(
        'build() was called before: keep its result, or use a new StreamsBuilder.',
      );
    }
    this.#isBuilt = true;
    const { graph, topology, naming } = this.#context;
    const optimization = config['topology.optimization'] ?? this.#options.optimization ?? 'none';
    buildTopology(graph, topology, naming, optimization);
    if (config['ensure.explicit.internal.resource.naming'] === true) {
      topology.generatedNames.refuse();
    }
    return this.#topology;
  }
}
