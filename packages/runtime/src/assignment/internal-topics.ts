import type { Logger } from 'pino';
import type { AdminPort, NewTopic, TopicDescription } from '../client/ports.ts';
import { Sleeper } from '../client/sleeper.ts';
import { MisconfiguredTopicError } from '../errors.ts';
import { GONE_TOPIC_LOOK_DISTANCE_MS, GONE_TOPIC_LOOKS } from '../limits.ts';
import type { Clock } from '../platform/clock.ts';
import type { BuiltTopology, Subtopology } from '../topology/built-topology.ts';
import type { PartitionCounts } from './partition-counts.ts';
import {
  externalSourceTopics,
  internalTopicNames,
  internalTopicsOf,
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

/** The repartition and changelog topics of an application, as one of its instances knows them. */
export class InternalTopics {
  readonly #admin: AdminPort;
  readonly #options: InternalTopicOptions;
  readonly #sleeper: Sleeper;
  readonly #logger: Logger;
  /** Ids of those that were there once; null where it is not known. */
  readonly #seen = new Map<string, string | null>();

  constructor(admin: AdminPort, options: InternalTopicOptions, clock: Clock, logger: Logger) {
    this.#admin = admin;
    this.#options = options;
    this.#sleeper = new Sleeper(clock);
    this.#logger = logger;
  }

  /**
   * Before tasks are assigned: looks at the source topics, and creates what is missing of the
   * repartition and changelog topics. One that exists with another number of partitions is an error:
   * keys would be found in other partitions than the ones they are in. So is one that was there and is
   * gone: made anew it would be empty, and nobody would be told what is missing (KAFKA-10357).
   */
  async ensure(topology: BuiltTopology): Promise<PartitionCounts> {
    const repartition = repartitionTopics(topology);
    const changelogs = topology.subtopologies.flatMap((subtopology) =>
      subtopology.changelogs
        .filter((changelog) => !changelog.isSourceTopic)
        .map((changelog) => ({ changelog, subtopology })),
    );
    const names = [...internalTopicNames(topology)];
    const known = await this.#admin.describeTopics([...externalSourceTopics(topology), ...names]);
    await this.#refuseGone(names.filter((name) => this.#isGone(name, known)));
    const existing = partitionCounts(known);
    const counts = resolvePartitionCounts(topology, existing);
    const wanted: NewTopic[] = [];
    for (const topic of repartition.values()) {
      const partitionCount = counts.get(topic.name) as number;
      // As in Kafka Streams, `topic.` keys count for more than the library's own settings ...
      const config = new Map([...topic.config, ...this.#options.topicDefaults]);
      wanted.push(this.#newTopic(topic.name, partitionCount, config));
    }
    for (const { changelog, subtopology } of changelogs) {
      const partitionCount = changelog.partitionCount ?? taskCount(subtopology, counts);
      // ... but not for more than what a store asks of its changelog.
      const config = new Map([...this.#options.topicDefaults, ...changelog.config]);
      wanted.push(this.#newTopic(changelog.name, partitionCount, config));
    }
    // Without partitions where no topic matches a pattern yet: those are made once one does.
    const needed = wanted.filter(({ partitionCount }) => partitionCount > 0);
    validate(needed, existing);
    for (const name of names) {
      const topic = known.get(name);
      if (topic !== undefined) this.#seen.set(name, topic.topicId);
    }
    const missing = needed.filter(({ topic }) => !existing.has(topic));
    if (missing.length > 0) {
      this.#logger.info({ topics: missing.map(({ topic }) => topic) }, 'creating internal topics');
      await this.#admin.createTopics(missing);
      for (const { topic } of missing) this.#seen.set(topic, null);
    }
    return counts;
  }

  /** Tasks of these subtopologies were assigned to this instance, so their topics are there, whoever made them. */
  assigned(subtopologies: readonly Subtopology[]): void {
    for (const name of subtopologies.flatMap(internalTopicsOf)) {
      if (!this.#seen.has(name)) this.#seen.set(name, null);
    }
  }

  /** Ends what waits. */
  close(): void {
    this.#sleeper.close();
  }

  /** It is not there, or another one has its name. */
  #isGone(name: string, known: ReadonlyMap<string, TopicDescription>): boolean {
    const seenId = this.#seen.get(name);
    if (seenId === undefined) return false;
    const topic = known.get(name);
    if (topic === undefined) return true;
    return seenId !== null && topic.topicId !== null && topic.topicId !== seenId;
  }

  /** A broker that has just started may not know all topics yet: it is asked again before anybody is stopped. */
  async #refuseGone(topics: readonly string[]): Promise<void> {
    let gone = topics;
    for (let look = 1; gone.length > 0 && look < GONE_TOPIC_LOOKS; look++) {
      await this.#sleeper.sleep(GONE_TOPIC_LOOK_DISTANCE_MS);
      const known = await this.#admin.describeTopics(gone);
      gone = gone.filter((topic) => this.#isGone(topic, known));
    }
    if (gone.length === 0) return;
    throw new MisconfiguredTopicError(
      `Internal topics were deleted while the application runs: ${gone.join(', ')}. ` +
        'What was in them and not processed yet is lost. Reset the application to process its inputs again, ' +
        'or start it again to go on without: what is missing of the topics is then made anew, empty',
      { context: { topics: gone.join(', ') } },
    );
  }

  #newTopic(topic: string, partitionCount: number, config: ReadonlyMap<string, string>): NewTopic {
    const { replicationFactor } = this.#options;
    return { topic, partitionCount, replicationFactor, config };
  }
}

function partitionCounts(topics: ReadonlyMap<string, TopicDescription>): Map<string, number> {
  return new Map([...topics].map(([topic, { partitionCount }]) => [topic, partitionCount]));
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
