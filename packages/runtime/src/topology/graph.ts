import type { InternalTopology } from './internal-topology.ts';

/**
 * What the DSL builds: one node per operator, linked to its parents, rewritten and optimised as a
 * whole before any of it becomes part of a topology.
 */
export abstract class GraphNode {
  readonly name: string;
  readonly parents = new Set<GraphNode>();
  readonly children = new Set<GraphNode>();
  /** Nodes become part of the topology in this order. */
  priority = 0;
  isWritten = false;
  /** Records may have another key below this node. */
  readonly changesKey: boolean = false;
  /** Records may have another value, and so another value serde, below this node. */
  readonly changesValue: boolean = false;
  /** A left or outer join: records without a key have a result, so repartitioning must keep them. */
  readonly keepsNullKeys: boolean = false;

  constructor(name: string) {
    this.name = name;
  }

  abstract writeTo(topology: InternalTopology): void;

  addChild(child: GraphNode): void {
    this.children.add(child);
    child.parents.add(this);
  }

  removeChild(child: GraphNode): void {
    this.children.delete(child);
    child.parents.delete(this);
  }

  /** Names of the topology nodes that this one's node is fed by. */
  parentNames(): string[] {
    return [...this.parents].map((parent) => parent.name);
  }
}

class Root extends GraphNode {
  override writeTo(): void {}
}

export class Graph {
  readonly root: GraphNode = new Root('root');
  #nextPriority = 1;

  /** A node that is added once more moves to the end of the order, as in Kafka Streams. */
  add(node: GraphNode, ...parents: readonly GraphNode[]): void {
    for (const parent of parents) {
      parent.addChild(node);
      node.priority = this.#nextPriority++;
    }
  }
}
