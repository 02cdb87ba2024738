import { TableJoinMergeOperator } from '../operators/table-join-merge.ts';
import { TableJoinSideOperator } from '../operators/table-join-side.ts';
import type { JoinedTable } from '../operators/table-join.ts';
import { TableSourceOperator, type SourceTable } from '../operators/table-source.ts';
import type { StoreBuilder } from '../state/store.ts';
import { GraphNode } from './graph.ts';
import type { InternalTopology, OptionalSerde } from './internal-topology.ts';

/** A stream made a table; stored only if somebody reads it. */
export class StreamToTableNode extends GraphNode {
  readonly #table: SourceTable<unknown, unknown>;
  readonly #store: StoreBuilder;

  constructor(name: string, table: SourceTable<unknown, unknown>, store: StoreBuilder) {
    super(name);
    this.#table = table;
    this.#store = store;
  }

  override writeTo(topology: InternalTopology): void {
    const table = this.#table;
    topology.addProcessor(
      this.name,
      (name) => new TableSourceOperator(name, table),
      this.parentNames(),
    );
    if (table.isMaterialized) topology.addStore(this.#store, [this.name]);
  }
}

export interface TableRepartitionNames {
  readonly topic: string;
  readonly sink: string;
  readonly source: string;
}

/** Sink, internal topic and source between a grouped table and its aggregation; carries changes. */
export class TableRepartitionNode extends GraphNode {
  readonly #names: TableRepartitionNames;
  readonly #keySerde: OptionalSerde;
  readonly #valueSerde: OptionalSerde;

  constructor(names: TableRepartitionNames, keySerde: OptionalSerde, valueSerde: OptionalSerde) {
    super(names.source);
    this.#names = names;
    this.#keySerde = keySerde;
    this.#valueSerde = valueSerde;
  }

  override writeTo(topology: InternalTopology): void {
    const { topic, sink, source } = this.#names;
    const serdes = {
      keySerde: this.#keySerde,
      valueSerde: this.#valueSerde,
      carriesChanges: true,
    };
    topology.addInternalTopic(topic, null);
    topology.addSink({
      kind: 'sink',
      name: sink,
      predecessors: this.parentNames(),
      topic,
      partitioner: null,
      ...serdes,
    });
    topology.addSource({
      kind: 'source',
      name: source,
      topics: [topic],
      timestampExtractor: null,
      offsetReset: null,
      ...serdes,
    });
  }
}

export interface TableJoinNames {
  readonly left: string;
  readonly right: string;
  readonly merge: string;
}

/** The three nodes of a join of tables: one for each side's changes, and one below both. */
export class TableJoinNode extends GraphNode {
  readonly #names: TableJoinNames;
  /** The two tables' nodes. */
  readonly #left: GraphNode;
  readonly #right: GraphNode;
  readonly #table: JoinedTable<unknown, unknown, unknown, unknown>;
  readonly #store: StoreBuilder | null;

  constructor(
    names: TableJoinNames,
    left: GraphNode,
    right: GraphNode,
    table: JoinedTable<unknown, unknown, unknown, unknown>,
    store: StoreBuilder | null,
  ) {
    super(names.merge);
    this.#names = names;
    this.#left = left;
    this.#right = right;
    this.#table = table;
    this.#store = store;
  }

  override onVersionedParent(parent: GraphNode): void {
    if (parent === this.#left) this.#table.left.isVersioned = true;
    if (parent === this.#right) this.#table.right.isVersioned = true;
  }

  override writeTo(topology: InternalTopology): void {
    const { left, right, merge } = this.#names;
    const table = this.#table;
    topology.addProcessor(left, (name) => new TableJoinSideOperator(name, table, true), [
      this.#left.name,
    ]);
    topology.addProcessor(right, (name) => new TableJoinSideOperator(name, table, false), [
      this.#right.name,
    ]);
    topology.addProcessor(merge, (name) => new TableJoinMergeOperator(name, table), [left, right]);
    if (this.#store !== null) topology.addStore(this.#store, [merge]);
    topology.connectStores([left], table.right.view.storeNames);
    topology.connectStores([right], table.left.view.storeNames);
  }
}
