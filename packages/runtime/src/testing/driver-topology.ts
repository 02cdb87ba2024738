import {
  externalSourceTopics,
  resolvePartitionCounts,
  taskCount,
  type PartitionCounts,
} from '../assignment/partition-counts.ts';
import type { TopicPartition } from '../client/ports.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import type { SourceNode } from '../operators/source-node.ts';
import type { TaskId } from '../operators/task-context.ts';
import type { StateStore } from '../state/store.ts';
import type { BuiltTopology, Subtopology, TaskTopology } from '../topology/built-topology.ts';

/** The tasks that a driver runs, and how many partitions each topic has. */
export interface DriverLayout {
  readonly topology: BuiltTopology;
  readonly tasks: readonly { readonly id: TaskId; readonly inputs: readonly TopicPartition[] }[];
  readonly partitionCounts: PartitionCounts;
}

/** As many as there are partitions of the topics from outside. */
export type PartitionsOption = number | Readonly<Record<string, number>>;

export function layOut(
  built: BuiltTopology,
  partitions: PartitionsOption | undefined,
): DriverLayout {
  return partitions === undefined ? singleTask(built) : partitioned(built, partitions);
}

/** One task, 0_0, for the whole topology, and one partition a topic, as Kafka's driver has it. */
function singleTask(built: BuiltTopology): DriverLayout {
  const topology = merged(built);
  const [subtopology] = topology.subtopologies as [Subtopology];
  const inputs = subtopology.sourceTopics.map((topic) => ({ topic, partition: 0 }));
  return {
    topology,
    tasks:
      built.subtopologies.length === 0 ? [] : [{ id: { subtopology: 0, partition: 0 }, inputs }],
    partitionCounts: new Map(
      [...globalTopics(built), ...subtopology.sourceTopics].map((topic) => [topic, 1]),
    ),
  };
}

/** The tasks that a cluster would have, given the partition counts of the topics from outside. */
function partitioned(topology: BuiltTopology, partitions: PartitionsOption): DriverLayout {
  const countOf = (topic: string): number =>
    typeof partitions === 'number' ? partitions : (partitions[topic] ?? 1);
  const external = externalSourceTopics(topology);
  const partitionCounts = resolvePartitionCounts(
    topology,
    new Map(external.map((topic) => [topic, countOf(topic)])),
  );
  const tasks = topology.subtopologies.flatMap((subtopology) =>
    Array.from({ length: taskCount(subtopology, partitionCounts) }, (_, partition) => ({
      id: { subtopology: subtopology.id, partition },
      inputs: subtopology.sourceTopics
        .filter((topic) => partition < (partitionCounts.get(topic) ?? 0))
        .map((topic) => ({ topic, partition })),
    })),
  );
  const given = typeof partitions === 'number' ? {} : partitions;
  const global = globalTopics(topology).map((topic) => [topic, countOf(topic)] as const);
  return {
    topology,
    tasks,
    partitionCounts: new Map([...Object.entries(given), ...global, ...partitionCounts]),
  };
}

function globalTopics(built: BuiltTopology): string[] {
  return built.global === null ? [] : [...built.global.storeOfTopic.keys()];
}

function merged(built: BuiltTopology): BuiltTopology {
  const all = built.subtopologies;
  const subtopology: Subtopology = {
    id: 0,
    sourceTopics: [...new Set(all.flatMap((part) => part.sourceTopics))].sort(),
    repartitionSourceTopics: all.flatMap((part) => part.repartitionSourceTopics),
    repartitionSinkTopics: [...new Set(all.flatMap((part) => part.repartitionSinkTopics))],
    changelogs: all.flatMap((part) => part.changelogs),
    copartitionGroups: all.flatMap((part) => part.copartitionGroups),
  };
  return {
    ...built,
    subtopologies: [subtopology],
    instantiate: (_id, partition) => {
      const sources = new Map<string, SourceNode>();
      const nodes: ProcessorNode[] = [];
      const stores = new Map<string, StateStore>();
      for (const { id } of all) {
        const part: TaskTopology = built.instantiate(id, partition);
        for (const [topic, source] of part.sources) sources.set(topic, source);
        for (const [name, store] of part.stores) stores.set(name, store);
        nodes.push(...part.nodes);
      }
      return { sources, nodes, stores };
    },
  };
}
