/** The runtime's transactional producer: what readers of committed records see, and who is fenced. */
import { BatchIterator, RecordCursor } from '@millrace/protocol';
import { connect, silentLogger, type StreamsClient } from '@millrace/runtime';
import { afterEach, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';

type Producer = ReturnType<StreamsClient['transactionalProducer']>;
type Group = ReturnType<StreamsClient['group']>;
type Offsets = Parameters<Producer['commitTransaction']>[0];
type Metadata = Parameters<Producer['commitTransaction']>[1];
type Isolation = Parameters<StreamsClient['fetcher']>[0]['isolationLevel'];

const bytes = {
  name: 'bytes',
  serialize: (value: Buffer) => value,
  deserialize: (value: Uint8Array) => Buffer.from(value),
  write: (value: Buffer, target: Buffer, position: number) => {
    if (position + value.length > target.length) return -1;
    return position + value.copy(target, position);
  },
  read: (source: Buffer, start: number, end: number) => source.subarray(start, end),
};

const nobody: Metadata = { groupId: 'nobody', generation: -1, memberId: '', groupInstanceId: null };
const nothing: Offsets = new Map();

describeOnBothBrokers(
  'the transactional producer',
  (broker) => {
    const opened: StreamsClient[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((client) => client.close(5_000)));
    });

    function open(): StreamsClient {
      const config = { 'bootstrap.servers': broker().bootstrapServers };
      const client = connect(config, { logger: silentLogger() });
      opened.push(client);
      return client;
    }

    async function topicWith(client: StreamsClient, partitionCount = 1): Promise<string> {
      const topic = unique('tx');
      const config = new Map([['retention.ms', '-1']]);
      await client.admin().createTopics([{ topic, partitionCount, replicationFactor: -1, config }]);
      return topic;
    }

    async function producerOf(
      client: StreamsClient,
      transactionalId = unique('producer'),
      options: { readonly transactionTimeoutMs?: number; readonly lingerMs?: number } = {},
    ): Promise<Producer> {
      const producer = client.transactionalProducer({
        transactionalId,
        lingerMs: 5,
        batchBytes: 16_384,
        bufferBytes: 16 << 20,
        requestTimeoutMs: 10_000,
        deliveryTimeoutMs: 30_000,
        compression: 'none',
        onDrained: () => undefined,
        ...options,
      });
      await producer.initTransactions();
      return producer;
    }

    function append(
      producer: Producer,
      topic: string,
      partition: number,
      ...values: string[]
    ): void {
      const buffer = producer.partition(topic, partition);
      const key = Buffer.from('key');
      for (const value of values) {
        buffer.append(1_000, key, 0, key.length, Buffer.from(value), bytes, null);
      }
    }

    /** Kafka answers EndTxn before the markers are there. */
    async function settled(topic: string, partition: number): Promise<void> {
      const fetcher = open().fetcher({
        isolationLevel: 'read_committed',
        maxWaitMs: 100,
        minBytes: 1,
        maxBytes: 1 << 20,
        maxPartitionBytes: 1 << 20,
        onReady: () => undefined,
      });
      const end = async (isolation: Isolation): Promise<bigint | undefined> => {
        const ends = await fetcher.endOffsets([{ topic, partition }], isolation);
        return ends.get(`${topic}-${String(partition)}`);
      };
      await expect
        .poll(async () => (await end('read_committed')) === (await end('read_uncommitted')), {
          timeout: 10_000,
        })
        .toBe(true);
    }

    /** What stands in a partition once all of its transactions have ended. */
    async function readCommitted(topic: string, partition = 0): Promise<string[]> {
      await settled(topic, partition);
      return read(topic, partition, 'read_committed');
    }

    /** Values of a partition up to its end, for this isolation level. */
    async function read(topic: string, partition: number, isolation: Isolation): Promise<string[]> {
      const client = open();
      let ready = (): void => undefined;
      const fetcher = client.fetcher({
        isolationLevel: isolation,
        maxWaitMs: 100,
        minBytes: 1,
        maxBytes: 50 << 20,
        maxPartitionBytes: 4 << 20,
        onReady: () => {
          ready();
        },
      });
      const key = `${topic}-${String(partition)}`;
      const end = (await fetcher.endOffsets([{ topic, partition }], isolation)).get(key) ?? 0n;
      fetcher.assign([{ topic, partition, offset: 0n }]);
      const values: string[] = [];
      const cursor = new RecordCursor();
      for (let position = 0n; position < end;) {
        const woken = new Promise<void>((resolve) => (ready = resolve));
        for (const { records, abortedTransactions, nextOffset } of fetcher.drain()) {
          position = nextOffset;
          const aborted = [...abortedTransactions];
          const open = new Set<bigint>();
          const batches = new BatchIterator(records);
          for (let batch = batches.next(); batch !== null; batch = batches.next()) {
            while (aborted[0] !== undefined && aborted[0].firstOffset <= batch.lastOffset) {
              open.add(aborted[0].producerId);
              aborted.shift();
            }
            if (batch.isControl) {
              open.delete(batch.producerId);
              continue;
            }
            expect(batch.isTransactional).toBe(true);
            if (open.has(batch.producerId)) continue;
            cursor.open(batch);
            while (cursor.next()) values.push(cursor.value()?.toString() ?? '(null)');
          }
        }
        if (position < end) await woken;
      }
      return values;
    }

    /** A group of one member that stays. */
    async function memberOf(client: StreamsClient, groupId: string, topic: string): Promise<Group> {
      const group = client.group({
        groupId,
        groupInstanceId: null,
        sessionTimeoutMs: 30_000,
        heartbeatIntervalMs: 500,
        rebalanceTimeoutMs: 10_000,
        protocolName: 'test',
      });
      await new Promise<void>((resolve, reject) => {
        group.join({
          subscription: () => ({ topics: [topic], userData: Buffer.alloc(0) }),
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
          onFatal: reject,
        });
      });
      return group;
    }

    function offsetsOf(topic: string, offset: bigint): Offsets {
      return new Map([[`${topic}-0`, { topic, partition: 0, offset, metadata: 'm' }]]);
    }

    async function committed(group: Group, topic: string): Promise<bigint | undefined> {
      const found = await group.committed([{ topic, partition: 0 }], { requireStable: true });
      return found.get(`${topic}-0`)?.offset;
    }

    it('91: shows what was committed, and hides what was aborted or is still open (streamnative/kop#1283, redpanda#6630)', async () => {
      const client = open();
      const topic = await topicWith(client, 2);
      const producer = await producerOf(client);
      append(producer, topic, 0, 'a', 'b');
      append(producer, topic, 1, 'c');
      await producer.flush();
      expect(await read(topic, 0, 'read_committed')).toEqual([]);
      expect(await read(topic, 0, 'read_uncommitted')).toEqual(['a', 'b']);
      await producer.commitTransaction(nothing, nobody);
      expect(await readCommitted(topic)).toEqual(['a', 'b']);
      expect(await readCommitted(topic, 1)).toEqual(['c']);
      append(producer, topic, 0, 'x');
      await producer.flush();
      await producer.abortTransaction();
      append(producer, topic, 0, 'd');
      await producer.commitTransaction(nothing, nobody);
      expect(await readCommitted(topic)).toEqual(['a', 'b', 'd']);
      expect(await read(topic, 0, 'read_uncommitted')).toEqual(['a', 'b', 'x', 'd']);
    });

    it('never sends what was buffered when a transaction was aborted', async () => {
      const client = open();
      const topic = await topicWith(client, 4);
      const producer = await producerOf(client, unique('producer'), { lingerMs: 1_000 });
      for (let round = 0; round < 5; round++) {
        for (let partition = 0; partition < 4; partition++) {
          append(producer, topic, partition, `aborted-${String(round)}`);
        }
        // Some are under way, some are not sent at all.
        const flushed = round % 2 === 0 ? producer.flush() : Promise.resolve();
        await producer.abortTransaction();
        await flushed.catch(() => undefined);
        append(producer, topic, 0, `kept-${String(round)}`);
        await producer.commitTransaction(nothing, nobody);
      }
      const kept = Array.from({ length: 5 }, (_, round) => `kept-${String(round)}`);
      expect(await readCommitted(topic)).toEqual(kept);
      for (const partition of [1, 2, 3]) {
        expect(await readCommitted(topic, partition)).toEqual([]);
      }
    });

    it('86: sends nothing for a transaction without anything in it, and commits offsets alone (KAFKA-13319)', async () => {
      const client = open();
      const topic = await topicWith(client);
      const group = await memberOf(client, unique('group'), topic);
      const producer = await producerOf(client);
      await producer.commitTransaction(nothing, group.metadata);
      await producer.abortTransaction();
      expect(await committed(group, topic)).toBeUndefined();
      await producer.commitTransaction(offsetsOf(topic, 7n), group.metadata);
      expect(await committed(group, topic)).toBe(7n);
    });

    it('commits offsets with the records, and drops them with the records', async () => {
      const client = open();
      const topic = await topicWith(client);
      const group = await memberOf(client, unique('group'), topic);
      const producer = await producerOf(client);
      append(producer, topic, 0, 'a');
      await producer.commitTransaction(offsetsOf(topic, 1n), group.metadata);
      expect(await committed(group, topic)).toBe(1n);
      append(producer, topic, 0, 'b');
      const stale = { ...group.metadata, generation: group.metadata.generation - 1 };
      await expect(producer.commitTransaction(offsetsOf(topic, 2n), stale)).rejects.toMatchObject({
        code: 'TASK_MIGRATED',
        message: /ILLEGAL_GENERATION/,
      });
      expect(producer.isFatal).toBe(false);
      expect(producer.failure).toMatchObject({ code: 'TASK_MIGRATED' });
      await producer.abortTransaction();
      expect(await committed(group, topic)).toBe(1n);
      expect(await readCommitted(topic)).toEqual(['a']);
      const stranger = { ...group.metadata, memberId: 'nobody' };
      append(producer, topic, 0, 'c');
      await expect(
        producer.commitTransaction(offsetsOf(topic, 3n), stranger),
      ).rejects.toMatchObject({
        code: 'TASK_MIGRATED',
        message: /UNKNOWN_MEMBER_ID/,
      });
      await producer.abortTransaction();
      append(producer, topic, 0, 'd');
      await producer.commitTransaction(offsetsOf(topic, 4n), group.metadata);
      expect(await committed(group, topic)).toBe(4n);
      expect(await readCommitted(topic)).toEqual(['a', 'd']);
    });

    it('98: is fenced by a later producer with its transactional id, which aborts what it has open (iceberg-kafka-connect#200)', async () => {
      const client = open();
      const topic = await topicWith(client);
      const id = unique('producer');
      const zombie = await producerOf(client, id);
      append(zombie, topic, 0, 'zombie');
      await zombie.flush();
      const successor = await producerOf(open(), id);
      append(successor, topic, 0, 'successor');
      await successor.commitTransaction(nothing, nobody);
      await expect(zombie.commitTransaction(nothing, nobody)).rejects.toMatchObject({
        code: 'TASK_MIGRATED',
      });
      expect(zombie.isFatal).toBe(true);
      await expect(zombie.abortTransaction()).rejects.toMatchObject({ code: 'TASK_MIGRATED' });
      expect(() => {
        append(zombie, topic, 0, 'again');
      }).toThrow(/has the transactional id/);
      append(successor, topic, 0, 'still there');
      await successor.commitTransaction(nothing, nobody);
      expect(await readCommitted(topic)).toEqual(['successor', 'still there']);
    });

    it('is fenced when its transaction has timed out', async () => {
      const client = open();
      const topic = await topicWith(client);
      const producer = await producerOf(client, unique('producer'), { transactionTimeoutMs: 300 });
      append(producer, topic, 0, 'too long');
      await producer.flush();
      // The coordinator aborts it.
      expect(await readCommitted(topic)).toEqual([]);
      append(producer, topic, 0, 'too late');
      await expect(producer.commitTransaction(nothing, nobody)).rejects.toMatchObject({
        code: 'TASK_MIGRATED',
      });
      expect(await readCommitted(topic)).toEqual([]);
    });

    it('aborts an open transaction when it is closed', async () => {
      const client = open();
      const topic = await topicWith(client);
      const producer = await producerOf(client);
      append(producer, topic, 0, 'a');
      await producer.flush();
      await producer.close(5_000);
      const next = await producerOf(client);
      append(next, topic, 0, 'b');
      await next.commitTransaction(nothing, nobody);
      // Not held back by what the first one had open.
      expect(await readCommitted(topic)).toEqual(['b']);
    });

    it('refuses what no transaction can be', async () => {
      const client = open();
      const topic = await topicWith(client);
      const producer = client.transactionalProducer({
        transactionalId: unique('producer'),
        transactionTimeoutMs: 2_000_000_000,
        lingerMs: 0,
        batchBytes: 16_384,
        bufferBytes: 1 << 20,
        requestTimeoutMs: 10_000,
        deliveryTimeoutMs: 30_000,
        compression: 'none',
        onDrained: () => undefined,
      });
      expect(() => {
        append(producer, topic, 0, 'too early');
      }).toThrow(/cannot append records in state uninitialized/);
      await expect(producer.initTransactions()).rejects.toThrow(
        /transaction.timeout.ms 2000000000: INVALID_TRANSACTION_TIMEOUT/,
      );
      expect(producer.isFatal).toBe(true);
    });

    it(
      'commits a thousand transactions of a hundred records in a row',
      { timeout: 180_000 },
      async () => {
        const client = open();
        const topic = await topicWith(client, 3);
        const group = await memberOf(client, unique('group'), topic);
        const producer = await producerOf(client, unique('producer'), { lingerMs: 0 });
        const expected: string[][] = [[], [], []];
        for (let transaction = 0; transaction < 1_000; transaction++) {
          const isAborted = transaction % 10 === 9;
          for (let record = 0; record < 100; record++) {
            const partition = record % 3;
            const value = `${String(transaction)}-${String(record)}`;
            append(producer, topic, partition, value);
            if (!isAborted) expected[partition]?.push(value);
          }
          if (isAborted) {
            if (transaction % 20 === 9) await producer.flush();
            await producer.abortTransaction();
          } else {
            await producer.commitTransaction(offsetsOf(topic, BigInt(transaction)), group.metadata);
          }
        }
        expect(await committed(group, topic)).toBe(998n);
        for (const partition of [0, 1, 2]) {
          expect(await readCommitted(topic, partition)).toEqual(expected[partition]);
        }
      },
    );
  },
  { 'transaction.abort.timed.out.transaction.cleanup.interval.ms': '200' },
);
