import type { Log, LogConfig } from '@millrace/compaction';

/** A topic: its stable id, its partitions, and what was configured for it. Changed by the registry only. */
export class Topic {
  readonly name: string;
  /** 22 characters base64url; stable over restarts, new on re-creation. */
  readonly topicId: string;
  readonly isInternal: boolean;
  readonly partitions: Partition[] = [];
  /** What was set for this topic, by Kafka's names; the rest are the broker's defaults. */
  configs: ReadonlyMap<string, string>;
  /** Topic and broker configuration together. */
  logConfig: LogConfig;

  constructor(
    name: string,
    topicId: string,
    configs: ReadonlyMap<string, string>,
    logConfig: LogConfig,
  ) {
    this.name = name;
    this.topicId = topicId;
    this.isInternal = isInternalTopic(name);
    this.configs = configs;
    this.logConfig = logConfig;
  }
}

const FIRST_LEADER_EPOCH = 0;

/** One partition of a topic and its log, which this broker leads. */
export class Partition {
  readonly topic: Topic;
  readonly index: number;
  readonly log: Log;
  /** The epoch of this leadership: at least the one that the log was last written under. */
  readonly leaderEpoch: number;

  constructor(topic: Topic, index: number, log: Log) {
    this.topic = topic;
    this.index = index;
    this.log = log;
    this.leaderEpoch = Math.max(FIRST_LEADER_EPOCH, log.leaderEpoch);
  }
}

export const CONSUMER_OFFSETS_TOPIC = '__consumer_offsets';
export const TRANSACTION_STATE_TOPIC = '__transaction_state';

export function isInternalTopic(name: string): boolean {
  return name === CONSUMER_OFFSETS_TOPIC || name === TRANSACTION_STATE_TOPIC;
}
