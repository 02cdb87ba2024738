import { MissingTopicError } from '../client/errors.ts';
import { MisconfiguredTopicError, MissingSourceTopicError } from '../errors.ts';
import type { BuiltTopology, InternalTopic, Subtopology } from '../topology/built-topology.ts';

/** Partition counts by topic: of the source topics as they are, of the repartition topics as they must be. */
export type PartitionCounts = ReadonlyMap<string, number>;

/** Source topics that the topology reads but does not own: they must exist. */
export function externalSourceTopics(topology: BuiltTopology): string[] {
  const internal = repartitionTopics(topology);
  const topics = new Set<string>();
  for (const subtopology of topology.subtopologies) {
    for (const topic of subtopology.sourceTopics) if (!internal.has(topic)) topics.add(topic);
  }
  return [...topics].sort();
}

export function repartitionTopics(topology: BuiltTopology): Map<string, InternalTopic> {
  const topics = new Map<string, InternalTopic>();
  for (const subtopology of topology.subtopologies) {
    for (const topic of subtopology.repartitionSourceTopics) topics.set(topic.name, topic);
  }
  return topics;
}

/** Names of what the application makes for itself: its repartition topics, and its stores' changelogs. */
export function internalTopicNames(topology: BuiltTopology): Set<string> {
  return new Set(topology.subtopologies.flatMap(internalTopicsOf));
}

/** Whether the error says that one of them is gone. Whoever goes on then, or begins, makes it anew (KAFKA-10357). */
export function isInternalTopicLost(error: unknown, topology: BuiltTopology): boolean {
  if (!(error instanceof MissingTopicError)) return false;
  const { topic } = error.context;
  return typeof topic === 'string' && internalTopicNames(topology).has(topic);
}

/** Those that the tasks of one subtopology read or write. */
export function internalTopicsOf(subtopology: Subtopology): string[] {
  return [
    ...subtopology.repartitionSourceTopics.map(({ name }) => name),
    ...subtopology.repartitionSinkTopics,
    ...subtopology.changelogs.filter((each) => !each.isSourceTopic).map(({ name }) => name),
  ];
}

/**
 * Completes the counts of the existing topics by those of the repartition topics: explicit, else that
 * of the topics that it is joined with, else the largest of the subtopologies that write to it. All
 * missing source topics, and all groups that do not match, are named in one error.
 */
export function resolvePartitionCounts(
  topology: BuiltTopology,
  existing: ReadonlyMap<string, number>,
): PartitionCounts {
  const missing = externalSourceTopics(topology).filter((topic) => !existing.has(topic));
  if (missing.length > 0) {
    throw new MissingSourceTopicError(
      `Source topic${missing.length === 1 ? '' : 's'} ${missing.join(', ')} ${missing.length === 1 ? 'does' : 'do'} not exist. ` +
        'Create them before the application starts',
      { context: { topics: missing.join(',') } },
    );
  }
  const internal = repartitionTopics(topology);
  const empty = [...internal.values()].filter(({ partitionCount }) => partitionCount === 0);
  if (empty.length > 0) {
    const topics = empty.map(({ name }) => name).join(', ');
    throw new MisconfiguredTopicError(
      `A repartition() asks for 0 partitions of ${topics}. Give it at least 1, or leave the number out`,
      { context: { topics } },
    );
  }
  const counts = new Map<string, number>();
  for (const topic of externalSourceTopics(topology))
    counts.set(topic, existing.get(topic) as number);
  for (const { name, partitionCount } of internal.values()) {
    if (partitionCount !== null) counts.set(name, partitionCount);
  }
  deriveFromUpstream(topology, internal, counts);
  enforceCopartitioning(topology, internal, counts);
  return counts;
}

function deriveFromUpstream(
  topology: BuiltTopology,
  internal: ReadonlyMap<string, InternalTopic>,
  counts: Map<string, number>,
): void {
  const open = new Set([...internal.keys()].filter((topic) => !counts.has(topic)));
  while (open.size > 0) {
    const before = open.size;
    for (const topic of open) {
      const count = countOfWriters(topic, topology, counts);
      if (count === null) continue;
      counts.set(topic, count);
      open.delete(topic);
    }
    if (open.size === before) {
      throw new MisconfiguredTopicError(
        `The partition count of ${[...open].join(', ')} cannot be derived: nothing with a known count writes to it. ` +
          'Give the repartition operation a number of partitions',
        { context: { topics: [...open].join(',') } },
      );
    }
  }
}

/** Largest source of the subtopologies that write the topic; null while one of their sources is unknown. */
function countOfWriters(
  topic: string,
  topology: BuiltTopology,
  counts: ReadonlyMap<string, number>,
): number | null {
  let largest: number | null = null;
  let hasWriters = false;
  for (const subtopology of topology.subtopologies) {
    if (!subtopology.repartitionSinkTopics.includes(topic)) continue;
    hasWriters = true;
    for (const source of subtopology.sourceTopics) {
      const count = counts.get(source);
      if (count === undefined) return null;
      if (largest === null || count > largest) largest = count;
    }
  }
  // A source by pattern that nothing matches yet: there is nothing to be written.
  return largest ?? (hasWriters ? 0 : null);
}

function enforceCopartitioning(
  topology: BuiltTopology,
  internal: ReadonlyMap<string, InternalTopic>,
  counts: Map<string, number>,
): void {
  const problems: string[] = [];
  for (const group of topology.subtopologies.flatMap((s) => s.copartitionGroups)) {
    const isFree = (topic: string): boolean => internal.get(topic)?.partitionCount === null;
    const fixed = group.filter((topic) => !isFree(topic));
    const distinct = new Set(fixed.map((topic) => counts.get(topic)));
    if (distinct.size > 1) {
      problems.push(fixed.map((topic) => `${topic} (${String(counts.get(topic))})`).join(', '));
      continue;
    }
    const common =
      fixed.length > 0
        ? (counts.get(fixed[0] as string) as number)
        : Math.max(...group.map((topic) => counts.get(topic) as number));
    for (const topic of group) if (isFree(topic)) counts.set(topic, common);
  }
  if (problems.length > 0) {
    throw new MisconfiguredTopicError(
      `Topics that are joined or merged must have the same number of partitions: ${problems.join('; ')}. ` +
        'Repartition one side, or create the topics anew',
    );
  }
}

/** As many as the largest of its source topics has partitions. */
export function taskCount(subtopology: Subtopology, counts: PartitionCounts): number {
  return Math.max(0, ...subtopology.sourceTopics.map((topic) => counts.get(topic) ?? 0));
}
