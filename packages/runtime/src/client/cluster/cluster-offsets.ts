import { errorCodes } from '@millrace/protocol';
import { StreamsError } from '../../errors.ts';
import { Admin } from '../admin.ts';
import { apiUses } from '../apis.ts';
import { brokerError } from '../broker-errors.ts';
import { isLeadershipError } from '../error-codes.ts';
import { EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, isolationLevels } from '../list-offsets.ts';
import { topicPartitionKey } from '../ports.ts';
import type { IsolationLevel, TopicPartition, TopicPartitionKey } from '../ports.ts';
import { byTopic } from './cluster-calls.ts';
import type { ClusterCalls } from './cluster-calls.ts';

/** Where in a partition; a number is the first record with that timestamp (epoch ms) or a later one. */
export type OffsetSpec = 'earliest' | 'latest' | number;

export type OffsetSpecs = readonly (TopicPartition & { readonly at: OffsetSpec })[];

/** Offsets of partitions, and the deletion of the records before them. */
export class ClusterOffsets {
  readonly #calls: ClusterCalls;
  readonly #admin: Admin;

  constructor(calls: ClusterCalls) {
    this.#calls = calls;
    this.#admin = new Admin({ ...calls.context, apiTimeoutMs: calls.context.timeoutMs });
  }

  /**
   * -1n: no record has that timestamp or a later one. Latest is the high watermark, or the last stable
   * offset under read_committed. A partition that fails takes nothing from the others.
   */
  async list(
    queries: OffsetSpecs,
    isolationLevel: IsolationLevel = 'read_uncommitted',
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint | StreamsError>> {
    const results = new Map<TopicPartitionKey, bigint | StreamsError>();
    const open = new Map(
      queries.map((each) => [topicPartitionKey(each.topic, each.partition), each]),
    );
    if (open.size === 0) return results;
    await this.#calls.retry('list offsets', () => this.#listOpen(open, results, isolationLevel));
    return results;
  }

  /**
   * Deletes the records before each offset; -1n: all that there are. Per partition the first offset
   * that is left, or an error.
   */
  deleteRecords(
    offsets: readonly (TopicPartition & { readonly offset: bigint })[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint | Error>> {
    return this.#admin.deleteRecords(offsets);
  }

  async #listOpen(
    open: Map<TopicPartitionKey, OffsetSpecs[number]>,
    results: Map<TopicPartitionKey, bigint | StreamsError>,
    isolationLevel: IsolationLevel,
  ): Promise<void> {
    const byLeader = new Map<number, OffsetSpecs[number][]>();
    const leaders = await this.#leaders([...open.values()]);
    let failure: StreamsError | null = null;
    for (const [key, each] of open) {
      const leader = leaders.get(key);
      if (leader === undefined) {
        open.delete(key);
        results.set(key, offsetsError(errorCodes.UNKNOWN_TOPIC_OR_PARTITION, each));
      } else if (leader < 0) {
        failure = offsetsError(errorCodes.LEADER_NOT_AVAILABLE, each);
      } else {
        const asked = byLeader.get(leader);
        if (asked === undefined) byLeader.set(leader, [each]);
        else asked.push(each);
      }
    }
    const failures = await Promise.all(
      [...byLeader].map(([leader, asked]) =>
        this.#ask(leader, asked, isolationLevel, open, results),
      ),
    );
    failure = failures.find((each) => each !== null) ?? failure;
    if (failure !== null) throw failure;
  }

  async #leaders(partitions: readonly TopicPartition[]): Promise<Map<TopicPartitionKey, number>> {
    const names = [...new Set(partitions.map(({ topic }) => topic))];
    const { topics } = await this.#calls.metadata(names);
    const leaders = new Map<TopicPartitionKey, number>();
    for (const topic of topics) {
      for (const { partitionIndex, leaderId } of topic.partitions) {
        leaders.set(topicPartitionKey(topic.name ?? '', partitionIndex), leaderId);
      }
    }
    return leaders;
  }

  /** Returns the error of what is worth another try. */
  async #ask(
    leader: number,
    asked: OffsetSpecs,
    isolationLevel: IsolationLevel,
    open: Map<TopicPartitionKey, OffsetSpecs[number]>,
    results: Map<TopicPartitionKey, bigint | StreamsError>,
  ): Promise<StreamsError | null> {
    const topics = byTopic(asked);
    const response = await this.#calls.send(leader, apiUses.listOffsets, {
      replicaId: -1,
      isolationLevel: isolationLevels[isolationLevel],
      topics: [...topics].map(([name, ofTopic]) => ({
        name,
        partitions: ofTopic.map(({ partition, at }) => ({
          partitionIndex: partition,
          timestamp: timestampOf(at),
        })),
      })),
    });
    let failure: StreamsError | null = null;
    for (const { name, partitions } of response.topics) {
      for (const { partitionIndex, errorCode, offset } of partitions) {
        const key = topicPartitionKey(name, partitionIndex);
        const each = open.get(key);
        if (each === undefined) continue;
        const error = errorCode === errorCodes.NONE ? null : offsetsError(errorCode, each);
        if (error !== null && (error.retriable || isLeadershipError(errorCode))) {
          failure = error;
          continue;
        }
        open.delete(key);
        results.set(key, error ?? offset);
      }
    }
    return failure;
  }
}

function timestampOf(at: OffsetSpec): bigint {
  if (at === 'earliest') return EARLIEST_TIMESTAMP;
  return at === 'latest' ? LATEST_TIMESTAMP : BigInt(at);
}

function offsetsError(code: number, { topic, partition }: TopicPartition): StreamsError {
  return brokerError(code, `The offsets of ${topic}-${partition} are not known`, {
    topic,
    partition,
  });
}
