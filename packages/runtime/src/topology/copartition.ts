import { TopologyError } from '../errors.ts';
import type { InternalTopology } from './internal-topology.ts';

/**
 * Topics whose sources are joined must have equally many partitions. What is known while a topology
 * is built are the counts that the user gave to repartition topics; the rest is checked against the
 * real topics later, by `Subtopology.copartitionGroups`.
 */
export function validateCopartition(topology: InternalTopology): void {
  const problems: string[] = [];
  for (const sources of topology.copartitionedSources) {
    const counts = new Set<number>();
    const list: string[] = [];
    for (const source of sources) {
      for (const topic of topology.source(source).topics) {
        const count = topology.internalTopics.get(topic);
        if (count === undefined || count === null) continue;
        counts.add(count);
        list.push(`${topic} (${String(count)}, read by ${source})`);
      }
    }
    if (counts.size > 1) problems.push(`  ${list.join(', ')}`);
  }
  if (problems.length > 0) {
    throw new TopologyError(
      'These topics are joined, but do not have the same number of partitions; give the repartition() of each ' +
        `the same "partitions":\n${problems.join('\n')}`,
    );
  }
}
