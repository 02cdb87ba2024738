import { describe, expect, it } from 'vitest';
import type {
  GroupMetadata,
  OffsetsToCommit,
  TransactionalProducerOptions,
} from '../client/ports.ts';
import { TimeoutError } from '../errors.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import { FakeClient } from './fake-client.ts';
import { FakeCluster } from './fake-cluster.ts';
import type { FakeMember } from './fake-group.ts';
import { FakeTransactionalProducer } from './fake-transactional-producer.ts';

const text: RecordSerde<string> = {
  name: 'text',
  serialize: (value) => Buffer.from(value),
  deserialize: (bytes) => Buffer.from(bytes).toString(),
  write: (value, target, position) => position + target.write(value, position),
  read: (source, start, end) => source.toString('utf8', start, end),
};

const options: TransactionalProducerOptions = {
  transactionalId: 'tx',
  lingerMs: 0,
  batchBytes: 16_384,
  bufferBytes: 1 << 20,
  requestTimeoutMs: 1_000,
  deliveryTimeoutMs: 1_000,
  compression: 'none',
  onDrained: () => undefined,
};
const nothing: OffsetsToCommit = new Map();
const nobody: GroupMetadata = {
  groupId: 'nobody',
  generation: -1,
  memberId: '',
  groupInstanceId: null,
};

function offsets(offset: bigint): OffsetsToCommit {
  return new Map([['in-0', { topic: 'in', partition: 0, offset, metadata: '' }]]);
}

async function setUp() {
  const cluster = new FakeCluster();
  cluster.createTopic('out');
  const client = new FakeClient(cluster);
  const open = async (): Promise<FakeTransactionalProducer> => {
    client.transactionalProducer(options);
    const producer = client.transactionalProducers.at(-1) as FakeTransactionalProducer;
    await producer.initTransactions();
    return producer;
  };
  const committed = (): (string | undefined)[] =>
    cluster
      .log('out')
      .committedRecords()
      .map(({ value }) => value?.toString());
  return { cluster, client, open, producer: await open(), committed };
}

function append(producer: FakeTransactionalProducer, value: string): void {
  producer.partition('out', 0).append(0, null, 0, 0, value, text, null);
}

async function memberOf(client: FakeClient): Promise<FakeMember> {
  const member = client.group({
    groupId: 'group',
    groupInstanceId: null,
    sessionTimeoutMs: 1,
    heartbeatIntervalMs: 1,
    rebalanceTimeoutMs: 1,
    protocolName: 'p',
  });
  await new Promise<void>((resolve) => {
    member.join({
      subscription: () => ({ topics: [], userData: Buffer.alloc(0) }),
      assign: (members) =>
        Promise.resolve(
          new Map(
            members.map(({ memberId }) => [
              memberId,
              { partitions: [], userData: Buffer.alloc(0) },
            ]),
          ),
        ),
      onRebalance: () => Promise.resolve(),
      onAssigned: () => {
        resolve();
        return Promise.resolve();
      },
      onLost: () => Promise.resolve(),
      onFatal: () => undefined,
    });
  });
  return client.members.at(-1) as FakeMember;
}

describe('transactions of the fake cluster', () => {
  it('show what is committed, with its offsets, and hide the rest', async () => {
    const { cluster, client, producer, committed } = await setUp();
    const { metadata } = await memberOf(client);
    append(producer, 'a');
    await producer.flush();
    expect(cluster.log('out').lastStableOffset).toBe(0n);
    expect(committed()).toEqual([]);
    await producer.commitTransaction(offsets(1n), metadata);
    expect(cluster.group('group').offsets.get('in-0')?.offset).toBe(1n);
    append(producer, 'b');
    await producer.flush();
    append(producer, 'never sent');
    await producer.abortTransaction();
    append(producer, 'c');
    await producer.commitTransaction(nothing, nobody);
    expect(committed()).toEqual(['a', 'c']);
    expect(cluster.log('out').records()).toHaveLength(3);
    expect(cluster.log('out').lastStableOffset).toBeNull();
    expect(cluster.transactions).toMatchObject({ commitCount: 2, abortCount: 1 });
    await producer.commitTransaction(nothing, nobody);
    expect(cluster.transactions.commitCount).toBe(2);
  });

  it('are read by committed readers only up to the first that is open', async () => {
    const { cluster, client, producer } = await setUp();
    cluster.log('out').write([{ key: null, value: 'plain' }]);
    append(producer, 'a');
    await producer.flush();
    const fetcher = client.fetcher({
      isolationLevel: 'read_committed',
      maxWaitMs: 0,
      minBytes: 1,
      maxBytes: 1 << 20,
      maxPartitionBytes: 1 << 20,
      onReady: () => undefined,
    });
    fetcher.assign([{ topic: 'out', partition: 0, offset: 0n }]);
    expect(fetcher.drain()[0]).toMatchObject({ nextOffset: 1n, lastStableOffset: 1n });
    await producer.abortTransaction();
    const [fetched] = fetcher.drain();
    expect(fetched).toMatchObject({
      nextOffset: 3n,
      abortedTransactions: [{ producerId: 1000n, firstOffset: 1n }],
    });
  });

  it('fence by generation, and by epoch', async () => {
    const { client, open, producer, committed } = await setUp();
    const member = await memberOf(client);
    const stale = { ...member.metadata, generation: 0 };
    append(producer, 'a');
    await expect(producer.commitTransaction(offsets(1n), stale)).rejects.toMatchObject({
      code: 'TASK_MIGRATED',
    });
    expect(producer.isFatal).toBe(false);
    expect(() => {
      append(producer, 'x');
    }).toThrow(/no member of generation 0/);
    await producer.abortTransaction();
    append(producer, 'zombie');
    await producer.flush();
    const successor = await open();
    await expect(producer.commitTransaction(nothing, nobody)).rejects.toMatchObject({
      code: 'TASK_MIGRATED',
    });
    expect(producer.isFatal).toBe(true);
    await expect(producer.abortTransaction()).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
    append(successor, 'b');
    await successor.commitTransaction(nothing, nobody);
    expect(committed()).toEqual(['b']);
  });

  it.each([
    ['flush', []],
    ['offsets', []],
    ['end', []],
    ['ended', ['a']],
  ] as const)('fail on demand at %s', async (at, expected) => {
    const { cluster, client, producer, committed } = await setUp();
    const { metadata } = await memberOf(client);
    producer.onCommitStep = (step) => {
      if (step === at) throw new TimeoutError('no answer');
    };
    append(producer, 'a');
    await expect(producer.commitTransaction(offsets(1n), metadata)).rejects.toMatchObject({
      code: 'TASK_CORRUPTED',
    });
    expect(producer.failure).toMatchObject({ code: 'TASK_CORRUPTED' });
    producer.onCommitStep = null;
    producer.abortFailures.push(new TimeoutError('no answer'));
    await expect(producer.abortTransaction()).rejects.toMatchObject({ code: 'TIMEOUT' });
    await producer.abortTransaction();
    expect(committed()).toEqual(expected);
    expect(cluster.group('group').offsets.size).toBe(expected.length);
    append(producer, 'b');
    await producer.commitTransaction(offsets(2n), metadata);
    expect(committed()).toEqual([...expected, 'b']);
  });

  it('are initialized anew after a failure that passes', async () => {
    const { cluster } = await setUp();
    const producer = new FakeTransactionalProducer(cluster, options);
    producer.initFailures.push(new TimeoutError('no answer'));
    await expect(producer.initTransactions()).rejects.toMatchObject({ code: 'TIMEOUT' });
    expect(producer.isFatal).toBe(false);
    await producer.initTransactions();
    append(producer, 'a');
    await producer.close();
    expect(cluster.log('out').committedRecords()).toEqual([]);
  });
});
