import type { Log, LogConfig } from '@millrace/compaction';

/** One partition: its log, and who waits for it. */
export interface Partition {
  readonly topic: Topic;
  readonly index: number;
  readonly log: Log;
}

export interface Topic {
  readonly name: string;
  /** 22 characters base64url; stable over restarts, new on re-creation. */
  readonly topicId: string;
  readonly isInternal: boolean;
  readonly partitions: readonly Partition[];
  /** What was set for this topic, by Kafka's names; the rest are the broker's defaults. */
  readonly configs: ReadonlyMap<string, string>;
  readonly logConfig: LogConfig;
}

/** What group and transaction coordinators, handlers and timers use; see `TopicRegistry` in this file. */
export interface TopicRegistryPort {
  get(name: string): Topic | undefined;
  getById(topicId: string): Topic | undefined;
  all(): Iterable<Topic>;
  partition(topic: string, index: number): Partition | undefined;
  /** `__consumer_offsets` and the like: created with their own configuration when first asked for. */
  ensureInternal(name: string): Promise<Topic>;
  /** Calls after a topic is gone, so that what belongs to it (offsets) goes too; the result takes it back. */
  onDeleted(listener: (topic: Topic) => void): () => void;
}
