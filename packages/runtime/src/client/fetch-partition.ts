import type { TopicPartitionKey } from './ports.ts';

/** One assigned partition. Assigning it anew makes a new object, so that what is under way for the old one is dropped. */
export class FetchPartition {
  readonly key: TopicPartitionKey;
  readonly topic: string;
  readonly partition: number;
  /** Where the next fetch starts. */
  fetchOffset: bigint;
  /** After what was drained. */
  position: bigint;
  isPaused: boolean;
  /** After an error that was handed over; until assigned again. */
  isHalted = false;
  isInFlight = false;
  /** What was fetched waits to be drained. */
  isUndrained = false;
  /** End of the partition as it was last handed over; -1 before the first time. */
  toldEnd = -1n;
  /** Size of a batch that was cut, which the next fetch asks for as a whole; 0 if none was. */
  cutBatchBytes = 0;
  /**
   * When its fetching was last seen to work, or known not to, monotonic ms: assigned, resumed or drained,
   * answered with all that there is, or failed and to be tried again.
   */
  attendedAt: number;
  /** Monotonic ms; not fetched before. */
  retryAt = -Infinity;
  failureCount = 0;
  /** Monotonic ms since when brokers have not known the partition; -1 while they do. */
  missingSince = -1;
  /** Version of the metadata when the position of an internal topic was first found out of range; -1: it was not. */
  outOfRangeVersion = -1;
  /** As metadata of `metadataVersion` had it; -1: no leader. */
  leader = -1;
  leaderEpoch = -1;
  metadataVersion = -1;

  constructor(
    key: TopicPartitionKey,
    topic: string,
    partition: number,
    offset: bigint,
    isPaused: boolean,
    now: number,
  ) {
    this.key = key;
    this.topic = topic;
    this.partition = partition;
    this.fetchOffset = offset;
    this.position = offset;
    this.isPaused = isPaused;
    this.attendedAt = now;
  }
}
