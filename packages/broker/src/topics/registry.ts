import {
  parseLogConfig,
  type Log,
  type LogCleaner,
  type LogConfig,
  type LogDir,
} from '@millrace/compaction';
import type { Logger } from 'pino';
import { endOfTurn } from '../end-of-turn.ts';
import { LOGS_PER_TURN, PARTITIONS_PER_REQUEST } from '../limits.ts';
import { isInternalTopic, Partition, Topic } from './topic.ts';
import { TopicError } from './topic-error.ts';
import { collisionKey, topicNameProblem } from './topic-names.ts';
import type { StoredTopic, TopicsFile } from './topics-file.ts';

type Configs = ReadonlyMap<string, string>;

export interface NewTopic {
  readonly name: string;
  readonly partitionCount: number;
  readonly configs: ReadonlyMap<string, string>;
}

export interface TopicRegistryOptions {
  readonly logDir: LogDir;
  readonly cleaner: Pick<LogCleaner, 'withoutCleaning' | 'configChanged'>;
  readonly file: TopicsFile;
  /** Broker-wide configuration by Kafka's names: what a topic has that sets nothing itself. May change; see `applyDefaults`. */
  readonly defaults: ReadonlyMap<string, string>;
  /** New topic ids, 22 characters. */
  readonly newTopicId: () => string;
  readonly internalTopic: (name: string) => NewTopic;
  readonly logger: Logger;
}

/**
 * The topics of this broker. Every change is durable in `topics.json` before it is acknowledged:
 *
 * - create: file, then logs. A crash in between leaves a topic whose missing logs are made at start.
 * - delete: file (with the id among the deleted ones), then logs. A crash in between leaves logs whose
 *   id is known to be deleted; they go at start. Logs of unknown topics are never deleted but taken in.
 * - configuration and partition counts: file, then logs.
 */
export class TopicRegistry {
  readonly #logDir: LogDir;
  readonly #cleaner: TopicRegistryOptions['cleaner'];
  readonly #file: TopicsFile;
  readonly #defaults: ReadonlyMap<string, string>;
  readonly #newTopicId: () => string;
  readonly #internalTopic: (name: string) => NewTopic;
  readonly #logger: Logger;
  readonly #byName = new Map<string, Topic>();
  readonly #byId = new Map<string, Topic>();
  /** Names by collision key, of topics that are there or being created. */
  readonly #nameKeys = new Map<string, string>();
  readonly #internalCreations = new Map<string, Promise<Topic>>();
  /** The last change under way by topic name: changes of one topic come one after the other. */
  readonly #changes = new Map<string, Promise<unknown>>();
  readonly #deletedListeners = new Set<(topic: Topic) => void>();
  readonly #partitionListeners = new Set<(partition: Partition) => void>();

  constructor(options: TopicRegistryOptions) {
    this.#logDir = options.logDir;
    this.#cleaner = options.cleaner;
    this.#file = options.file;
    this.#defaults = options.defaults;
    this.#newTopicId = options.newTopicId;
    this.#internalTopic = options.internalTopic;
    this.#logger = options.logger;
  }

  get(name: string): Topic | undefined {
    return this.#byName.get(name);
  }

  getById(topicId: string): Topic | undefined {
    return this.#byId.get(topicId);
  }

  partition(topic: string, index: number): Partition | undefined {
    return this.#byName.get(topic)?.partitions[index];
  }

  all(): Iterable<Topic> {
    return this.#byName.values();
  }

  get size(): number {
    return this.#byName.size;
  }

  /** Calls after a topic is gone; the result takes the listener back. */
  onDeleted(listener: (topic: Topic) => void): () => void {
    this.#deletedListeners.add(listener);
    return () => this.#deletedListeners.delete(listener);
  }

  /** Calls for every partition there is and every new one. */
  onPartition(listener: (partition: Partition) => void): void {
    this.#partitionListeners.add(listener);
    for (const topic of this.#byName.values()) topic.partitions.forEach(listener);
  }

  /** Brings file and logs together after a start; see the class comment. */
  async load(): Promise<void> {
    const found = new Map<string, Log[]>();
    for (const log of [...this.#logDir.logs()]) {
      if (log.topicId !== null && this.#file.deletedIds.has(log.topicId)) {
        await this.#logDir.deleteLog(log.topic, log.partition);
        continue;
      }
      const logs = found.get(log.topic);
      if (logs === undefined) found.set(log.topic, [log]);
      else logs.push(log);
    }
    let isChanged = !this.#file.wasThere || this.#file.deletedIds.size > 0;
    this.#file.deletedIds.clear();
    for (const [name, logs] of found) {
      const stored = this.#file.topics.get(name);
      const partitionCount = Math.max(...logs.map((log) => log.partition)) + 1;
      if (stored === undefined) this.#adopt(name, logs, partitionCount);
      else if (stored.partitionCount < partitionCount) {
        this.#file.topics.set(name, { ...stored, partitionCount });
      } else continue;
      isChanged = true;
    }
    for (const stored of this.#file.topics.values()) {
      this.#nameKeys.set(collisionKey(stored.name), stored.name);
      const configs = new Map(Object.entries(stored.configs));
      const topic = new Topic(stored.name, stored.topicId, configs, this.logConfig(configs));
      await this.#addLogs(topic, stored.partitionCount);
      this.#show(topic);
    }
    if (isChanged) await this.#file.save();
  }

  /** Throws TopicError for a name that a new topic cannot have. */
  checkName(name: string): void {
    const problem = topicNameProblem(name);
    if (problem !== undefined) throw new TopicError('INVALID_TOPIC_EXCEPTION', problem);
    const existing = this.#nameKeys.get(collisionKey(name));
    if (existing === name) {
      throw new TopicError('TOPIC_ALREADY_EXISTS', `Topic '${name}' already exists.`);
    }
    if (existing !== undefined) {
      throw new TopicError(
        'INVALID_TOPIC_EXCEPTION',
        `Topic '${name}' collides with existing topic: ${existing}`,
      );
    }
  }

  /** Throws TopicError for a topic that could not be created; changes nothing. */
  check({ name, partitionCount, configs }: NewTopic): void {
    this.checkName(name);
    this.logConfig(configs);
    if (partitionCount < 1 || partitionCount > PARTITIONS_PER_REQUEST) {
      throw new TopicError(
        'INVALID_PARTITIONS',
        `Topic ${name}: ${partitionCount} partitions, 1 to ${PARTITIONS_PER_REQUEST} are allowed`,
      );
    }
  }

  /** Resolves when the topic is durable and can be used. Rejects with TopicError. */
  async create(topic: NewTopic): Promise<Topic> {
    this.check(topic);
    const { name, partitionCount, configs } = topic;
    const topicId = this.#newTopicId();
    this.#nameKeys.set(collisionKey(name), name);
    this.#file.topics.set(name, {
      name,
      topicId,
      partitionCount,
      configs: Object.fromEntries(configs),
    });
    try {
      await this.#file.save();
      const created = new Topic(name, topicId, configs, this.logConfig(configs));
      await this.#addLogs(created, partitionCount);
      this.#show(created);
      return created;
    } catch (error) {
      this.#file.topics.delete(name);
      this.#nameKeys.delete(collisionKey(name));
      await this.#removeLogs(name, partitionCount);
      await this.#saveQuietly();
      throw storageFailure(`Topic ${name} could not be created`, error);
    }
  }

  /** `__consumer_offsets` and the like, created with their own configuration when first asked for. */
  ensureInternal(name: string): Promise<Topic> {
    const topic = this.#byName.get(name);
    if (topic !== undefined) return Promise.resolve(topic);
    let creation = this.#internalCreations.get(name);
    if (creation === undefined) {
      creation = this.create(this.#internalTopic(name)).finally(() => {
        this.#internalCreations.delete(name);
      });
      this.#internalCreations.set(name, creation);
    }
    return creation;
  }

  /** Raises the number of partitions. Rejects with TopicError. */
  addPartitions(topic: Topic, partitionCount: number): Promise<void> {
    return this.#change(topic, () => this.#addPartitions(topic, partitionCount));
  }

  async #addPartitions(topic: Topic, partitionCount: number): Promise<void> {
    const stored = this.#stored(topic);
    if (partitionCount <= stored.partitionCount) {
      throw new TopicError(
        'INVALID_PARTITIONS',
        `Topic ${topic.name} has ${stored.partitionCount} partition(s) by now.`,
      );
    }
    this.#file.topics.set(topic.name, { ...stored, partitionCount });
    try {
      await this.#file.save();
      await this.#addLogs(topic, partitionCount);
    } catch (error) {
      this.#file.topics.set(topic.name, { ...stored, partitionCount: topic.partitions.length });
      await this.#saveQuietly();
      throw storageFailure(`Topic ${topic.name} could not be extended`, error);
    }
  }

  /** Changes what is set for the topic: `change` gets it as it is then. Rejects with TopicError. */
  alterConfigs(topic: Topic, change: (configs: Configs) => Configs): Promise<void> {
    return this.#change(topic, () => this.#setConfigs(topic, change(topic.configs)));
  }

  async #setConfigs(topic: Topic, configs: Configs): Promise<void> {
    const logConfig = this.logConfig(configs);
    const stored = this.#stored(topic);
    this.#file.topics.set(topic.name, { ...stored, configs: Object.fromEntries(configs) });
    try {
      await this.#file.save();
    } catch (error) {
      this.#file.topics.set(topic.name, stored);
      throw storageFailure(`Configuration of topic ${topic.name} could not be saved`, error);
    }
    topic.configs = configs;
    await this.#putInEffect(topic, logConfig);
  }

  async #putInEffect(topic: Topic, logConfig: LogConfig): Promise<void> {
    topic.logConfig = logConfig;
    await Promise.all(
      topic.partitions.map(({ log }) => {
        log.updateConfig(logConfig);
        return this.#cleaner.configChanged(log);
      }),
    );
  }

  /** Throws TopicError when a topic could not have these as its defaults. */
  checkDefaults(defaults: Configs): void {
    for (const topic of this.#byName.values()) {
      try {
        parseLogConfig(topic.configs, defaults);
      } catch (error) {
        const message = `topic ${topic.name}: ${(error as Error).message}`;
        throw new TopicError('INVALID_CONFIG', message, { cause: error });
      }
    }
  }

  /** The defaults have changed: they are in effect for all topics when this resolves. */
  async applyDefaults(): Promise<void> {
    for (const topic of [...this.#byName.values()]) {
      await this.#change(topic, () => this.#putInEffect(topic, this.logConfig(topic.configs)));
    }
  }

  /** The topic is gone at once for everyone; resolves when that is durable. */
  delete(topic: Topic): Promise<void> {
    return this.#change(topic, () => this.#delete(topic));
  }

  async #delete(topic: Topic): Promise<void> {
    const stored = this.#stored(topic);
    this.#file.topics.delete(topic.name);
    this.#file.deletedIds.add(topic.topicId);
    this.#byName.delete(topic.name);
    this.#byId.delete(topic.topicId);
    try {
      await this.#file.save();
    } catch (error) {
      this.#file.deletedIds.delete(topic.topicId);
      this.#file.topics.set(topic.name, stored);
      this.#byName.set(topic.name, topic);
      this.#byId.set(topic.topicId, topic);
      throw storageFailure(`Topic ${topic.name} could not be deleted`, error);
    }
    for (const listener of this.#deletedListeners) listener(topic);
    await this.#removeLogs(topic.name, topic.partitions.length);
    this.#nameKeys.delete(collisionKey(topic.name));
    this.#file.deletedIds.delete(topic.topicId);
    await this.#saveQuietly();
  }

  /** The broker's defaults with these on top. Throws TopicError `INVALID_CONFIG`. */
  logConfig(configs: ReadonlyMap<string, string>): LogConfig {
    try {
      return parseLogConfig(configs, this.#defaults);
    } catch (error) {
      throw new TopicError('INVALID_CONFIG', (error as Error).message, { cause: error });
    }
  }

  #stored(topic: Topic): StoredTopic {
    const stored = this.#file.topics.get(topic.name);
    if (stored?.topicId !== topic.topicId) {
      throw new TopicError('UNKNOWN_TOPIC_OR_PARTITION', `Topic ${topic.name} is gone.`);
    }
    return stored;
  }

  #adopt(name: string, logs: readonly Log[], partitionCount: number): void {
    const configs = isInternalTopic(name)
      ? this.#internalTopic(name).configs
      : new Map<string, string>();
    const topicId = logs.find((log) => log.topicId !== null)?.topicId ?? this.#newTopicId();
    this.#file.topics.set(name, {
      name,
      topicId,
      partitionCount,
      configs: Object.fromEntries(configs),
    });
    this.#logger.info(
      { topic: name, partitionCount },
      'topic found in the data directory and taken in with default configuration',
    );
  }

  #show(topic: Topic): void {
    this.#byName.set(topic.name, topic);
    this.#byId.set(topic.topicId, topic);
  }

  /** Runs a change once those of the same topic before it are over. */
  async #change(topic: Topic, change: () => Promise<void>): Promise<void> {
    const before = this.#changes.get(topic.name) ?? Promise.resolve();
    const run = before.then(change);
    // Whoever comes next waits for the end of this one, not for its success.
    const settled = run.catch(() => undefined);
    this.#changes.set(topic.name, settled);
    try {
      await run;
    } finally {
      if (this.#changes.get(topic.name) === settled) this.#changes.delete(topic.name);
    }
  }

  /** Making logs is synchronous work: sockets get a turn between a few of them. */
  async #addLogs(topic: Topic, partitionCount: number): Promise<void> {
    for (let index = topic.partitions.length; index < partitionCount; index++) {
      if (index % LOGS_PER_TURN === LOGS_PER_TURN - 1) await endOfTurn();
      const existing = this.#logDir.log(topic.name, index);
      existing?.assignTopicId(topic.topicId);
      existing?.updateConfig(topic.logConfig);
      const log =
        existing ?? this.#logDir.createLog(topic.name, index, topic.topicId, topic.logConfig);
      const partition = new Partition(topic, index, log);
      topic.partitions.push(partition);
      for (const listener of this.#partitionListeners) listener(partition);
    }
  }

  async #removeLogs(name: string, partitionCount: number): Promise<void> {
    const removals = Array.from({ length: partitionCount }, async (_, index) => {
      try {
        await this.#removeLog(name, index);
      } catch (error) {
        this.#logger.warn(
          { err: error, topic: name, partition: index },
          'a deleted partition left files behind',
        );
      }
    });
    await Promise.all(removals);
  }

  async #removeLog(name: string, index: number): Promise<void> {
    const log = this.#logDir.log(name, index);
    if (log === undefined) return;
    await this.#cleaner.withoutCleaning(log, () => this.#logDir.deleteLog(name, index));
  }

  /** For tidying up: what is not saved now is saved with the next change, or tidied at the next start. */
  async #saveQuietly(): Promise<void> {
    try {
      await this.#file.save();
    } catch (error) {
      this.#logger.warn({ err: error }, 'topics.json could not be written');
    }
  }
}

function storageFailure(what: string, error: unknown): TopicError {
  if (error instanceof TopicError) return error;
  return new TopicError('KAFKA_STORAGE_ERROR', `${what}: ${(error as Error).message}`, {
    cause: error,
  });
}
