import type { Logger } from 'pino';
import type { AdminPort } from '../client/ports.ts';
import { TOPIC_REFRESH_MIN_MS } from '../limits.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import type { BuiltTopology } from '../topology/built-topology.ts';

export interface TopicMatcherOptions {
  readonly topology: BuiltTopology;
  readonly admin: AdminPort;
  readonly clock: Clock;
  /** `metadata.max.age.ms`. */
  readonly intervalMs: number;
  readonly logger: Logger;
  /** Topics that match have come or gone: the group should be told. */
  readonly onChanged: () => void;
}

/**
 * What the sources by pattern of one instance read. All topics are listed before the first join, at
 * every assignment that this instance makes, and every `metadata.max.age.ms`; a member that makes no
 * assignment learns from its own. Without such sources nothing of this happens.
 */
export class TopicMatcher {
  readonly #options: TopicMatcherOptions;
  #topology: BuiltTopology;
  #known: ReadonlySet<string> = new Set();
  #timer: Timer | null = null;
  #isStopped = false;

  constructor(options: TopicMatcherOptions) {
    this.#options = options;
    this.#topology = options.topology;
  }

  /** With the topics that match by now. */
  get topology(): BuiltTopology {
    return this.#topology;
  }

  get hasPatterns(): boolean {
    return this.#options.topology.patterns.length > 0;
  }

  /** Whether a source by pattern reads the topic. */
  hasMatched(topic: string): boolean {
    return matchedTopics(this.#topology, this.#options.topology).includes(topic);
  }

  /** Looks which topics there are; true if others match than before. */
  async refresh(): Promise<boolean> {
    if (!this.hasPatterns) return false;
    const topics = await this.#options.admin.listTopics();
    return this.#match(new Set(topics));
  }

  /** Topics of an assignment: its leader has matched them, so they exist. */
  learn(topics: Iterable<string>): void {
    if (this.hasPatterns) this.#match(new Set([...this.#known, ...topics]));
  }

  /** Looks from time to time from here on. */
  start(): void {
    if (!this.hasPatterns) return;
    if (this.#topology === this.#options.topology) {
      const patterns = this.#topology.patterns.map(({ source }) => source);
      this.#options.logger.info({ patterns }, 'no topic matches the patterns of the topology yet');
    }
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Looks now, and tells if something has changed. Failures are looked over: the next time comes. */
  async look(): Promise<void> {
    try {
      if ((await this.refresh()) && !this.#isStopped) this.#options.onChanged();
    } catch (error) {
      this.#options.logger.warn(
        { err: error },
        'the topics that match patterns could not be listed',
      );
    }
  }

  #match(topics: ReadonlySet<string>): boolean {
    const { logger } = this.#options;
    const before = this.#topology;
    const topology = before.matching(topics);
    this.#known = topics;
    if (topology === before) return false;
    this.#topology = topology;
    const matched = matchedTopics(topology, this.#options.topology);
    logger.info({ topics: matched }, 'topics that match the patterns of the topology');
    return true;
  }

  #schedule(): void {
    const { clock, intervalMs } = this.#options;
    this.#timer = clock.setTimer(Math.max(intervalMs, TOPIC_REFRESH_MIN_MS), () => {
      void this.look().then(() => {
        if (!this.#isStopped) this.#schedule();
      });
    });
  }
}

function matchedTopics(topology: BuiltTopology, original: BuiltTopology): string[] {
  const named = new Set(original.subtopologies.flatMap(({ sourceTopics }) => sourceTopics));
  const all = topology.subtopologies.flatMap(({ sourceTopics }) => sourceTopics);
  return all.filter((topic) => !named.has(topic)).sort();
}
