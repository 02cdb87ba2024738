import type { NodeDescription, SubtopologyDescription } from './node-description.ts';

/** Gives out ids that Mermaid takes whatever the names are: `node0`, `node1`... */
class Ids {
  readonly #prefix: string;
  readonly #ids = new Map<string, string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  of(name: string): string {
    let id = this.#ids.get(name);
    if (id === undefined) {
      id = `${this.#prefix}${String(this.#ids.size)}`;
      this.#ids.set(name, id);
    }
    return id;
  }

  entries(): Iterable<readonly [name: string, id: string]> {
    return this.#ids;
  }
}

/**
 * A topology as a Mermaid flowchart: each sub-topology a subgraph of its nodes and stores, the topics
 * between them. Names are labels, so any name will do.
 */
export function mermaidText(subtopologies: readonly SubtopologyDescription[]): string {
  const nodes = new Ids('node');
  const topics = new Ids('topic');
  const stores = new Ids('store');
  const shapes: string[] = [];
  const arrows: string[] = [];
  for (const { id, isGlobal, nodes: members } of subtopologies) {
    const title = `Sub-topology ${String(id)}${isGlobal ? ', global store' : ''}`;
    shapes.push(`  subgraph subtopology${String(id)}["${title}"]`);
    for (const node of members) shapes.push(`    ${nodes.of(node.name)}${nodeShape(node)}`);
    for (const store of new Set(members.flatMap((node) => node.stores))) {
      shapes.push(`    ${stores.of(store)}[("${escaped(store)}")]`);
    }
    shapes.push('  end');
    for (const node of members) {
      const from = nodes.of(node.name);
      for (const topic of topicNames(node)) {
        const ends = [topics.of(topic), from];
        if (node.kind === 'sink') ends.reverse();
        arrows.push(`  ${ends.join(' --> ')}`);
      }
      for (const store of node.stores) arrows.push(`  ${from} --- ${stores.of(store)}`);
      for (const name of node.successors) arrows.push(`  ${from} --> ${nodes.of(name)}`);
    }
  }
  const topicShapes = [...topics.entries()].map(([name, id]) => `  ${id}("${escaped(name)}")`);
  return `${['flowchart TD', ...topicShapes, ...shapes, ...arrows].join('\n')}\n`;
}

function nodeShape({ kind, name }: NodeDescription): string {
  return kind === 'processor' ? `["${escaped(name)}"]` : `(["${escaped(name)}"])`;
}

function topicNames({ pattern, topicExtractor, topics }: NodeDescription): readonly string[] {
  if (pattern !== null) return [`topics like ${pattern}`];
  return topicExtractor === null ? topics : [`topics by ${topicExtractor}`];
}

/**
 * A label's text. Everything but letters, digits and a few marks goes in as a character reference;
 * so does a dot or dash before a space, which would begin a list.
 */
function escaped(name: string): string {
  return name.replaceAll(
    /[^\p{L}\p{N} _.-]|[.-](?= )/gu,
    (character) => `#${String(character.codePointAt(0))};`,
  );
}
