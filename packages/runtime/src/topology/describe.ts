import type { InternalTopology, NodeSpec } from './internal-topology.ts';
import { javaHashCopyOrder, javaHashOrder } from './java-order.ts';
import { JavaTreeSet } from './java-tree-set.ts';
import { mermaidText } from './mermaid.ts';
import type { NodeDescription, SubtopologyDescription } from './node-description.ts';
import { nodeGroups } from './subtopologies.ts';

/** What `topology.describe()` returns; `toString()` gives Kafka Streams' text, byte for byte. */
export class TopologyDescription {
  readonly subtopologies: readonly SubtopologyDescription[];
  /** What is right, but may not be what was meant; also logged when the application starts. Not in the text. */
  readonly hints: readonly string[];

  constructor(subtopologies: readonly SubtopologyDescription[], hints: readonly string[] = []) {
    this.subtopologies = subtopologies;
    this.hints = hints;
  }

  toString(): string {
    const parts = this.subtopologies.map(({ id, isGlobal, nodes }) => {
      const lines = nodes.map((node) => `    ${nodeText(node)}\n`).join('');
      if (!isGlobal) return `  Sub-topology: ${String(id)}\n${lines}\n`;
      return `  Sub-topology: ${String(id)} for global store (will not generate tasks)\n${lines}`;
    });
    return `Topologies:\n ${parts.join('')}`;
  }

  /** The same as text of a Mermaid flowchart, which many tools show as a picture. */
  toMermaid(): string {
    return mermaidText(this.subtopologies);
  }
}

function nodeText(node: NodeDescription): string {
  const to = `\n      --> ${names(node.successors)}`;
  const from = `\n      <-- ${names(node.predecessors)}`;
  switch (node.kind) {
    case 'source':
      return `Source: ${node.name} (topics: ${node.pattern ?? `[${node.topics.join(', ')}]`})${to}`;
    case 'processor':
      return `Processor: ${node.name} (stores: [${node.stores.join(', ')}])${to}${from}`;
    case 'sink':
      return `Sink: ${node.name} (${target(node)})${from}`;
  }
}

function target({ topics, topicExtractor }: NodeDescription): string {
  return topicExtractor === null
    ? `topic: ${topics.join(', ')}`
    : `extractor class: ${topicExtractor}`;
}

function names(nodes: readonly string[]): string {
  return nodes.length === 0 ? 'none' : nodes.join(', ');
}

/** A node while its group is being connected; `size` counts itself and all that follows, by path. */
class Described {
  readonly spec: NodeSpec;
  size = 1;
  readonly predecessors = new JavaTreeSet<Described>(compareNodes);
  readonly successors = new JavaTreeSet<Described>(compareNodes);

  constructor(spec: NodeSpec) {
    this.spec = spec;
  }

  grow(delta: number): void {
    this.size += delta;
    for (const predecessor of this.predecessors.values()) predecessor.grow(delta);
  }
}

/** Larger subtrees first, then by name. */
function compareNodes(a: Described, b: Described): number {
  if (a === b) return 0;
  if (a.size !== b.size) return b.size - a.size;
  return a.spec.name < b.spec.name ? -1 : 1;
}

export function describeTopology(topology: InternalTopology): TopologyDescription {
  return new TopologyDescription(
    nodeGroups(topology).map((group) => ({
      id: group.id,
      isGlobal: group.isGlobal,
      nodes: describeGroup(topology, group.nodes),
    })),
    [...topology.hints],
  );
}

function describeGroup(topology: InternalTopology, group: readonly string[]): NodeDescription[] {
  const byName = new Map<string, Described>();
  // Successors are sorted by the sizes known when each is connected, so the order of connecting
  // shows in the text; Java connects in the order of its hash map.
  for (const name of javaHashOrder(group)) {
    byName.set(name, new Described(topology.nodes.get(name) as NodeSpec));
  }
  for (const node of byName.values()) {
    if (node.spec.kind === 'source') continue;
    for (const name of node.spec.predecessors) {
      const predecessor = byName.get(name) as Described;
      node.predecessors.add(predecessor);
      predecessor.successors.add(node);
      predecessor.grow(node.size);
    }
  }
  const sorted = [...byName.values()].sort(compareNodes);
  return sorted.map((node) => ({
    kind: node.spec.kind,
    name: node.spec.name,
    topics: topicsOf(node.spec),
    pattern: node.spec.kind === 'source' ? (node.spec.pattern?.source ?? null) : null,
    topicExtractor: extractorOf(node.spec),
    stores: node.spec.kind === 'processor' ? javaHashCopyOrder(node.spec.stores) : [],
    predecessors: node.predecessors.values().map((other) => other.spec.name),
    successors: node.successors.values().map((other) => other.spec.name),
  }));
}

function topicsOf(spec: NodeSpec): readonly string[] {
  if (spec.kind === 'source') return javaHashCopyOrder(spec.topics);
  return spec.kind === 'sink' && typeof spec.topic === 'string' ? [spec.topic] : [];
}

function extractorOf(spec: NodeSpec): string | null {
  if (spec.kind !== 'sink' || typeof spec.topic === 'string') return null;
  return spec.topic.name === '' ? 'anonymous function' : spec.topic.name;
}
