import {
  AddOffsetsToTxn,
  AddPartitionsToTxn,
  EndTxn,
  errorCodes,
  FindCoordinator,
  InitProducerId,
  Metadata,
  Produce,
  RecordBatch,
  TxnOffsetCommit,
} from '@millrace/protocol';
import type { AddPartitionsToTxnRequest, Api, ProduceRequest } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../logging/logger.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { FakeClock, settle } from '../../testing-support/fake-clock.ts';
import { ConnectionError } from '../errors.ts';
import { PartitionAccumulator } from '../partition-accumulator.ts';
import type {
  GroupMetadata,
  OffsetsToCommit,
  TransactionalProducerOptions,
  UndeliveredBatch,
} from '../ports.ts';
import { FakeBrokers } from '../testing-support/fake-brokers.ts';
import type { Mishap } from '../testing-support/fake-coordinator.ts';
import { FakeTransport } from '../testing-support/fake-transport.ts';
import { TransactionalProducer } from './transactional-producer.ts';

const text: RecordSerde<string> = {
  name: 'text',
  serialize: (value) => Buffer.from(value),
  deserialize: (bytes) => Buffer.from(bytes).toString(),
  write: (value, target, position) =>
    position + Buffer.byteLength(value) > target.length
      ? -1
      : position + target.write(value, position),
  read: (source, start, end) => source.toString('utf8', start, end),
};

const group: GroupMetadata = {
  groupId: 'group',
  generation: 1,
  memberId: 'member',
  groupInstanceId: 'static',
};
const nothing: OffsetsToCommit = new Map();

function offsets(offset: bigint): OffsetsToCommit {
  return new Map([['in-0', { topic: 'in', partition: 0, offset, metadata: 'm' }]]);
}

/** The requests of a transaction, in the order of one that goes well. */
const requests = [
  FindCoordinator,
  InitProducerId,
  AddPartitionsToTxn,
  Produce,
  AddOffsetsToTxn,
  TxnOffsetCommit,
  EndTxn,
];

class Harness {
  readonly clock = new FakeClock();
  readonly transport = new FakeTransport();
  readonly brokers: FakeBrokers;
  readonly producer: TransactionalProducer;

  constructor(options: Partial<TransactionalProducerOptions> = {}, nodeCount = 1) {
    this.brokers = new FakeBrokers(this.transport, nodeCount);
    this.brokers.addTopic('out', 4);
    this.producer = this.open(options);
  }

  open(options: Partial<TransactionalProducerOptions> = {}): TransactionalProducer {
    const { transport, clock } = this;
    return new TransactionalProducer(
      { transport, clock, random: () => 0.5, logger: silentLogger() },
      {
        transactionalId: 'tx',
        maxBlockMs: 5_000,
        lingerMs: 5,
        batchBytes: 16_384,
        grownBatchBytes: 0,
        bufferBytes: 1 << 20,
        requestTimeoutMs: 1_000,
        deliveryTimeoutMs: 10_000,
        compression: 'none',
        onDrained: () => undefined,
        ...options,
      },
    );
  }

  get coordinator() {
    return this.brokers.coordinator;
  }

  /** What the log says that a reader of committed records gets. */
  committed(partition = 0): string[] {
    return this.brokers.partition('out', partition).committedValues;
  }

  append(partition: number, ...values: string[]): void {
    const buffer = this.producer.partition('out', partition);
    const key = Buffer.from('k');
    for (const value of values) {
      buffer.append(1_000, key, 0, key.length, value, text, null);
    }
  }

  /** The error, or null, while the clock goes on. */
  async run(promise: Promise<unknown>): Promise<(Error & { code?: string }) | null> {
    let result: Error | null | undefined;
    promise.then(
      () => (result = null),
      (error: unknown) => (result = error as Error),
    );
    await settle();
    for (let i = 0; i < 1_000 && result === undefined; i++) await this.clock.advance(20);
    if (result === undefined) throw new Error('it does not end');
    return result;
  }

  async ready(): Promise<this> {
    expect(await this.run(this.producer.initTransactions())).toBeNull();
    return this;
  }

  commit(committed: OffsetsToCommit = nothing, as = group) {
    return this.run(this.producer.commitTransaction(committed, as));
  }

  abort() {
    return this.run(this.producer.abortTransaction());
  }

  counts(): number[] {
    return requests.map((api) => this.transport.count(api));
  }

  /** Names of the APIs that were asked since the last call, without metadata. */
  asked(): string[] {
    return this.transport.sent
      .splice(0)
      .map(({ apiName }) => apiName)
      .filter((name) => name !== Metadata.name);
  }

  bodies<T>({ name }: { readonly name: string }): T[] {
    return this.transport.sent
      .filter(({ apiName }) => apiName === name)
      .map(({ body }) => body as T);
  }

  /** After anything: the producer goes on, and what it says is committed is what was. */
  async goesOn(): Promise<void> {
    this.append(0, 'next');
    expect(await this.commit(offsets(99n))).toBeNull();
    expect(this.committed().at(-1)).toBe('next');
    expect(this.coordinator.committed.get('group/in-0')).toBe(99n);
  }

  get epoch(): number | undefined {
    return this.coordinator.transactions.get('tx')?.epoch;
  }
}

function batchesOf(harness: Harness): RecordBatch[] {
  return harness
    .bodies<ProduceRequest>(Produce)
    .flatMap(({ topicData }) => topicData)
    .flatMap(({ partitionData }) => partitionData)
    .map(({ records }) => new RecordBatch(records ?? Buffer.alloc(0)));
}

describe('TransactionalProducer', () => {
  it('commits records of several partitions and offsets, request by request', async () => {
    const harness = await new Harness({ transactionTimeoutMs: 10_000 }).ready();
    expect(harness.bodies(InitProducerId)).toMatchObject([
      { transactionalId: 'tx', transactionTimeoutMs: 10_000, producerId: -1n, producerEpoch: -1 },
    ]);
    expect(harness.asked()).toEqual([FindCoordinator.name, InitProducerId.name]);
    harness.append(0, 'a', 'b');
    harness.append(1, 'c');
    harness.append(2, 'd');
    const committing = harness.commit(offsets(7n));
    expect(await committing).toBeNull();
    expect(harness.bodies(AddPartitionsToTxn)).toMatchObject([
      {
        v3AndBelowTransactionalId: 'tx',
        v3AndBelowTopics: [{ name: 'out', partitions: [0, 1, 2] }],
      },
    ]);
    expect(harness.bodies(Produce)).toMatchObject([{ transactionalId: 'tx', acks: -1 }]);
    for (const batch of batchesOf(harness)) {
      expect(batch).toMatchObject({ isTransactional: true, producerId: 5_000n, producerEpoch: 0 });
    }
    expect(harness.bodies(TxnOffsetCommit)).toMatchObject([
      {
        transactionalId: 'tx',
        groupId: 'group',
        producerId: 5_000n,
        producerEpoch: 0,
        generationIdOrMemberEpoch: 1,
        memberId: 'member',
        groupInstanceId: 'static',
        topics: [{ name: 'in', partitions: [{ committedOffset: 7n, committedMetadata: 'm' }] }],
      },
    ]);
    expect(harness.bodies(EndTxn)).toMatchObject([{ committed: true }]);
    expect(harness.asked()).toEqual([
      AddPartitionsToTxn.name,
      Produce.name,
      AddOffsetsToTxn.name,
      FindCoordinator.name,
      TxnOffsetCommit.name,
      EndTxn.name,
    ]);
    expect(harness.committed(0)).toEqual(['a', 'b']);
    expect(harness.committed(2)).toEqual(['d']);
    expect(harness.coordinator.committed.get('group/in-0')).toBe(7n);
    // Sequences go on over transactions, and coordinators are known by now.
    harness.append(0, 'e');
    expect(await harness.commit(offsets(8n))).toBeNull();
    expect(batchesOf(harness).map(({ baseSequence }) => baseSequence)).toEqual([2]);
    expect(harness.asked()).toEqual([
      AddPartitionsToTxn.name,
      Produce.name,
      AddOffsetsToTxn.name,
      TxnOffsetCommit.name,
      EndTxn.name,
    ]);
    await harness.run(harness.producer.close(1_000));
    expect(harness.clock.timerCount).toBe(0);
  });

  it('86: sends nothing where there is nothing, and offsets alone in a transaction (KAFKA-13319, kafkajs#1388)', async () => {
    const harness = await new Harness().ready();
    harness.asked();
    expect(await harness.commit()).toBeNull();
    expect(await harness.abort()).toBeNull();
    expect(await harness.run(harness.producer.flush())).toBeNull();
    expect(harness.asked()).toEqual([]);
    expect(await harness.commit(offsets(3n))).toBeNull();
    expect(harness.asked()).toEqual([
      AddOffsetsToTxn.name,
      FindCoordinator.name,
      TxnOffsetCommit.name,
      EndTxn.name,
    ]);
    expect(harness.coordinator.committed.get('group/in-0')).toBe(3n);
  });

  it('adds later partitions without holding up those that are added already', async () => {
    const harness = await new Harness().ready();
    harness.append(0, 'a');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    harness.coordinator.mishap(AddPartitionsToTxn, errorCodes.COORDINATOR_LOAD_IN_PROGRESS);
    harness.append(1, 'b');
    harness.append(0, 'c');
    await harness.clock.advance(10);
    expect(harness.brokers.partition('out', 0).values).toEqual(['a', 'c']);
    expect(harness.brokers.partition('out', 1).values).toEqual([]);
    await harness.clock.advance(100);
    expect(harness.brokers.partition('out', 1).values).toEqual(['b']);
    expect(
      harness
        .bodies<AddPartitionsToTxnRequest>(AddPartitionsToTxn)
        .map(({ v3AndBelowTopics }) => v3AndBelowTopics[0]?.partitions),
    ).toEqual([[0], [1], [1]]);
  });

  it('waits briefly for the end of the transaction before, while records go into buffers', async () => {
    const harness = await new Harness({ lingerMs: 0 }).ready();
    const busy = Array<Mishap>(3).fill(errorCodes.CONCURRENT_TRANSACTIONS);
    harness.coordinator.mishap(AddPartitionsToTxn, ...busy);
    harness.append(0, 'a');
    await harness.clock.advance(19);
    expect(harness.transport.count(AddPartitionsToTxn)).toBe(1);
    harness.append(0, 'b');
    harness.append(1, 'c');
    await harness.clock.advance(1);
    expect(harness.transport.count(AddPartitionsToTxn)).toBe(2);
    await harness.clock.advance(40);
    expect(harness.transport.count(AddPartitionsToTxn)).toBe(3);
    expect(harness.transport.count(Produce)).toBe(0);
    await harness.clock.advance(80);
    expect(await harness.commit()).toBeNull();
    expect(harness.committed(0)).toEqual(['a', 'b']);
    expect(harness.committed(1)).toEqual(['c']);
    // The same for offsets alone; but the usual back-off once something was added.
    harness.coordinator.mishap(AddOffsetsToTxn, errorCodes.CONCURRENT_TRANSACTIONS);
    const startedAt = harness.clock.monotonicMs();
    expect(await harness.commit(offsets(1n))).toBeNull();
    expect(harness.clock.monotonicMs() - startedAt).toBeLessThanOrEqual(20);
    harness.append(0, 'd');
    harness.coordinator.mishap(AddOffsetsToTxn, errorCodes.CONCURRENT_TRANSACTIONS);
    expect(await harness.commit(offsets(2n))).toBeNull();
    expect(harness.clock.monotonicMs() - startedAt).toBeGreaterThanOrEqual(100);
  });

  it('keeps what is appended during a commit for the transaction after it', async () => {
    const harness = await new Harness({ lingerMs: 0 }).ready();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    harness.brokers.delay = () => held;
    harness.append(0, 'a');
    const committing = harness.producer.commitTransaction(nothing, group);
    harness.append(0, 'b');
    harness.append(1, 'c');
    await harness.clock.advance(50);
    expect(harness.transport.count(Produce)).toBe(1);
    expect(harness.transport.count(AddPartitionsToTxn)).toBe(1);
    release();
    expect(await harness.run(committing)).toBeNull();
    expect(harness.committed(0)).toEqual(['a']);
    await harness.clock.advance(50);
    expect(harness.brokers.partition('out', 0).values).toEqual(['a', 'b']);
    expect(await harness.abort()).toBeNull();
    harness.append(1, 'd');
    expect(await harness.commit()).toBeNull();
    expect(harness.committed(0)).toEqual(['a']);
    expect(harness.committed(1)).toEqual(['d']);
  });

  it('drops what was buffered when it aborts, and waits for what is under way', async () => {
    const harness = await new Harness({ lingerMs: 0, batchBytes: 100 }).ready();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    harness.brokers.delay = () => held;
    harness.append(0, 'under way');
    await harness.clock.advance(1);
    harness.append(0, 'queued'.padEnd(50), 'queued, too'.padEnd(50), 'open');
    harness.append(1, 'waiting');
    const aborting = harness.producer.abortTransaction();
    expect(() => {
      harness.append(2, 'too late');
    }).toThrow(/cannot append records in state aborting/);
    await harness.clock.advance(100);
    expect(harness.transport.count(EndTxn)).toBe(0);
    release();
    expect(await harness.run(aborting)).toBeNull();
    expect(harness.bodies(EndTxn)).toMatchObject([{ committed: false }]);
    // Nothing is uncertain, so the epoch is the same.
    expect(harness.epoch).toBe(0);
    expect(harness.producer.isFull).toBe(false);
    await harness.goesOn();
    expect(harness.brokers.partition('out', 0).values.slice(-1)).toEqual(['next']);
    expect(harness.committed()).toEqual(['next']);
    expect(harness.committed(1)).toEqual([]);
  });

  it('notices during an abort that it was fenced', async () => {
    const harness = await new Harness().ready();
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    const serve = harness.transport.handler(AddPartitionsToTxn);
    harness.transport.on(AddPartitionsToTxn, async (request) => {
      await held;
      return serve(request);
    });
    harness.append(0, 'a');
    await harness.clock.advance(10);
    const aborting = harness.producer.abortTransaction();
    expect(await harness.run(harness.open().initTransactions())).toBeNull();
    answer();
    expect(await harness.run(aborting)).toMatchObject({ code: 'TASK_MIGRATED' });
    expect(harness.producer.isFatal).toBe(true);
    expect(harness.transport.count(EndTxn)).toBe(0);
  });

  it('goes round with its sequences, as brokers do', async () => {
    const harness = await new Harness({ lingerMs: 0, batchBytes: 90 }).ready();
    harness.append(0, 'a');
    expect(await harness.commit()).toBeNull();
    const buffer = harness.producer.partition('out', 0);
    if (!(buffer instanceof PartitionAccumulator)) throw new Error('another kind of buffer');
    buffer.nextSequence = 0x7fffffff;
    harness.brokers.partition('out', 0).batches.length = 0;
    harness.transport.sent.length = 0;
    harness.append(0, 'b', 'c', 'd', 'e');
    expect(await harness.commit()).toBeNull();
    expect(batchesOf(harness).map(({ baseSequence }) => baseSequence)).toEqual([0x7fffffff, 2]);
    expect(harness.committed()).toEqual(['b', 'c', 'd', 'e']);
    expect(harness.epoch).toBe(0);
  });

  it('refuses calls that make no sense, in words', async () => {
    const harness = new Harness();
    expect((await harness.commit(offsets(1n)))?.message).toMatch(/cannot commit in state uninit/);
    expect(await harness.abort()).toBeNull();
    await harness.ready();
    expect((await harness.run(harness.producer.initTransactions()))?.code).toBe('INVARIANT');
    harness.append(0, 'a');
    const committing = harness.producer.commitTransaction(nothing, group);
    expect((await harness.abort())?.message).toMatch(/cannot abort in state committing/);
    expect(await harness.run(committing)).toBeNull();
  });
});

/** What a call does with each kind of answer. */
type Fate = 'again' | 'again, at the coordinator found anew' | 'abortable' | 'new epoch' | 'fatal';

const code = errorCodes;

interface Step {
  readonly api: (typeof requests)[number];
  readonly answers: readonly (readonly [Mishap, Fate, string])[];
}

/** `code` of the error in the last place. */
const steps: readonly Step[] = [
  {
    api: AddPartitionsToTxn,
    answers: [
      [code.NOT_COORDINATOR, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_NOT_AVAILABLE, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_LOAD_IN_PROGRESS, 'again', ''],
      [code.UNKNOWN_TOPIC_OR_PARTITION, 'again', ''],
      [code.CONCURRENT_TRANSACTIONS, 'again', ''],
      ['lost before', 'again, at the coordinator found anew', ''],
      ['lost after', 'again, at the coordinator found anew', ''],
      [code.PRODUCER_FENCED, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_EPOCH, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_ID_MAPPING, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_TXN_STATE, 'fatal', 'BROKER_ERROR'],
      [code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'fatal', 'AUTHORIZATION_FAILED'],
      [code.TOPIC_AUTHORIZATION_FAILED, 'abortable', 'AUTHORIZATION_FAILED'],
      [code.OPERATION_NOT_ATTEMPTED, 'abortable', 'TASK_CORRUPTED'],
      [code.TRANSACTION_ABORTABLE, 'abortable', 'TASK_CORRUPTED'],
      [code.UNKNOWN_PRODUCER_ID, 'new epoch', 'TASK_CORRUPTED'],
    ],
  },
  {
    api: Produce,
    answers: [
      [code.NOT_LEADER_OR_FOLLOWER, 'again', ''],
      [code.NOT_ENOUGH_REPLICAS, 'again', ''],
      [code.CONCURRENT_TRANSACTIONS, 'again', ''],
      ['lost before', 'again', ''],
      ['lost after', 'again', ''],
      [code.PRODUCER_FENCED, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_ID_MAPPING, 'fatal', 'TASK_MIGRATED'],
      [code.CLUSTER_AUTHORIZATION_FAILED, 'fatal', 'AUTHORIZATION_FAILED'],
      [code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'fatal', 'AUTHORIZATION_FAILED'],
      [code.INVALID_PRODUCER_EPOCH, 'new epoch', 'TASK_MIGRATED'],
      [code.OUT_OF_ORDER_SEQUENCE_NUMBER, 'new epoch', 'TASK_MIGRATED'],
      [code.UNKNOWN_PRODUCER_ID, 'new epoch', 'TASK_MIGRATED'],
      [code.INVALID_TXN_STATE, 'new epoch', 'TASK_CORRUPTED'],
      [code.TRANSACTION_ABORTABLE, 'new epoch', 'TASK_CORRUPTED'],
      [code.TOPIC_AUTHORIZATION_FAILED, 'new epoch', 'AUTHORIZATION_FAILED'],
      [code.INVALID_RECORD, 'new epoch', 'PRODUCTION_FAILED'],
    ],
  },
  {
    api: AddOffsetsToTxn,
    answers: [
      [code.NOT_COORDINATOR, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_NOT_AVAILABLE, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_LOAD_IN_PROGRESS, 'again', ''],
      [code.CONCURRENT_TRANSACTIONS, 'again', ''],
      ['lost before', 'again, at the coordinator found anew', ''],
      ['lost after', 'again, at the coordinator found anew', ''],
      [code.PRODUCER_FENCED, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_EPOCH, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_ID_MAPPING, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_TXN_STATE, 'fatal', 'BROKER_ERROR'],
      [code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'fatal', 'AUTHORIZATION_FAILED'],
      [code.UNKNOWN_SERVER_ERROR, 'fatal', 'BROKER_ERROR'],
      [code.GROUP_AUTHORIZATION_FAILED, 'abortable', 'AUTHORIZATION_FAILED'],
      [code.TRANSACTION_ABORTABLE, 'abortable', 'TASK_CORRUPTED'],
      [code.UNKNOWN_PRODUCER_ID, 'new epoch', 'TASK_CORRUPTED'],
    ],
  },
  {
    api: TxnOffsetCommit,
    answers: [
      [code.NOT_COORDINATOR, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_NOT_AVAILABLE, 'again, at the coordinator found anew', ''],
      [code.REQUEST_TIMED_OUT, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_LOAD_IN_PROGRESS, 'again', ''],
      [code.UNKNOWN_TOPIC_OR_PARTITION, 'again', ''],
      ['lost before', 'again, at the coordinator found anew', ''],
      ['lost after', 'again, at the coordinator found anew', ''],
      [code.ILLEGAL_GENERATION, 'abortable', 'TASK_MIGRATED'],
      [code.UNKNOWN_MEMBER_ID, 'abortable', 'TASK_MIGRATED'],
      [code.FENCED_INSTANCE_ID, 'abortable', 'TASK_MIGRATED'],
      [code.GROUP_ID_NOT_FOUND, 'abortable', 'TASK_MIGRATED'],
      [code.STALE_MEMBER_EPOCH, 'abortable', 'TASK_MIGRATED'],
      [code.GROUP_AUTHORIZATION_FAILED, 'abortable', 'AUTHORIZATION_FAILED'],
      [code.TRANSACTION_ABORTABLE, 'abortable', 'TASK_CORRUPTED'],
      [code.PRODUCER_FENCED, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_EPOCH, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_ID_MAPPING, 'fatal', 'TASK_MIGRATED'],
      [code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'fatal', 'AUTHORIZATION_FAILED'],
      [code.UNSUPPORTED_FOR_MESSAGE_FORMAT, 'fatal', 'BROKER_ERROR'],
      [code.OFFSET_METADATA_TOO_LARGE, 'fatal', 'BROKER_ERROR'],
    ],
  },
  {
    api: EndTxn,
    answers: [
      [code.NOT_COORDINATOR, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_NOT_AVAILABLE, 'again, at the coordinator found anew', ''],
      [code.COORDINATOR_LOAD_IN_PROGRESS, 'again', ''],
      [code.CONCURRENT_TRANSACTIONS, 'again', ''],
      ['lost before', 'again, at the coordinator found anew', ''],
      ['lost after', 'again, at the coordinator found anew', ''],
      [code.PRODUCER_FENCED, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_EPOCH, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_PRODUCER_ID_MAPPING, 'fatal', 'TASK_MIGRATED'],
      [code.INVALID_TXN_STATE, 'fatal', 'BROKER_ERROR'],
      [code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 'fatal', 'AUTHORIZATION_FAILED'],
      [code.TRANSACTION_ABORTABLE, 'abortable', 'TASK_CORRUPTED'],
      [code.UNKNOWN_PRODUCER_ID, 'new epoch', 'TASK_CORRUPTED'],
    ],
  },
];

const cases = steps.flatMap(({ api, answers }) =>
  answers.map(([mishap, fate, errorCode]) => {
    const found = Object.entries(code).find(([, value]) => value === mishap)?.[0];
    return { api, mishap, fate, errorCode, name: `${api.name}: ${found ?? mishap} → ${fate}` };
  }),
);

describe('82: one answer during a transaction (KAFKA-7284, KAFKA-9231, KAFKA-10813, KAFKA-16699)', () => {
  function once(harness: Harness, api: Step['api'], mishap: Mishap): void {
    if (api !== Produce) {
      harness.coordinator.mishap(api, mishap);
      return;
    }
    let isDone = false;
    const first = (): boolean => !isDone && (isDone = true);
    if (typeof mishap === 'number') harness.brokers.refuse = () => (first() ? mishap : 0);
    else {
      harness.brokers.fate = () =>
        !first()
          ? 'served'
          : mishap === 'lost before'
            ? 'lost before it is written'
            : 'lost after it is written';
    }
  }

  it.each(cases)('$name $errorCode', async ({ api, mishap, fate, errorCode }) => {
    const harness = await new Harness().ready();
    harness.append(0, 'before');
    expect(await harness.commit(offsets(1n))).toBeNull();
    const finds = harness.transport.count(FindCoordinator);
    once(harness, api, mishap);
    harness.append(0, 'a', 'b');
    harness.append(1, 'c');
    const error = await harness.commit(offsets(2n));
    if (fate === 'again' || fate === 'again, at the coordinator found anew') {
      expect(error).toBeNull();
      expect(harness.committed()).toEqual(['before', 'a', 'b']);
      expect(harness.coordinator.committed.get('group/in-0')).toBe(2n);
      const found = harness.transport.count(FindCoordinator) - finds;
      expect(found).toBe(fate === 'again' ? 0 : 1);
      expect(harness.epoch).toBe(0);
      await harness.goesOn();
      // What had no answer may come late: not into the next transaction.
      const mayBeLate = typeof mishap === 'string' && api !== Produce;
      expect(harness.epoch).toBe(mayBeLate ? 1 : 0);
      return;
    }
    expect(error?.code).toBe(errorCode);
    expect(harness.committed()).toEqual(['before']);
    expect(harness.coordinator.committed.get('group/in-0')).toBe(1n);
    expect(harness.producer.failure).toBe(error);
    expect(() => {
      harness.append(3, 'x');
    }).toThrow(error?.message);
    expect(await harness.run(harness.producer.flush())).toBe(error);
    expect(await harness.commit()).toBe(error);
    expect(harness.producer.isFatal).toBe(fate === 'fatal');
    if (fate === 'fatal') {
      expect(await harness.abort()).toBe(error);
      return;
    }
    expect(await harness.abort()).toBeNull();
    expect(harness.producer.failure).toBeNull();
    expect(harness.epoch).toBe(fate === 'new epoch' ? 1 : 0);
    expect(harness.committed()).toEqual(['before']);
    await harness.goesOn();
    expect(harness.committed()).toEqual(['before', 'next']);
  });
});

describe('finding the group', () => {
  it.each([
    [code.COORDINATOR_NOT_AVAILABLE, null, false],
    [code.COORDINATOR_LOAD_IN_PROGRESS, null, false],
    ['lost before', null, false],
    [code.GROUP_AUTHORIZATION_FAILED, 'AUTHORIZATION_FAILED', false],
    [code.TRANSACTION_ABORTABLE, 'TASK_CORRUPTED', false],
    [code.INVALID_GROUP_ID, 'BROKER_ERROR', true],
  ] as const)('%s: %s', async (mishap, errorCode, isFatal) => {
    const harness = await new Harness().ready();
    harness.coordinator.mishap(FindCoordinator, mishap);
    harness.append(0, 'a');
    const error = await harness.commit(offsets(1n));
    expect(error?.code ?? null).toBe(errorCode);
    expect(harness.producer.isFatal).toBe(isFatal);
    if (isFatal) return;
    expect(await harness.abort()).toBeNull();
    expect(harness.epoch).toBe(0);
    await harness.goesOn();
  });
});

describe('initTransactions', () => {
  it.each([
    [code.NOT_COORDINATOR],
    [code.COORDINATOR_NOT_AVAILABLE],
    [code.COORDINATOR_LOAD_IN_PROGRESS],
    [code.CONCURRENT_TRANSACTIONS],
    [code.REQUEST_TIMED_OUT],
    ['lost before'],
    ['lost after'],
  ] as const)('is tried again after %s', async (mishap) => {
    const harness = new Harness();
    harness.coordinator.mishap(InitProducerId, mishap, mishap);
    await harness.ready();
    await harness.goesOn();
  });

  it.each([
    [code.COORDINATOR_NOT_AVAILABLE],
    [code.COORDINATOR_LOAD_IN_PROGRESS],
    ['lost before'],
  ] as const)('looks for its coordinator again after %s', async (mishap) => {
    const harness = new Harness();
    harness.coordinator.mishap(FindCoordinator, mishap, mishap);
    await harness.ready();
    await harness.goesOn();
  });

  it.each([
    [code.PRODUCER_FENCED, 'TASK_MIGRATED'],
    [code.INVALID_PRODUCER_EPOCH, 'TASK_MIGRATED'],
    [code.INVALID_TRANSACTION_TIMEOUT, 'BROKER_ERROR'],
    [code.UNKNOWN_SERVER_ERROR, 'BROKER_ERROR'],
  ] as const)('is fatal with %i: %s', async (mishap, errorCode) => {
    const harness = new Harness();
    harness.coordinator.mishap(InitProducerId, mishap);
    expect((await harness.run(harness.producer.initTransactions()))?.code).toBe(errorCode);
    expect(harness.producer.isFatal).toBe(true);
    expect((await harness.run(harness.producer.initTransactions()))?.code).toBe(errorCode);
  });

  it.each([
    [InitProducerId, code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, false],
    [InitProducerId, code.CLUSTER_AUTHORIZATION_FAILED, false],
    [FindCoordinator, code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, true],
  ] as const)('$0.name without the right', async (api, mishap, isFatal) => {
    const harness = new Harness();
    harness.coordinator.mishap(api, mishap);
    const error = await harness.run(harness.producer.initTransactions());
    expect(error?.code).toBe('AUTHORIZATION_FAILED');
    expect(harness.producer.isFatal).toBe(isFatal);
    if (!isFatal) await harness.ready();
  });

  it('ends after max.block.ms, and may be called again', async () => {
    const harness = new Harness();
    harness.coordinator.mishap(InitProducerId, ...Array<Mishap>(8).fill('lost before'));
    const startedAt = harness.clock.monotonicMs();
    const error = await harness.run(harness.producer.initTransactions());
    expect(error).toMatchObject({ code: 'TIMEOUT', message: /max.block.ms: lost before/ });
    expect(harness.clock.monotonicMs() - startedAt).toBeLessThanOrEqual(5_100);
    expect(harness.producer.isFatal).toBe(false);
    await harness.ready();
    await harness.goesOn();
  });

  it('fences the producer before it, whose open transaction is aborted', async () => {
    const harness = await new Harness().ready();
    harness.append(0, 'zombie');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    const successor = harness.open();
    expect(await harness.run(successor.initTransactions())).toBeNull();
    harness.append(0, 'more');
    const error = await harness.commit(offsets(5n));
    expect(error?.code).toBe('TASK_MIGRATED');
    expect(harness.committed()).toEqual([]);
    expect(harness.coordinator.committed.size).toBe(0);
    expect(harness.brokers.partition('out', 0).values).toEqual(['zombie']);
  });

  it('a zombie that was only committing is fenced, too', async () => {
    const harness = await new Harness().ready();
    harness.append(0, 'zombie');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    expect(await harness.run(harness.open().initTransactions())).toBeNull();
    const error = await harness.commit(offsets(5n));
    expect(error).toMatchObject({ code: 'TASK_MIGRATED', message: /PRODUCER_FENCED/ });
    expect(harness.producer.isFatal).toBe(true);
    expect(harness.coordinator.committed.size).toBe(0);
  });
});

describe('100: outcomes that nobody knows (KAFKA-9274)', () => {
  const gone = Array<Mishap>(12);

  it.each([
    ['AddOffsetsToTxn, not arrived', AddOffsetsToTxn, 'lost before', false],
    ['AddOffsetsToTxn, arrived', AddOffsetsToTxn, 'lost after', false],
    ['TxnOffsetCommit, not arrived', TxnOffsetCommit, 'lost before', false],
    ['TxnOffsetCommit, arrived', TxnOffsetCommit, 'lost after', false],
    ['EndTxn, not arrived', EndTxn, 'lost before', false],
    ['EndTxn, arrived', EndTxn, 'lost after', true],
  ] as const)('commit, no answer to %s', async (_name, api, mishap, isCommitted) => {
    const harness = await new Harness().ready();
    harness.append(0, 'a');
    harness.coordinator.mishap(api, ...gone.fill(mishap));
    const startedAt = harness.clock.monotonicMs();
    const error = await harness.commit(offsets(4n));
    expect(harness.clock.monotonicMs() - startedAt).toBeLessThanOrEqual(5_200);
    expect(error).toMatchObject({ code: 'TASK_CORRUPTED', wipesState: false });
    expect(error?.cause).toMatchObject({ code: 'TIMEOUT' });
    expect(harness.producer.isFatal).toBe(false);
    // Answers come again.
    while (harness.coordinator.takeMishap(api) !== undefined);
    expect(await harness.abort()).toBeNull();
    expect(harness.committed()).toEqual(isCommitted ? ['a'] : []);
    expect(harness.coordinator.committed.get('group/in-0')).toBe(isCommitted ? 4n : undefined);
    // What comes late has an older epoch.
    expect(harness.epoch).toBe(1);
    expect(harness.bodies(InitProducerId).at(-1)).toMatchObject({
      producerId: 5_000n,
      producerEpoch: 0,
    });
    await harness.goesOn();
    expect(batchesOf(harness).at(-1)).toMatchObject({ producerEpoch: 1, baseSequence: 0 });
  });

  it('a request that comes late finds another epoch, though it was tried again with success', async () => {
    const harness = await new Harness().ready();
    const serve = harness.transport.handler(EndTxn);
    const late: (() => unknown)[] = [];
    harness.transport.on(EndTxn, (request) => {
      if (late.length > 0) return serve(request);
      late.push(() => serve(request));
      throw new ConnectionError('the answer does not come');
    });
    harness.append(0, 'a');
    expect(await harness.commit()).toBeNull();
    harness.append(0, 'b');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    expect(late[0]?.()).toEqual({ errorCode: code.PRODUCER_FENCED });
    expect(harness.committed()).toEqual(['a']);
    harness.append(0, 'c');
    expect(await harness.commit()).toBeNull();
    expect(harness.committed()).toEqual(['a', 'b', 'c']);
    // Offsets alone need the new epoch as well.
    harness.coordinator.mishap(EndTxn, 'lost after');
    expect(await harness.commit(offsets(1n))).toBeNull();
    expect(harness.epoch).toBe(1);
    harness.coordinator.mishap(InitProducerId, 'lost after');
    expect(await harness.commit(offsets(2n))).toBeNull();
    expect(harness.epoch).toBe(2);
  });

  it.each([['with a record'], ['with offsets alone']])(
    'no answer for the new epoch of a transaction %s: it is aborted, and the next one asks again',
    async (kind) => {
      const harness = await new Harness().ready();
      harness.coordinator.mishap(EndTxn, 'lost before');
      harness.append(0, 'a');
      expect(await harness.commit()).toBeNull();
      harness.coordinator.mishap(InitProducerId, ...gone.fill('lost before'));
      if (kind === 'with a record') harness.append(0, 'b');
      expect((await harness.commit(offsets(1n)))?.code).toBe('TASK_CORRUPTED');
      while (harness.coordinator.takeMishap(InitProducerId) !== undefined);
      expect(await harness.abort()).toBeNull();
      expect(harness.transport.count(AddOffsetsToTxn)).toBe(0);
      await harness.goesOn();
      expect(harness.committed()).toEqual(['a', 'next']);
    },
  );

  it('AddPartitionsToTxn has no answer: the commit is bounded, and the abort makes a new epoch', async () => {
    const harness = await new Harness().ready();
    harness.coordinator.mishap(AddPartitionsToTxn, ...gone.fill('lost after'));
    harness.append(0, 'a');
    const error = await harness.commit(offsets(4n));
    expect(error?.code).toBe('TASK_CORRUPTED');
    while (harness.coordinator.takeMishap(AddPartitionsToTxn) !== undefined);
    expect(await harness.abort()).toBeNull();
    expect(harness.epoch).toBe(1);
    await harness.goesOn();
  });

  it.each([
    ['lost before it is written', []],
    ['lost after it is written', ['a']],
  ] as const)('a batch is given up that was %s', async (fate, written) => {
    const harness = await new Harness().ready();
    harness.brokers.fate = () => fate;
    harness.append(0, 'a');
    const error = await harness.commit(offsets(4n));
    expect(error).toMatchObject({ code: 'TASK_CORRUPTED', message: /delivery.timeout.ms/ });
    harness.brokers.fate = () => 'served';
    expect(await harness.abort()).toBeNull();
    expect(harness.brokers.partition('out', 0).values).toEqual(written);
    expect(harness.epoch).toBe(1);
    await harness.goesOn();
    expect(harness.committed()).toEqual(['next']);
  });

  it.each([['lost before'], ['lost after']] as const)(
    'abort, EndTxn %s: to be called again',
    async (mishap) => {
      const harness = await new Harness().ready();
      harness.append(0, 'a');
      expect(await harness.run(harness.producer.flush())).toBeNull();
      harness.coordinator.mishap(EndTxn, ...gone.fill(mishap));
      expect(await harness.abort()).toMatchObject({ code: 'TIMEOUT' });
      expect(harness.producer.isFatal).toBe(false);
      expect(() => {
        harness.append(0, 'x');
      }).toThrow(/was not aborted/);
      while (harness.coordinator.takeMishap(EndTxn) !== undefined);
      expect(await harness.abort()).toBeNull();
      expect(harness.epoch).toBe(1);
      await harness.goesOn();
      expect(harness.committed()).toEqual(['next']);
    },
  );

  it('abort, no answer for the new epoch: to be called again, with the abort done once', async () => {
    const harness = await new Harness().ready();
    harness.append(0, 'a');
    harness.coordinator.mishap(EndTxn, ...gone.fill('lost before'));
    expect((await harness.commit())?.code).toBe('TASK_CORRUPTED');
    while (harness.coordinator.takeMishap(EndTxn) !== undefined);
    harness.coordinator.mishap(InitProducerId, ...gone.fill('lost before'));
    expect(await harness.abort()).toMatchObject({ code: 'TIMEOUT' });
    while (harness.coordinator.takeMishap(InitProducerId) !== undefined);
    const ends = harness.transport.count(EndTxn);
    expect(await harness.abort()).toBeNull();
    expect(harness.transport.count(EndTxn)).toBe(ends);
    await harness.goesOn();
    expect(harness.committed()).toEqual(['next']);
  });

  it('an abort that finds batches under way without answer is bounded as well', async () => {
    const harness = await new Harness({ lingerMs: 0 }).ready();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    harness.brokers.delay = () => held;
    harness.append(0, 'a');
    await harness.clock.advance(10);
    expect(await harness.abort()).toMatchObject({ code: 'TIMEOUT', message: /under way/ });
    harness.brokers.fate = () => 'lost before it is written';
    release();
    await harness.clock.advance(10);
    harness.brokers.fate = () => 'served';
    expect(await harness.abort()).toBeNull();
    expect(harness.epoch).toBe(1);
    await harness.goesOn();
    expect(harness.committed()).toEqual(['next']);
  });
});

describe('moves', () => {
  it('the coordinator moves between any two requests', async () => {
    const harness = await new Harness({}, 3).ready();
    function moveAt<Req, Res>(api: Api<Req, Res>): void {
      const serve = harness.transport.handler(api);
      let isMoved = false;
      harness.transport.on(api, (request) => {
        if (!isMoved) {
          isMoved = true;
          harness.coordinator.nodeId = (harness.coordinator.nodeId % 3) + 1;
        }
        return serve(request);
      });
    }
    moveAt(AddPartitionsToTxn);
    moveAt(AddOffsetsToTxn);
    moveAt(TxnOffsetCommit);
    moveAt(EndTxn);
    harness.append(0, 'a');
    expect(await harness.commit(offsets(1n))).toBeNull();
    expect(harness.committed()).toEqual(['a']);
    expect(harness.coordinator.committed.get('group/in-0')).toBe(1n);
    await harness.goesOn();
  });

  it('a leader moves in the middle of a transaction', async () => {
    const harness = await new Harness({ lingerMs: 0 }, 3).ready();
    harness.append(0, 'a');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    harness.brokers.partition('out', 0).moveTo(2);
    harness.append(0, 'b');
    expect(await harness.commit(offsets(1n))).toBeNull();
    harness.brokers.partition('out', 0).moveTo(3);
    harness.append(0, 'c');
    expect(await harness.commit(offsets(2n))).toBeNull();
    expect(harness.committed()).toEqual(['a', 'b', 'c']);
  });

  it('partitions whose offsets are refused for a while are tried again alone', async () => {
    const harness = await new Harness().ready();
    const serve = harness.transport.handler(TxnOffsetCommit);
    let isFirst = true;
    harness.transport.on(TxnOffsetCommit, async (request) => {
      const answer = await serve(request);
      if (!isFirst) return answer;
      isFirst = false;
      const partitions = [
        { partitionIndex: 0, errorCode: 0 },
        { partitionIndex: 1, errorCode: code.UNKNOWN_TOPIC_OR_PARTITION },
      ];
      return { topics: [{ name: 'in', partitions }] };
    });
    const both: OffsetsToCommit = new Map([
      ['in-0', { topic: 'in', partition: 0, offset: 1n, metadata: '' }],
      ['in-1', { topic: 'in', partition: 1, offset: 2n, metadata: '' }],
    ]);
    expect(await harness.commit(both)).toBeNull();
    const asked = harness
      .bodies<{ topics: { partitions: { partitionIndex: number }[] }[] }>(TxnOffsetCommit)
      .map(({ topics }) => topics[0]?.partitions.map(({ partitionIndex }) => partitionIndex));
    expect(asked).toEqual([[0, 1], [1]]);
  });
});

describe('records that are refused', () => {
  it('may be let go: the transaction goes on without them', async () => {
    const undelivered: UndeliveredBatch[] = [];
    const harness = await new Harness({
      lingerMs: 0,
      batchBytes: 80,
      onUndelivered: (batch) => {
        undelivered.push(batch);
        return null;
      },
    }).ready();
    harness.append(0, 'before');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    harness.brokers.refuse = (_topic, _partition, records) =>
      records.includes('bad') ? code.INVALID_RECORD : 0;
    // Several are under way together, and those behind the bad one are out of order then.
    for (const value of ['good 1', 'bad', 'good 2', 'good 3', 'bad', 'good 4']) {
      harness.append(0, value);
    }
    expect(await harness.commit(offsets(6n))).toBeNull();
    expect(undelivered.map(({ recordCount }) => recordCount)).toEqual([1, 1]);
    expect(harness.committed()).toEqual(['before', 'good 1', 'good 2', 'good 3', 'good 4']);
    expect(harness.epoch).toBe(0);
    await harness.goesOn();
  });

  it('may be let go as the first of their epoch, when any sequence starts', async () => {
    const harness = await new Harness({
      lingerMs: 0,
      batchBytes: 80,
      onUndelivered: () => null,
    }).ready();
    harness.brokers.refuse = (_topic, _partition, records) =>
      records.includes('bad') ? code.INVALID_RECORD : 0;
    for (const value of ['bad', 'good 1', 'good 2']) harness.append(0, value);
    expect(await harness.commit(offsets(6n))).toBeNull();
    expect(harness.committed()).toEqual(['good 1', 'good 2']);
    await harness.goesOn();
    expect(harness.committed()).toEqual(['good 1', 'good 2', 'next']);
  });

  it('may not be let go when an earlier try had no answer', async () => {
    const harness = await new Harness({ onUndelivered: () => null }).ready();
    let tries = 0;
    harness.brokers.fate = () => (tries++ === 0 ? 'lost before it is written' : 'served');
    harness.brokers.refuse = () => (tries > 1 ? code.INVALID_RECORD : 0);
    harness.append(0, 'a');
    expect((await harness.commit())?.code).toBe('PRODUCTION_FAILED');
    harness.brokers.refuse = () => 0;
    expect(await harness.abort()).toBeNull();
    expect(harness.epoch).toBe(1);
    await harness.goesOn();
  });

  it('end the transaction if nobody lets them go', async () => {
    const harness = await new Harness().ready();
    harness.brokers.refuse = () => code.MESSAGE_TOO_LARGE;
    harness.append(0, 'a');
    expect((await harness.commit())?.code).toBe('RECORD_TOO_LARGE');
    harness.brokers.refuse = () => 0;
    expect(await harness.abort()).toBeNull();
    await harness.goesOn();
  });

  it('split a batch that is too large within its transaction', async () => {
    const harness = await new Harness().ready();
    harness.brokers.refuse = (_topic, _partition, records) =>
      new RecordBatch(records).recordCount > 2 ? code.MESSAGE_TOO_LARGE : 0;
    harness.append(0, 'a', 'b', 'c', 'd', 'e');
    expect(await harness.commit()).toBeNull();
    expect(harness.committed()).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(batchesOf(harness).every(({ isTransactional }) => isTransactional)).toBe(true);
    await harness.goesOn();
  });
});

describe('close', () => {
  it('aborts what is open, within its bound', async () => {
    const harness = await new Harness().ready();
    harness.append(0, 'a');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    harness.append(0, 'b');
    expect(await harness.run(harness.producer.close(1_000))).toBeNull();
    expect(harness.bodies(EndTxn)).toMatchObject([{ committed: false }]);
    expect(harness.brokers.partition('out', 0).values).toEqual(['a']);
    expect(harness.committed()).toEqual([]);
    expect(harness.clock.timerCount).toBe(0);
  });

  it('is bounded when the coordinator does not answer, and ends calls under way', async () => {
    const harness = await new Harness().ready();
    harness.append(0, 'a');
    expect(await harness.run(harness.producer.flush())).toBeNull();
    harness.transport.on(EndTxn, () => Promise.reject(new ConnectionError('gone')));
    const committing = harness.run(harness.producer.commitTransaction(nothing, group));
    const startedAt = harness.clock.monotonicMs();
    expect(await harness.run(harness.producer.close(500))).toBeNull();
    expect(harness.clock.monotonicMs() - startedAt).toBeLessThanOrEqual(600);
    expect((await committing)?.code).toBe('SHUTDOWN');
    expect(harness.clock.timerCount).toBe(0);
  });
});
