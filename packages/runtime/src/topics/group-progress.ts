import type { FetchPort, GroupPort, StreamsClient } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import {
  CLOSE_TIMEOUT_DEFAULT_MS,
  GROUP_PROGRESS_SESSION_MS,
  TOPIC_READER_FETCH_BYTES,
  TOPIC_READER_MAX_WAIT_MS,
} from '../limits.ts';
import { topicPartitions } from './topic-partitions.ts';

/** How far a group has come in one partition. */
export interface PartitionProgress {
  readonly partition: number;
  /** First offset that the log still has. */
  readonly beginOffset: bigint;
  /** Offset that the next record will get. */
  readonly endOffset: bigint;
  /** Next offset that the group will read; null if it has committed none. */
  readonly committedOffset: bigint | null;
  /** Nothing between the committed offset, or the begin if there is none, and the end. */
  readonly isAtEnd: boolean;
}

/**
 * Committed offsets of a group against the ends of the logs that it reads, from outside: it does not
 * join. The group of a stream application is its `application.id`.
 */
export class GroupProgress {
  readonly #client: StreamsClient;
  readonly #group: GroupPort;
  readonly #fetcher: FetchPort;

  constructor(client: StreamsClient, groupId: string) {
    this.#client = client;
    this.#group = client.group({
      groupId,
      groupInstanceId: null,
      sessionTimeoutMs: GROUP_PROGRESS_SESSION_MS,
      heartbeatIntervalMs: GROUP_PROGRESS_SESSION_MS,
      rebalanceTimeoutMs: GROUP_PROGRESS_SESSION_MS,
      protocolName: '',
    });
    this.#fetcher = client.fetcher({
      isolationLevel: 'read_uncommitted',
      maxWaitMs: TOPIC_READER_MAX_WAIT_MS,
      minBytes: 1,
      maxBytes: TOPIC_READER_FETCH_BYTES,
      maxPartitionBytes: TOPIC_READER_FETCH_BYTES,
      onReady: () => undefined,
    });
  }

  /**
   * One answer per partition; null for a topic that does not exist. The committed offsets are asked for
   * before the ends, so a group that is at the end here had read all that was there when it was asked.
   */
  async of(topic: string): Promise<PartitionProgress[] | null> {
    const partitions = await topicPartitions(this.#client, topic);
    if (partitions === null) return null;
    const committed = await this.#group.committed(partitions, { requireStable: false });
    const begins = await this.#fetcher.beginningOffsets(partitions);
    const ends = await this.#fetcher.endOffsets(partitions, 'read_uncommitted');
    return partitions.map(({ partition }) => {
      const key = topicPartitionKey(topic, partition);
      const beginOffset = begins.get(key) ?? 0n;
      const endOffset = ends.get(key) ?? beginOffset;
      const committedOffset = committed.get(key)?.offset ?? null;
      const isAtEnd = (committedOffset ?? beginOffset) >= endOffset;
      return { partition, beginOffset, endOffset, committedOffset, isAtEnd };
    });
  }

  async close(timeoutMs = CLOSE_TIMEOUT_DEFAULT_MS): Promise<void> {
    await Promise.all([this.#group.leave(timeoutMs), this.#fetcher.close(timeoutMs)]);
  }
}
