import { TopologyError } from '../errors.ts';
import { findAbove, type Graph, type GraphNode } from './graph.ts';
import { RepartitionNode } from './graph-nodes.ts';
import type { InternalTopology, OptionalSerde } from './internal-topology.ts';
import { repartitionNames, type Naming } from './naming.ts';

/**
 * `merge.repartition.topics`: all repartition steps that one change of keys is the cause of become a
 * single one, right below that change, under the name of the first; what lay between moves below it.
 * It happens also where there is one step only: then that step moves up, and uses new indexes.
 */
export function mergeRepartitions(graph: Graph, topology: InternalTopology, naming: Naming): void {
  for (const [keyChange, steps] of repartitionsByCause(graph)) {
    const replaced = [...steps] as RepartitionNode[];
    const [first] = replaced;
    if (first === undefined) continue;
    const merged = new RepartitionNode(
      repartitionNames(naming, first.names.topic),
      firstSerde(replaced.map((step) => step.keySerde)),
      firstSerde(replaced.map((step) => step.valueSerde)),
    );
    // Before everything below it.
    merged.priority = keyChange.priority;
    for (const step of replaced) {
      const top = findAbove(step, (node) => node.parents.has(keyChange));
      if (top === null) throw cannotMerge(keyChange, step, replaced);
      merged.addChild(top);
      keyChange.removeChild(top);
      takeOut(step);
      topology.renameCopartitionedSource(step.name, merged.name);
    }
    keyChange.addChild(merged);
  }
}

/** Repartition steps by what they are merged below: a key change, or a merge of streams whose keys changed. */
function repartitionsByCause(graph: Graph): Map<GraphNode, ReadonlySet<GraphNode>> {
  const causes = new Map<GraphNode, ReadonlySet<GraphNode>>(graph.repartitionsOf);
  const changesOf = new Map<GraphNode, GraphNode[]>();
  for (const merge of graph.merges) {
    const changes = [...causes].filter(
      ([change, steps]) =>
        [...steps].every((step) => isBelow(step, merge)) && isBelow(merge, change),
    );
    changesOf.set(
      merge,
      changes.map(([change]) => change),
    );
  }
  const steps = new Map<GraphNode, Set<GraphNode>>();
  for (const [merge, changes] of changesOf) {
    steps.set(merge, new Set(changes.flatMap((change) => [...(causes.get(change) ?? [])])));
  }
  for (const change of [...changesOf.values()].flat()) causes.delete(change);
  for (const [merge, below] of steps) causes.set(merge, below);
  return causes;
}

/**
 * Two of the steps share an operator between the change and themselves. Kafka Streams cannot merge such
 * steps either; names would have no counterpart there.
 */
function cannotMerge(
  keyChange: GraphNode,
  step: RepartitionNode,
  all: readonly RepartitionNode[],
): TopologyError {
  const topics = all.map(({ names }) => names.topic).join(', ');
  return new TopologyError(
    `The repartition topics ${topics} below the change of keys ${keyChange.name} cannot be merged: ${step.name} lies ` +
      'below the same operator as another one. Repartition right after the change of keys with repartition(), or ' +
      'leave merge.repartition.topics out of topology.optimization.',
  );
}

function isBelow(node: GraphNode, ancestor: GraphNode): boolean {
  return findAbove(node, (other) => other.parents.has(ancestor)) !== null;
}

/** What was below the step is then below what was above it. */
function takeOut(step: GraphNode): void {
  const children = [...step.children];
  for (const parent of [...step.parents]) {
    for (const child of children) parent.addChild(child);
    parent.removeChild(step);
  }
  for (const child of children) step.removeChild(child);
}

function firstSerde(serdes: readonly OptionalSerde[]): OptionalSerde {
  return serdes.find((serde) => serde !== null) ?? null;
}
