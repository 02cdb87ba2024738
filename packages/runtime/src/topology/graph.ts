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
  /** The changes below are those of a versioned table, or not; null: as above (KIP-914). */
  isOutputVersioned: boolean | null = null;
  /** Grace of a windowed aggregation, ms: when its windows close. */
  readonly graceMs: number | null = null;
  /** Brings streams together (`merge`). */
  readonly isMerge: boolean = false;
  /** A repartition step that may become one with others of the same key change. */
  readonly isMergeable: boolean = false;

  constructor(name: string) {
    this.name = name;
  }

  abstract writeTo(topology: InternalTopology): void;

  /** Before it is written, for each parent that gives the changes of a versioned table. */
  onVersionedParent(_parent: GraphNode): void {}

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
  /** Key-changing nodes with the mergeable repartition steps that each is the cause of, in order. */
  readonly repartitionsOf = new Map<GraphNode, Set<GraphNode>>();
  readonly merges = new Set<GraphNode>();
  #nextPriority = 1;

  /** A node that is added once more moves to the end of the order, as in Kafka Streams. */
  add(node: GraphNode, ...parents: readonly GraphNode[]): void {
    for (const parent of parents) {
      parent.addChild(node);
      node.priority = this.#nextPriority++;
      this.#remember(node);
    }
  }

  #remember(node: GraphNode): void {
    if (node.changesKey) {
      if (!this.repartitionsOf.has(node)) this.repartitionsOf.set(node, new Set());
    } else if (node.isMergeable) {
      // With a change of values in between, the records are not the same as at the change of keys.
      const change = findAbove(node, (other) => other.changesKey || other.changesValue);
      if (change?.changesKey === true) this.repartitionsOf.get(change)?.add(node);
    } else if (node.isMerge) {
      this.merges.add(node);
    }
  }
}

/** The node itself or the first one above it that is asked for, depth first; null if there is none. */
export function findAbove(
  node: GraphNode,
  isWanted: (node: GraphNode) => boolean,
): GraphNode | null {
  if (isWanted(node)) return node;
  for (const parent of node.parents) {
    const found = findAbove(parent, isWanted);
    if (found !== null) return found;
  }
  return null;
}
