import { TopologyError } from '../errors.ts';
import type { GraphNode } from './graph.ts';

/** Grace of the nearest windowed aggregation above a node, ms; the longest if there are several. */
export function windowGraceMs(node: GraphNode): number {
  const found = nearestGraceMs(node);
  if (found !== null) return found;
  throw new TopologyError(
    `suppress(untilWindowCloses()) after ${node.name}: window close time is only defined for windowed ` +
      'computations, and none lies before it. Use untilTimeLimit, or aggregate in windows first.',
  );
}

function nearestGraceMs(node: GraphNode): number | null {
  if (node.graceMs !== null) return node.graceMs;
  let longest: number | null = null;
  for (const parent of node.parents) {
    const graceMs = nearestGraceMs(parent);
    if (graceMs === null) return null;
    longest = Math.max(longest ?? 0, graceMs);
  }
  return longest;
}
