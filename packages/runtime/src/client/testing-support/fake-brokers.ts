import {
  InitProducerId,
  Metadata,
  Produce,
  RecordBatch,
  RecordCursor,
  ZERO_UUID,
  errorCodes,
  incrementSequence,
} from '@millrace/protocol';
import type { ProduceRequest } from '@millrace/protocol';
import { ConnectionError } from '../errors.ts';
import { topicPartitionKey } from '../ports.ts';
import { FakeCoordinator } from './fake-coordinator.ts';
import type { FakeTransport } from './fake-transport.ts';

interface WrittenBatch {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** `none`: of no transaction. */
  outcome: 'none' | 'open' | 'committed' | 'aborted';
  readonly values: readonly string[];
  readonly baseSequence: number;
  readonly recordCount: number;
  readonly baseOffset: bigint;
}

/** One partition's log with the memory of sequences that a Kafka leader has: the last five batches of each producer. */
export class FakePartition {
  readonly values: string[] = [];
  readonly batches: WrittenBatch[] = [];
  leader = 1;
  leaderEpoch = 0;

  append(records: Buffer): { errorCode: number; baseOffset: bigint } {
    const batch = new RecordBatch(records);
    batch.ensureValid();
    const { producerId, producerEpoch, baseSequence, recordCount } = batch;
    const ofProducer = this.batches.filter((each) => each.producerId === producerId);
    if (ofProducer.some((each) => each.producerEpoch > producerEpoch)) {
      return { errorCode: errorCodes.INVALID_PRODUCER_EPOCH, baseOffset: -1n };
    }
    const own = ofProducer.filter((each) => each.producerEpoch === producerEpoch);
    const duplicate = own
      .slice(-5)
      .find((each) => each.baseSequence === baseSequence && each.recordCount === recordCount);
    if (duplicate !== undefined) return { errorCode: 0, baseOffset: duplicate.baseOffset };
    const last = own.at(-1);
    const expected =
      last === undefined ? 0 : incrementSequence(last.baseSequence, last.recordCount);
    // Nothing is known of the producer: any sequence starts.
    if (baseSequence !== expected && ofProducer.length > 0) {
      return { errorCode: errorCodes.OUT_OF_ORDER_SEQUENCE_NUMBER, baseOffset: -1n };
    }
    const baseOffset = BigInt(this.values.length);
    const cursor = new RecordCursor();
    cursor.open(batch);
    const values: string[] = [];
    while (cursor.next()) values.push(cursor.value()?.toString() ?? '<null>');
    this.values.push(...values);
    const outcome = batch.isTransactional ? 'open' : 'none';
    this.batches.push({
      producerId,
      producerEpoch,
      baseSequence,
      recordCount,
      baseOffset,
      outcome,
      values,
    });
    return { errorCode: 0, baseOffset };
  }

  endTransaction(producerId: bigint, isCommit: boolean): void {
    for (const batch of this.batches) {
      if (batch.producerId !== producerId || batch.outcome !== 'open') continue;
      batch.outcome = isCommit ? 'committed' : 'aborted';
    }
  }

  /** What a reader of committed records gets. */
  get committedValues(): string[] {
    const end = this.batches.findIndex(({ outcome }) => outcome === 'open');
    return this.batches
      .slice(0, end < 0 ? undefined : end)
      .flatMap(({ outcome, values }) => (outcome === 'aborted' ? [] : values));
  }

  moveTo(leader: number): void {
    this.leader = leader;
    this.leaderEpoch++;
  }
}

/** What happens to one produce request. */
export type Fate = 'served' | 'lost before it is written' | 'lost after it is written';

/** Brokers 1 to n behind a fake transport: metadata, producer ids, produce, transactions. */
export class FakeBrokers {
  readonly partitions = new Map<string, FakePartition>();
  readonly #partitionCounts = new Map<string, number>();
  /** As brokers before 2.8 unless it is set. */
  readonly topicIds = new Map<string, string>();
  nextProducerId = 1000n;
  /** Of each produce request in turn; by default all are served. */
  fate: (request: ProduceRequest, nodeId: number) => Fate = () => 'served';
  /** Code to answer a partition with, instead of appending; 0 appends. */
  refuse: (topic: string, partition: number, records: Buffer) => number = () => 0;
  readonly coordinator: FakeCoordinator;
  /** Awaited before a produce request is looked at. */
  delay: (nodeId: number) => Promise<void> = () => Promise.resolve();

  constructor(transport: FakeTransport, nodeCount = 1) {
    const brokers = Array.from({ length: nodeCount }, (_, i) => ({
      nodeId: i + 1,
      host: 'fake',
      port: i + 1,
    }));
    transport.on(Metadata, ({ body }) => ({
      brokers,
      controllerId: 1,
      topics: (body.topics ?? []).map(({ name }) => {
        const count = this.#partitionCounts.get(name ?? '');
        if (name === null || count === undefined) {
          return { errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION, name, partitions: [] };
        }
        const partitions = Array.from({ length: count }, (_, partitionIndex) => {
          const { leader, leaderEpoch } = this.partition(name, partitionIndex);
          const errorCode = leader < 0 ? errorCodes.LEADER_NOT_AVAILABLE : 0;
          return { errorCode, partitionIndex, leaderId: leader, leaderEpoch };
        });
        return { errorCode: 0, name, topicId: this.topicIds.get(name) ?? ZERO_UUID, partitions };
      }),
    }));
    this.coordinator = new FakeCoordinator(transport, (producerId, partitions, isCommit) => {
      for (const key of partitions) this.partitions.get(key)?.endTransaction(producerId, isCommit);
    });
    const ofTransactions = transport.handler(InitProducerId);
    transport.on(InitProducerId, (request) => {
      if (request.body.transactionalId !== null) return ofTransactions(request);
      return { errorCode: 0, producerId: this.nextProducerId++, producerEpoch: 0 };
    });
    transport.on(Produce, async ({ nodeId, body }) => {
      await this.delay(nodeId);
      const fate = this.fate(body, nodeId);
      if (fate === 'lost before it is written') throw new ConnectionError('lost before');
      const responses = body.topicData.map(({ name, partitionData }) => ({
        name,
        partitionResponses: partitionData.map(({ index, records }) => {
          const partition = this.partition(name, index);
          if (partition.leader !== nodeId) {
            return { index, errorCode: errorCodes.NOT_LEADER_OR_FOLLOWER, baseOffset: -1n };
          }
          const refused = this.refuse(name, index, records ?? Buffer.alloc(0));
          if (refused !== 0) return { index, errorCode: refused, baseOffset: -1n };
          const batch = new RecordBatch(records ?? Buffer.alloc(0));
          if (batch.isTransactional) {
            const errorCode = this.coordinator.verify(
              body.transactionalId,
              batch.producerId,
              batch.producerEpoch,
              topicPartitionKey(name, index),
            );
            if (errorCode !== 0) return { index, errorCode, baseOffset: -1n };
          }
          return { index, ...partition.append(records ?? Buffer.alloc(0)) };
        }),
      }));
      if (fate === 'lost after it is written') throw new ConnectionError('lost after');
      return { responses };
    });
  }

  addTopic(topic: string, partitionCount: number): void {
    this.#partitionCounts.set(topic, partitionCount);
  }

  deleteTopic(topic: string): void {
    this.#partitionCounts.delete(topic);
    for (const key of [...this.partitions.keys()]) {
      if (key.startsWith(`${topic}-`)) this.partitions.delete(key);
    }
  }

  partition(topic: string, partition: number): FakePartition {
    const key = topicPartitionKey(topic, partition);
    let found = this.partitions.get(key);
    if (found === undefined) {
      found = new FakePartition();
      this.partitions.set(key, found);
    }
    return found;
  }
}
