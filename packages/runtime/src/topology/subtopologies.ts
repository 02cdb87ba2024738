import type { InternalTopology } from './internal-topology.ts';

/** Connected parts of a topology. The id is the place in the list; it is the first number of a task's id. */
export interface NodeGroup {
  readonly id: number;
  /** Source and node of a global store: no task runs them, but they have an id. */
  readonly isGlobal: boolean;
  /** In the order in which they were added. */
  readonly nodes: readonly string[];
}

/**
 * Connected nodes and nodes that share a store are one subtopology. Ids follow the order in which
 * the sources were added, then that of the other nodes, as Kafka Streams numbers them.
 */
export function nodeGroups(topology: InternalTopology): readonly NodeGroup[] {
  const idOfRoot = new Map<string, number>();
  const number = (names: readonly string[]): void => {
    for (const name of names) {
      const root = topology.groups.root(name);
      if (!idOfRoot.has(root)) idOfRoot.set(root, idOfRoot.size);
    }
  };
  const all = [...topology.nodes.values()];
  number(all.filter((node) => node.kind === 'source').map((node) => node.name));
  number(all.filter((node) => node.kind !== 'source').map((node) => node.name));

  const groups: string[][] = Array.from(idOfRoot, () => []);
  for (const { name } of all) {
    const id = idOfRoot.get(topology.groups.root(name)) as number;
    (groups[id] as string[]).push(name);
  }
  return groups.map((nodes, id) => ({
    id,
    isGlobal: nodes.some((name) => {
      const spec = topology.nodes.get(name);
      return spec?.kind === 'source' && spec.isGlobal === true;
    }),
    nodes,
  }));
}
