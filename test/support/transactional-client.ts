import { setTimeout as sleep } from 'node:timers/promises';
import {
  AddOffsetsToTxn,
  AddPartitionsToTxn,
  BatchIterator,
  CreateTopics,
  EndTxn,
  errorByCode,
  errorCodes,
  Fetch,
  FindCoordinator,
  InitProducerId,
  ListOffsets,
  OffsetFetch,
  Produce,
  RecordCursor,
  TxnOffsetCommit,
  type FetchResponse,
} from '@millrace/protocol';
import { batchOf, type RawClient } from './raw-client.ts';

const RETRY_MS = 20;
const RETRIES = 500;

/** Codes as names, so that a failing test reads well. */
export function named(code: number): string {
  return errorByCode(code).name;
}

export interface Producer {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

export interface CommitOptions {
  readonly version?: number;
  readonly generation?: number;
  readonly memberId?: string;
  readonly groupInstanceId?: string | null;
  readonly metadata?: string | null;
  readonly partition?: number;
}

export interface SendOptions {
  readonly partition?: number;
  readonly version?: number;
  readonly transactionalId?: string | null;
  readonly isTransactional?: boolean;
  readonly baseSequence?: number;
}

/** The requests of a transactional producer, one by one and with their codes. */
export class TransactionalClient {
  readonly client: RawClient;
  /** By producer and partition: the next sequence. */
  readonly #sequences = new Map<string, number>();

  constructor(client: RawClient) {
    this.client = client;
  }

  async createTopic(name: string, numPartitions = 1, configs: Record<string, string> = {}) {
    const { topics } = await this.client.send(CreateTopics, 5, {
      topics: [
        {
          name,
          numPartitions,
          replicationFactor: 1,
          configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
        },
      ],
      timeoutMs: 10_000,
    });
    if (topics[0]?.errorCode !== 0) throw new Error(`${name}: ${topics[0]?.errorCode}`);
    for (let partition = 0; partition < numPartitions; partition++) {
      await until(async () => (await this.latest(name, 0, partition)) >= 0n);
    }
    return name;
  }

  /** Both coordinators, made and loaded; Kafka takes its time for each partition of their topics. */
  async coordinatorsAreReady(transactionalId: string, groupId: string): Promise<void> {
    await until(async () => {
      for (const [keyType, key] of [
        [1, transactionalId],
        [0, groupId],
      ] as const) {
        const { coordinators } = await this.client.send(FindCoordinator, 4, {
          keyType,
          coordinatorKeys: [key],
        });
        if (coordinators[0]?.errorCode !== 0) return false;
      }
      // Kafka has no producer ids yet for a while.
      const { error } = await this.tryInit(null);
      const ended = await this.end({ transactionalId, producerId: 1n, producerEpoch: 0 }, true);
      const fetched = await this.client.send(OffsetFetch, 7, {
        groupId,
        topics: [],
        requireStable: false,
      });
      return error === 'NONE' && ended === 'INVALID_PRODUCER_ID_MAPPING' && fetched.errorCode === 0;
    });
  }

  async tryInit(
    transactionalId: string | null,
    options: {
      readonly version?: number;
      readonly timeoutMs?: number;
      readonly producerId?: bigint;
      readonly producerEpoch?: number;
    } = {},
  ) {
    const { version = 4, timeoutMs = 60_000, ...expected } = options;
    const answer = await this.client.send(InitProducerId, version, {
      transactionalId,
      transactionTimeoutMs: timeoutMs,
      ...expected,
    });
    return { ...answer, error: named(answer.errorCode) };
  }

  /** Asks again while an earlier transaction is being ended, as every client does. */
  async init(transactionalId: string, timeoutMs = 60_000): Promise<Producer> {
    for (let i = 0; i < RETRIES; i++) {
      const { error, producerId, producerEpoch } = await this.tryInit(transactionalId, {
        timeoutMs,
      });
      if (error === 'NONE') return { transactionalId, producerId, producerEpoch };
      if (error !== 'CONCURRENT_TRANSACTIONS') throw new Error(`${transactionalId}: ${error}`);
      await sleep(RETRY_MS);
    }
    throw new Error(`${transactionalId}: still CONCURRENT_TRANSACTIONS`);
  }

  /** One attempt; the codes of all partitions. */
  async tryAdd(
    producer: Producer,
    topics: Readonly<Record<string, readonly number[]>>,
    version = 3,
  ): Promise<string[]> {
    const { resultsByTopicV3AndBelow } = await this.client.send(AddPartitionsToTxn, version, {
      v3AndBelowTransactionalId: producer.transactionalId,
      v3AndBelowProducerId: producer.producerId,
      v3AndBelowProducerEpoch: producer.producerEpoch,
      v3AndBelowTopics: Object.entries(topics).map(([name, partitions]) => ({
        name,
        partitions: [...partitions],
      })),
    });
    // Kafka answers partitions in the order of a hash map.
    return resultsByTopicV3AndBelow
      .flatMap(({ name, resultsByPartition }) =>
        resultsByPartition.map((one) => ({ key: `${name} ${one.partitionIndex}`, ...one })),
      )
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ partitionErrorCode }) => named(partitionErrorCode));
  }

  async add(producer: Producer, topic: string, ...partitions: number[]): Promise<void> {
    await this.#settled(async () => (await this.tryAdd(producer, { [topic]: partitions }))[0]);
  }

  async tryAddOffsets(producer: Producer, groupId: string, version = 3): Promise<string> {
    const { errorCode } = await this.client.send(AddOffsetsToTxn, version, {
      ...producer,
      groupId,
    });
    return named(errorCode);
  }

  async addOffsets(producer: Producer, groupId: string): Promise<void> {
    await this.#settled(() => this.tryAddOffsets(producer, groupId));
  }

  async #settled(attempt: () => Promise<string | undefined>): Promise<void> {
    for (let i = 0; i < RETRIES; i++) {
      const error = await attempt();
      if (error === 'NONE') return;
      if (error !== 'CONCURRENT_TRANSACTIONS') throw new Error(error);
      await sleep(RETRY_MS);
    }
    throw new Error('still CONCURRENT_TRANSACTIONS');
  }

  async tryCommitOffset(
    producer: Producer,
    groupId: string,
    topic: string,
    committedOffset: bigint,
    options: CommitOptions = {},
  ): Promise<string> {
    const version = options.version ?? 3;
    const { topics } = await this.client.send(TxnOffsetCommit, version, {
      ...producer,
      groupId,
      ...(version < 3
        ? {}
        : {
            generationIdOrMemberEpoch: options.generation ?? -1,
            memberId: options.memberId ?? '',
            groupInstanceId: options.groupInstanceId ?? null,
          }),
      topics: [
        {
          name: topic,
          partitions: [
            {
              partitionIndex: options.partition ?? 0,
              committedOffset,
              committedMetadata: options.metadata ?? null,
            },
          ],
        },
      ],
    });
    return named(topics[0]?.partitions[0]?.errorCode ?? errorCodes.UNKNOWN_SERVER_ERROR);
  }

  async end(producer: Producer, committed: boolean, version = 3): Promise<string> {
    const { errorCode } = await this.client.send(EndTxn, version, { ...producer, committed });
    return named(errorCode);
  }

  /** One batch of the producer's transaction. */
  async send(
    producer: Producer,
    topic: string,
    values: readonly string[],
    options: SendOptions = {},
  ) {
    const index = options.partition ?? 0;
    const key = `${producer.producerId}/${producer.producerEpoch}/${topic}/${index}`;
    const baseSequence = options.baseSequence ?? this.#sequences.get(key) ?? 0;
    const records = batchOf(
      values.map((value) => ({ value })),
      {
        producerId: producer.producerId,
        producerEpoch: producer.producerEpoch,
        baseSequence,
        isTransactional: options.isTransactional ?? true,
      },
    );
    const { responses } = await this.client.send(Produce, options.version ?? 9, {
      acks: -1,
      timeoutMs: 10_000,
      transactionalId:
        options.transactionalId === undefined ? producer.transactionalId : options.transactionalId,
      topicData: [{ name: topic, partitionData: [{ index, records }] }],
    });
    const answer = responses[0]?.partitionResponses[0];
    if (answer === undefined) throw new Error('no answer for the partition');
    if (answer.errorCode === 0) this.#sequences.set(key, baseSequence + values.length);
    return { error: named(answer.errorCode), baseOffset: answer.baseOffset };
  }

  async fetch(
    topic: string,
    isolationLevel: 0 | 1,
    fetchOffset = 0n,
    partition = 0,
  ): Promise<FetchResponse['responses'][number]['partitions'][number]> {
    const response: FetchResponse = await this.client.send(Fetch, 12, {
      maxWaitMs: 0,
      minBytes: 1,
      maxBytes: 1 << 20,
      isolationLevel,
      sessionId: 0,
      sessionEpoch: -1,
      topics: [{ topic, partitions: [{ partition, fetchOffset, partitionMaxBytes: 1 << 20 }] }],
    });
    const answer = response.responses[0]?.partitions[0];
    if (answer === undefined) throw new Error('no answer for the partition');
    return answer;
  }

  /** What a consumer makes of the log: values of data records, without aborted ones if it wants none. */
  async read(topic: string, isolationLevel: 0 | 1, partition = 0): Promise<string[]> {
    const values: string[] = [];
    let offset = 0n;
    for (;;) {
      const answer = await this.fetch(topic, isolationLevel, offset, partition);
      const aborted = [...(answer.abortedTransactions ?? [])].sort((a, b) =>
        a.firstOffset < b.firstOffset ? -1 : 1,
      );
      const open = new Set<bigint>();
      const batches = new BatchIterator(answer.records ?? Buffer.alloc(0));
      const cursor = new RecordCursor();
      const from = offset;
      for (let batch = batches.next(); batch !== null; batch = batches.next()) {
        offset = batch.nextOffset;
        while (aborted[0] !== undefined && aborted[0].firstOffset <= batch.lastOffset) {
          open.add(aborted[0].producerId);
          aborted.shift();
        }
        if (batch.isControl) {
          open.delete(batch.producerId);
          continue;
        }
        if (batch.isTransactional && open.has(batch.producerId)) continue;
        cursor.open(batch);
        while (cursor.next()) values.push(cursor.value()?.toString() ?? '(null)');
      }
      if (offset === from) return values;
    }
  }

  latest(name: string, isolationLevel: 0 | 1, partitionIndex = 0): Promise<bigint> {
    return this.offsetAt(name, isolationLevel, -1n, partitionIndex);
  }

  /** By time, or Kafka's negative ones; -1: none, or an error. */
  async offsetAt(
    name: string,
    isolationLevel: 0 | 1,
    timestamp: bigint,
    partitionIndex = 0,
  ): Promise<bigint> {
    const { topics } = await this.client.send(ListOffsets, 7, {
      replicaId: -1,
      isolationLevel,
      topics: [{ name, partitions: [{ partitionIndex, timestamp, currentLeaderEpoch: -1 }] }],
    });
    const answer = topics[0]?.partitions[0];
    return answer?.errorCode === 0 ? answer.offset : -1n;
  }

  /** `offset`, or the error's name. */
  async committed(
    groupId: string,
    topic: string,
    requireStable = false,
    partition = 0,
  ): Promise<bigint | string> {
    const { topics } = await this.client.send(OffsetFetch, 7, {
      groupId,
      topics: [{ name: topic, partitionIndexes: [partition] }],
      requireStable,
    });
    const answer = topics[0]?.partitions[0];
    if (answer === undefined) return 'no answer';
    return answer.errorCode === 0 ? answer.committedOffset : named(answer.errorCode);
  }
}

/** Waits until `condition` holds, which Kafka's coordinators bring about behind their answers. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < RETRIES; i++) {
    if (await condition()) return;
    await sleep(RETRY_MS);
  }
  throw new Error('it did not come about');
}
