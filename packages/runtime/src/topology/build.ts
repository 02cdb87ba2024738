import { TopologyError } from '../errors.ts';
import { validateCopartition } from './copartition.ts';
import { Graph, type GraphNode } from './graph.ts';
import { RepartitionNode, StreamSourceNode, TableSourceNode } from './graph-nodes.ts';
import { InternalTopology } from './internal-topology.ts';
import { mergeRepartitions } from './merge-repartitions.ts';
import type { Naming } from './naming.ts';
import { tellOfVersionedParents } from './versioned.ts';
import { parseOptimization, type TopologyOptimization } from './optimize.ts';
import { patternKey } from './topic-pattern.ts';

/** Rewrites the graph as a whole, then makes a topology of it, parents before children. */
export function buildTopology(
  graph: Graph,
  topology: InternalTopology,
  naming: Naming,
  optimization: TopologyOptimization,
): void {
  const optimizations = parseOptimization(optimization);
  mergeDuplicateSources(graph.root);
  if (optimizations.has('reuse.ktable.source.topics')) reuseSourceTopics(graph.root);
  if (optimizations.has('merge.repartition.topics')) mergeRepartitions(graph, topology, naming);
  dropNullKeysBeforeRepartitioning(graph.root);
  tellOfVersionedParents(graph.root);
  writeInOrder(graph.root, topology);
  validateCopartition(topology);
}

/** The same topics read twice become one source; topics may not be shared in part. */
function mergeDuplicateSources(root: GraphNode): void {
  const sourceOf = new Map<string, StreamSourceNode>();
  const sourceOfPattern = new Map<string, StreamSourceNode>();
  for (const node of [...root.children]) {
    if (!(node instanceof StreamSourceNode)) continue;
    const { pattern } = node.options;
    if (pattern !== null) {
      const first = sourceOfPattern.get(patternKey(pattern));
      if (first === undefined) {
        sourceOfPattern.set(patternKey(pattern), node);
      } else {
        first.merge(node);
        root.removeChild(node);
      }
      continue;
    }
    const topics = new Set(node.options.topics);
    for (const topic of topics) {
      const first = sourceOf.get(topic);
      if (first === undefined || first === node) {
        sourceOf.set(topic, node);
        continue;
      }
      const firstTopics = new Set(first.options.topics);
      if (firstTopics.size !== topics.size || [...topics].some((name) => !firstTopics.has(name))) {
        throw new TopologyError(
          `The sources ${first.name} (${[...firstTopics].join(', ')}) and ${node.name} (${[...topics].join(', ')}) share ` +
            `the topic ${topic}, but not all their topics: read each topic in one source only, and merge the streams.`,
        );
      }
      first.merge(node);
      root.removeChild(node);
      break;
    }
  }
}

/** The topic of a table can take the place of its store's changelog: it holds the same. */
function reuseSourceTopics(root: GraphNode): void {
  for (const node of root.children) {
    if (node instanceof TableSourceNode) node.reusesSourceTopic = true;
  }
}

function dropNullKeysBeforeRepartitioning(root: GraphNode): void {
  const keepsBelow = new Map<GraphNode, boolean>();
  const visit = (node: GraphNode): boolean => {
    const known = keepsBelow.get(node);
    if (known !== undefined) return known;
    let keeps = false;
    for (const child of node.children) {
      if (visit(child) || child.keepsNullKeys) keeps = true;
    }
    keepsBelow.set(node, keeps);
    if (node instanceof RepartitionNode) node.dropsNullKeys = !keeps;
    return keeps;
  };
  visit(root);
}

function writeInOrder(root: GraphNode, topology: InternalTopology): void {
  const waiting: GraphNode[] = [root];
  while (waiting.length > 0) {
    let lowest = 0;
    for (let i = 1; i < waiting.length; i++) {
      if ((waiting[i] as GraphNode).priority < (waiting[lowest] as GraphNode).priority) lowest = i;
    }
    const [node] = waiting.splice(lowest, 1) as [GraphNode];
    if (node.isWritten || [...node.parents].some((parent) => !parent.isWritten)) continue;
    node.writeTo(topology);
    node.isWritten = true;
    waiting.push(...node.children);
  }
}
