import type { StreamPartitioner } from '../operators/record-collector.ts';
import { TopologyError } from '../errors.ts';
import { FilterOperator } from '../operators/filter.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import { SourceTable, TableSourceOperator } from '../operators/table-source.ts';
import type { TopicNameExtractor } from '../operators/topic-name-extractor.ts';
import type { StoreBuilder } from '../state/store.ts';
import type { OffsetReset, TimestampExtractor } from './built-topology.ts';
import { isSameReset } from './offset-reset.ts';
import { GraphNode } from './graph.ts';
import type { InternalTopology, OptionalSerde } from './internal-topology.ts';
import type { RepartitionNames } from './naming.ts';

export interface SourceOptions {
  /** Empty with a pattern. */
  readonly topics: readonly string[];
  readonly pattern: RegExp | null;
  readonly keySerde: OptionalSerde;
  readonly valueSerde: OptionalSerde;
  readonly timestampExtractor: TimestampExtractor | null;
  readonly offsetReset: OffsetReset | null;
}

export class StreamSourceNode extends GraphNode {
  readonly options: SourceOptions;

  constructor(name: string, options: SourceOptions) {
    super(name);
    this.options = options;
  }

  /** Takes over the children of another source of the same topics. */
  merge(other: StreamSourceNode): void {
    if (!isSameReset(this.options.offsetReset, other.options.offsetReset)) {
      const { topics, pattern } = this.options;
      throw new TopologyError(
        `The sources ${this.name} and ${other.name} read the same topics (${pattern?.source ?? topics.join(', ')}) with ` +
          'different offset reset policies: give both the same.',
      );
    }
    for (const child of [...other.children]) {
      other.removeChild(child);
      this.addChild(child);
    }
  }

  override writeTo(topology: InternalTopology): void {
    topology.addSource({ kind: 'source', name: this.name, ...this.options });
  }
}

export class TableSourceNode extends GraphNode {
  readonly #sourceName: string;
  readonly #options: SourceOptions;
  readonly #table: SourceTable<unknown, unknown>;
  readonly #store: StoreBuilder;
  /** `reuse.ktable.source.topics`: the topic is the store's changelog. */
  reusesSourceTopic = false;

  constructor(
    name: string,
    sourceName: string,
    options: SourceOptions,
    table: SourceTable<unknown, unknown>,
    store: StoreBuilder,
  ) {
    super(name);
    this.#sourceName = sourceName;
    this.#options = options;
    this.#table = table;
    this.#store = store;
  }

  override writeTo(topology: InternalTopology): void {
    topology.addSource({ kind: 'source', name: this.#sourceName, ...this.#options });
    const table = this.#table;
    topology.addProcessor(this.name, (name) => new TableSourceOperator(name, table), [
      this.#sourceName,
    ]);
    // Only now it is known whether anybody reads the table.
    const changelog = this.reusesSourceTopic ? (this.#options.topics[0] as string) : null;
    if (table.isMaterialized) topology.addStore(this.#store, [this.name], changelog);
  }
}

export interface OperatorOptions {
  readonly changesKey?: boolean;
  readonly changesValue?: boolean;
  readonly keepsNullKeys?: boolean;
  readonly isMerge?: boolean;
  /** Of a windowed aggregation, ms. */
  readonly graceMs?: number | undefined;
  /** Stores that this operator brings with it. */
  readonly stores?: readonly StoreBuilder[];
  /** Names of other operators' stores that it reads. */
  readonly readsStores?: readonly string[];
  /** Called if a parent gives the changes of a versioned table. */
  readonly onVersionedParent?: () => void;
}

/** Any operator that is one node of the topology, with or without stores. */
export class OperatorNode extends GraphNode {
  override readonly changesKey: boolean;
  override readonly changesValue: boolean;
  override readonly keepsNullKeys: boolean;
  override readonly isMerge: boolean;
  override readonly graceMs: number | null;
  readonly #create: (name: string) => ProcessorNode;
  readonly #options: OperatorOptions;

  constructor(
    name: string,
    create: (name: string) => ProcessorNode,
    options: OperatorOptions = {},
  ) {
    super(name);
    this.#create = create;
    this.#options = options;
    this.changesKey = options.changesKey ?? false;
    this.changesValue = options.changesValue ?? false;
    this.keepsNullKeys = options.keepsNullKeys ?? false;
    this.isMerge = options.isMerge ?? false;
    this.graceMs = options.graceMs ?? null;
  }

  override onVersionedParent(): void {
    this.#options.onVersionedParent?.();
  }

  override writeTo(topology: InternalTopology): void {
    topology.addProcessor(this.name, this.#create, this.parentNames());
    for (const store of this.#options.stores ?? []) topology.addStore(store, [this.name]);
    topology.connectStores([this.name], this.#options.readsStores ?? []);
  }
}

/** A store that was added by itself; whether somebody uses it shows later. */
export class StateStoreNode extends GraphNode {
  readonly #store: StoreBuilder;

  constructor(store: StoreBuilder) {
    super(store.name);
    this.#store = store;
  }

  override writeTo(topology: InternalTopology): void {
    topology.addStore(this.#store, []);
  }
}

export class SinkNode extends GraphNode {
  readonly #topic: string | TopicNameExtractor<never, never>;
  readonly #keySerde: OptionalSerde;
  readonly #valueSerde: OptionalSerde;
  readonly #partitioner: StreamPartitioner<never, never> | null;

  constructor(
    name: string,
    topic: string | TopicNameExtractor<never, never>,
    keySerde: OptionalSerde,
    valueSerde: OptionalSerde,
    partitioner: StreamPartitioner<never, never> | null,
  ) {
    super(name);
    this.#topic = topic;
    this.#keySerde = keySerde;
    this.#valueSerde = valueSerde;
    this.#partitioner = partitioner;
  }

  override writeTo(topology: InternalTopology): void {
    topology.addSink({
      kind: 'sink',
      name: this.name,
      predecessors: this.parentNames(),
      topic: this.#topic,
      keySerde: this.#keySerde,
      valueSerde: this.#valueSerde,
      partitioner: this.#partitioner,
    });
  }
}

/**
 * Filter, sink, internal topic and source in one: what a stream with changed keys passes through
 * before an operator that needs equal keys in one partition. The graph node bears the source's name.
 */
export class RepartitionNode extends GraphNode {
  readonly names: RepartitionNames;
  readonly keySerde: OptionalSerde;
  readonly valueSerde: OptionalSerde;
  readonly partitionCount: number | null;
  readonly partitioner: StreamPartitioner<never, never> | null;
  override readonly isMergeable: boolean;
  /** Records without a key go no further; set while the graph is rewritten, as joins below may keep them. */
  dropsNullKeys = false;

  constructor(
    names: RepartitionNames,
    keySerde: OptionalSerde,
    valueSerde: OptionalSerde,
    partitionCount: number | null = null,
    isMergeable = false,
    partitioner: StreamPartitioner<never, never> | null = null,
  ) {
    super(names.source);
    this.isMergeable = isMergeable;
    this.partitioner = partitioner;
    this.names = names;
    this.keySerde = keySerde;
    this.valueSerde = valueSerde;
    this.partitionCount = partitionCount;
  }

  override writeTo(topology: InternalTopology): void {
    const { topic, filter, sink, source } = this.names;
    const { keySerde, valueSerde, partitioner } = this;
    const predicate = this.dropsNullKeys ? hasKey : always;
    topology.addInternalTopic(topic, this.partitionCount);
    topology.addProcessor(
      filter,
      (name) => new FilterOperator(name, predicate, false),
      this.parentNames(),
    );
    topology.addSink({
      kind: 'sink',
      name: sink,
      predecessors: [filter],
      topic,
      keySerde,
      valueSerde,
      partitioner,
    });
    topology.addSource({
      kind: 'source',
      name: source,
      topics: [topic],
      keySerde,
      valueSerde,
      timestampExtractor: null,
      offsetReset: null,
    });
  }
}

function hasKey(key: unknown): boolean {
  return key !== null;
}

function always(): boolean {
  return true;
}
