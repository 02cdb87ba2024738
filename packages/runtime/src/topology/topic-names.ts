import { MisconfiguredTopicError } from '../errors.ts';
import type { InternalTopology, SourceSpec } from './internal-topology.ts';
import { matchesTopic } from './topic-pattern.ts';

const CHANGELOG = '-changelog';

/** Names of a topology's topics under an application id, and what its sources by pattern have matched. */
export class TopicNames {
  readonly #topology: InternalTopology;
  readonly #applicationId: string;
  /** By source. */
  readonly #matched: ReadonlyMap<string, readonly string[]>;

  constructor(
    topology: InternalTopology,
    applicationId: string,
    matched: ReadonlyMap<string, readonly string[]> = new Map(),
  ) {
    this.#topology = topology;
    this.#applicationId = applicationId;
    this.#matched = matched;
  }

  full(topic: string): string {
    return this.#topology.internalTopics.has(topic) ? `${this.#applicationId}-${topic}` : topic;
  }

  /** What the source reads. */
  of(source: SourceSpec): readonly string[] {
    if ((source.pattern ?? null) !== null) return this.#matched.get(source.name) ?? [];
    return source.topics.map((topic) => this.full(topic));
  }

  /** The application's own internal topics are never matched. */
  matching(topics: Iterable<string>): TopicNames {
    const candidates = [...topics].filter((topic) => !this.#isOwn(topic)).sort();
    const matched = new Map<string, readonly string[]>();
    const sourceOf = new Map<string, SourceSpec>();
    for (const source of this.#topology.nodes.values()) {
      if (source.kind !== 'source') continue;
      const pattern = source.pattern ?? null;
      if (pattern === null) continue;
      const own = candidates.filter((topic) => matchesTopic(pattern, topic));
      for (const topic of own) {
        const other = sourceOf.get(topic);
        if (other !== undefined) throw overlap(topic, other, source);
        sourceOf.set(topic, source);
      }
      matched.set(source.name, own);
    }
    return new TopicNames(this.#topology, this.#applicationId, matched);
  }

  isSame(other: TopicNames): boolean {
    for (const [source, topics] of other.#matched) {
      if ((this.#matched.get(source) ?? []).join(',') !== topics.join(',')) return false;
    }
    return true;
  }

  #isOwn(topic: string): boolean {
    const { internalTopics, stores } = this.#topology;
    const prefix = `${this.#applicationId}-`;
    if (!topic.startsWith(prefix)) return false;
    const name = topic.slice(prefix.length);
    if (internalTopics.has(name)) return true;
    return name.endsWith(CHANGELOG) && stores.has(name.slice(0, -CHANGELOG.length));
  }
}

function overlap(topic: string, first: SourceSpec, second: SourceSpec): MisconfiguredTopicError {
  const of = ({ name, pattern }: SourceSpec): string => `${String(pattern?.source)} (${name})`;
  return new MisconfiguredTopicError(
    `The topic ${topic} matches the patterns ${of(first)} and ${of(second)}: a topic is read by one source only, ` +
      'so let the patterns exclude each other.',
  );
}
