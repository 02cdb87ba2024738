import type { Logger } from 'pino';
import type { AdminPort, NewTopic } from '../client/ports.ts';
import { MisconfiguredTopicError } from '../errors.ts';
import type { BuiltTopology } from '../topology/built-topology.ts';
import type { PartitionCounts } from './partition-counts.ts';
import {
  externalSourceTopics,
  repartitionTopics,
  resolvePartitionCounts,
  taskCount,
} from './partition-counts.ts';

export interface InternalTopicOptions {
  /** `replication.factor`; -1 is the broker's default. */
  readonly replicationFactor: number;
  /** From `topic.` keys: between the library's defaults and a store's own. */
  readonly topicDefaults: ReadonlyMap<string, string>;
}

/**
 * Before tasks are assigned: looks at the source topics, and creates what is missing of the
 * repartition and changelog topics. One that exists with another number of partitions is an error:
 * keys would be found in other partitions than the ones they are in.
 */
export async function ensureInternalTopics(
  topology: BuiltTopology,
  admin: AdminPort,
  options: InternalTopicOptions,
  logger: Logger,
): Promise<PartitionCounts> {
  const repartition = repartitionTopics(topology);
  const changelogs = topology.subtopologies.flatMap((subtopology) =>
    subtopology.changelogs
      .filter((changelog) => !changelog.isSourceTopic)
      .map((changelog) => ({ changelog, subtopology })),
  );
  const known = await admin.describeTopics([
    ...externalSourceTopics(topology),
    ...repartition.keys(),
    ...changelogs.map(({ changelog }) => changelog.name),
  ]);
  const existing = new Map(
    [...known].map(([topic, { partitionCount }]) => [topic, partitionCount]),
  );
  const counts = resolvePartitionCounts(topology, existing);
  const wanted: NewTopic[] = [];
  for (const topic of repartition.values()) {
    const partitionCount = counts.get(topic.name) as number;
    // As in Kafka Streams, `topic.` keys count for more than the library's own settings ...
    const config = new Map([...topic.config, ...options.topicDefaults]);
    wanted.push(newTopic(topic.name, partitionCount, config, options));
  }
  for (const { changelog, subtopology } of changelogs) {
    const partitionCount = changelog.partitionCount ?? taskCount(subtopology, counts);
    // ... but not for more than what a store asks of its changelog.
    const config = new Map([...options.topicDefaults, ...changelog.config]);
    wanted.push(newTopic(changelog.name, partitionCount, config, options));
  }
  // Without partitions where no topic matches a pattern yet: those are made once one does.
  const needed = wanted.filter(({ partitionCount }) => partitionCount > 0);
  validate(needed, existing);
  const missing = needed.filter(({ topic }) => !existing.has(topic));
  if (missing.length > 0) {
    logger.info({ topics: missing.map(({ topic }) => topic) }, 'creating internal topics');
    await admin.createTopics(missing);
  }
  return counts;
}

function validate(wanted: readonly NewTopic[], existing: ReadonlyMap<string, number>): void {
  const problems: string[] = [];
  for (const { topic, partitionCount } of wanted) {
    const count = existing.get(topic);
    if (count !== undefined && count !== partitionCount) {
      problems.push(`${topic} has ${String(count)}, needs ${String(partitionCount)}`);
    }
  }
  if (problems.length === 0) return;
  throw new MisconfiguredTopicError(
    `Internal topics exist with another number of partitions: ${problems.join('; ')}. ` +
      'The number of partitions of a source topic has changed: reset the application, or give it another application.id',
  );
}

function newTopic(
  topic: string,
  partitionCount: number,
  config: ReadonlyMap<string, string>,
  options: InternalTopicOptions,
): NewTopic {
  return {
    topic,
    partitionCount,
    replicationFactor: options.replicationFactor,
    config,
  };
}
