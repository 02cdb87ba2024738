import type { GraphNode } from './graph.ts';

/** Tells every node of the parents whose changes are those of a versioned table (KIP-914). */
export function tellOfVersionedParents(root: GraphNode): void {
  const seen = new Set<GraphNode>();
  const visit = (node: GraphNode): void => {
    if (seen.has(node)) return;
    seen.add(node);
    for (const parent of node.parents) {
      if (givesVersioned(parent)) node.onVersionedParent(parent);
    }
    for (const child of node.children) visit(child);
  };
  visit(root);
}

/**
 * Whether a node's changes are those of a versioned table. One that says nothing of itself gives what
 * it gets, if all its parents agree.
 */
export function givesVersioned(node: GraphNode): boolean {
  if (node.isOutputVersioned !== null) return node.isOutputVersioned;
  if (node.parents.size === 0) return false;
  return [...node.parents].every(givesVersioned);
}
