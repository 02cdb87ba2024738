import { TopologyError } from '../errors.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import type { StoreBuilder } from '../state/store.ts';
import { OperatorNode } from './graph-nodes.ts';
import type { InternalTopology } from './internal-topology.ts';

interface GraceJoinOptions {
  readonly keepsNullKeys: boolean;
  readonly buffer: StoreBuilder;
  /** Of the table. */
  readonly readsStores: readonly string[];
  readonly graceMs: number;
}

/** A stream-table join with a grace period; what it asks of the table's stores is known when they are. */
export class GraceJoinNode extends OperatorNode {
  readonly #tableStores: readonly string[];
  readonly #joinGraceMs: number;

  constructor(name: string, create: (name: string) => ProcessorNode, options: GraceJoinOptions) {
    const { keepsNullKeys, buffer, readsStores } = options;
    super(name, create, { keepsNullKeys, stores: [buffer], readsStores });
    this.#tableStores = readsStores;
    this.#joinGraceMs = options.graceMs;
  }

  override writeTo(topology: InternalTopology): void {
    super.writeTo(topology);
    for (const store of this.#tableStores) {
      const historyMs = topology.stores.get(store)?.builder.historyRetentionMs;
      if (historyMs === undefined) throw notVersioned(this.name);
      if (this.#joinGraceMs > historyMs) {
        throw new TopologyError(
          `The join ${this.name} has a grace period of ${String(this.#joinGraceMs)} ms, but the versioned store ${store} ` +
            `keeps only ${String(historyMs)} ms of history: history retention must be at least the grace period.`,
        );
      }
    }
  }
}

export function notVersioned(join: string): TopologyError {
  return new TopologyError(
    `The join ${join} has a grace period, but its table is not versioned: a table must be versioned to be joined ` +
      'as of an earlier time. Give it a versioned store, or leave out grace.',
  );
}
