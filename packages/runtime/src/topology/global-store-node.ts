import type { ProcessorNode } from '../operators/processor-node.ts';
import type { StoreBuilder } from '../state/store.ts';
import { GraphNode } from './graph.ts';
import type { SourceOptions } from './graph-nodes.ts';
import type { InternalTopology } from './internal-topology.ts';

/** A topic that every instance reads as a whole, into a store that all its tasks may read. */
export class GlobalStoreNode extends GraphNode {
  readonly #sourceName: string;
  readonly #options: SourceOptions;
  readonly #create: (name: string) => ProcessorNode;
  readonly #store: StoreBuilder;

  constructor(
    name: string,
    sourceName: string,
    options: SourceOptions,
    create: (name: string) => ProcessorNode,
    store: StoreBuilder,
  ) {
    super(name);
    this.#sourceName = sourceName;
    this.#options = options;
    this.#create = create;
    this.#store = store;
  }

  override writeTo(topology: InternalTopology): void {
    const source = { kind: 'source', name: this.#sourceName, ...this.#options } as const;
    topology.addGlobalStore(source, this.name, this.#create, this.#store);
  }
}
