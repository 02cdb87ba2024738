/** Transactions request by request: exact codes, and what a consumer sees when. */
import {
  DeleteGroups,
  DescribeProducers,
  DescribeTransactions,
  errorCodes,
  Fetch,
  JoinGroup,
  ListTransactions,
  OffsetCommit,
  OffsetDelete,
  RecordCursor,
  BatchIterator,
  SyncGroup,
  TransactionLogKey,
  TransactionLogValue,
  WriteTxnMarkers,
  decodeVersioned,
} from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { RawClient } from '../support/raw-client.ts';
import {
  named,
  TransactionalClient,
  until,
  type SendOptions,
} from '../support/transactional-client.ts';

const config = {
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': '200',
  'transaction.max.timeout.ms': '120000',
};

/** Kafka under transaction version 2 (KIP-890) raises epochs where the classic flow does not. */
const classicFlow = { 'transaction.version': 1 };

describeOnBothBrokers(
  'a transaction',
  (broker) => {
    let client: RawClient;
    let tx: TransactionalClient;
    beforeAll(async () => {
      client = await RawClient.connect(broker().bootstrapServers);
      tx = new TransactionalClient(client);
      for (let i = 0; i < 12; i++) await tx.coordinatorsAreReady(`ready-${i}`, `ready-${i}`);
    });
    afterAll(() => client.close());

    const topic = (partitions = 1) => tx.createTopic(unique('tx'), partitions);

    describe('its producer', () => {
      it('gets an id once and a higher epoch each time', async () => {
        const id = unique('producer');
        const first = await tx.tryInit(id);
        expect(first).toMatchObject({ error: 'NONE', producerEpoch: 0 });
        expect(await tx.tryInit(id)).toMatchObject({
          error: 'NONE',
          producerId: first.producerId,
          producerEpoch: 1,
        });
        const other = await tx.tryInit(unique('producer'));
        expect(other.producerId).not.toBe(first.producerId);
      });

      it('is refused an empty id (KAFKA-5171), wrong timeouts, and an id without epoch', async () => {
        const id = unique('producer');
        const nothing = { producerId: -1n, producerEpoch: -1 };
        expect(await tx.tryInit('')).toMatchObject({ error: 'INVALID_REQUEST', ...nothing });
        for (const timeoutMs of [0, -1, 120_001]) {
          expect(await tx.tryInit(id, { timeoutMs })).toMatchObject({
            error: 'INVALID_TRANSACTION_TIMEOUT',
            ...nothing,
          });
        }
        expect(await tx.tryInit(id, { timeoutMs: 120_000 })).toMatchObject({ error: 'NONE' });
        for (const half of [{ producerId: 5n }, { producerEpoch: 5 }]) {
          expect((await tx.tryInit(id, half)).error).toBe('INVALID_REQUEST');
          expect((await tx.tryInit(null, half)).error).toBe('INVALID_REQUEST');
        }
      });

      it('goes on after an error with what it has had, unless another came in between (KIP-360)', async () => {
        const id = unique('producer');
        const first = await tx.init(id);
        const { producerId } = first;
        const second = await tx.tryInit(id, { producerId, producerEpoch: 0 });
        expect(second).toMatchObject({ error: 'NONE', producerId, producerEpoch: 1 });
        // The answer was lost: the same once more.
        expect(await tx.tryInit(id, { producerId, producerEpoch: 0 })).toMatchObject({
          error: 'NONE',
          producerId,
          producerEpoch: 1,
        });
        expect(await tx.tryInit(id)).toMatchObject({ error: 'NONE', producerEpoch: 2 });
        for (const [producerEpoch, version, error] of [
          [1, 4, 'PRODUCER_FENCED'],
          [1, 3, 'INVALID_PRODUCER_EPOCH'],
          [0, 4, 'PRODUCER_FENCED'],
          [9, 4, 'PRODUCER_FENCED'],
        ] as const) {
          expect(await tx.tryInit(id, { producerId, producerEpoch, version })).toMatchObject({
            error,
            producerId: -1n,
            producerEpoch: -1,
          });
        }
        expect(
          (await tx.tryInit(id, { producerId: producerId + 1000n, producerEpoch: 2 })).error,
        ).toBe('PRODUCER_FENCED');
        // Without transactional id it changes nothing.
        expect(await tx.tryInit(null, { producerId, producerEpoch: 7 })).toMatchObject({
          error: 'NONE',
          producerEpoch: 0,
        });
      });

      it('that nobody knows is refused, and an id that nobody knows is taken as new', async () => {
        const stranger = { transactionalId: unique('stranger'), producerId: 77n, producerEpoch: 3 };
        const name = await topic();
        expect(await tx.tryAdd(stranger, { [name]: [0] })).toEqual(['INVALID_PRODUCER_ID_MAPPING']);
        expect(await tx.tryAddOffsets(stranger, 'g')).toBe('INVALID_PRODUCER_ID_MAPPING');
        expect(await tx.end(stranger, true)).toBe('INVALID_PRODUCER_ID_MAPPING');
        const nobody = { ...stranger, transactionalId: '' };
        expect(await tx.tryAdd(nobody, { [name]: [0] })).toEqual(['INVALID_REQUEST']);
        expect(await tx.tryAddOffsets(nobody, 'g')).toBe('INVALID_REQUEST');
        expect(await tx.end(nobody, false)).toBe('INVALID_REQUEST');
        expect(
          await tx.tryInit(stranger.transactionalId, { producerId: 77n, producerEpoch: 3 }),
        ).toMatchObject({ error: 'NONE', producerEpoch: 0 });
      });
    });

    describe('its partitions', () => {
      it('are added all or none', async () => {
        const name = await topic(2);
        const producer = await tx.init(unique('partitions'));
        expect(await tx.tryAdd(producer, { [name]: [0, 1, 9], 'zz-nowhere': [0] })).toEqual([
          'OPERATION_NOT_ATTEMPTED',
          'OPERATION_NOT_ATTEMPTED',
          'UNKNOWN_TOPIC_OR_PARTITION',
          'UNKNOWN_TOPIC_OR_PARTITION',
        ]);
        expect(await tx.tryAdd(producer, { __consumer_offsets: [0], [name]: [0] })).toEqual([
          'TOPIC_AUTHORIZATION_FAILED',
          'OPERATION_NOT_ATTEMPTED',
        ]);
        expect(await tx.end(producer, true)).toBe('INVALID_TXN_STATE');
        expect(await tx.tryAdd(producer, { [name]: [0, 1] })).toEqual(['NONE', 'NONE']);
        expect(await tx.tryAdd(producer, { [name]: [1] })).toEqual(['NONE']);
        expect(await tx.end(producer, true)).toBe('NONE');
      });

      it('are refused to others, with the code of the version', async () => {
        const name = await topic();
        const old = await tx.init(unique('partitions'));
        const producer = await tx.init(old.transactionalId);
        expect(producer.producerEpoch).toBe(1);
        const stranger = { ...producer, producerId: producer.producerId + 1000n };
        const early = { ...producer, producerEpoch: 9 };
        for (const [version, fenced] of [
          [0, 'INVALID_PRODUCER_EPOCH'],
          [1, 'INVALID_PRODUCER_EPOCH'],
          [2, 'PRODUCER_FENCED'],
          [3, 'PRODUCER_FENCED'],
        ] as const) {
          for (const wrong of [old, early]) {
            expect(await tx.tryAdd(wrong, { [name]: [0] }, version)).toEqual([fenced]);
            expect(await tx.tryAddOffsets(wrong, 'g', version)).toBe(fenced);
            expect(await tx.end(wrong, true, version)).toBe(fenced);
          }
          expect(await tx.tryAdd(stranger, { [name]: [0] }, version)).toEqual([
            'INVALID_PRODUCER_ID_MAPPING',
          ]);
          expect(await tx.end(stranger, true, version)).toBe('INVALID_PRODUCER_ID_MAPPING');
        }
      });

      it('are written to by this transaction only', async () => {
        const name = await topic(2);
        const old = await tx.init(unique('writes'));
        const producer = await tx.init(old.transactionalId);
        const write = async (options: SendOptions = {}) =>
          (await tx.send(producer, name, ['x'], options)).error;
        // Nothing added yet.
        expect(await write({ version: 9 })).toBe('INVALID_TXN_STATE');
        expect(await write({ version: 10 })).toBe('INVALID_TXN_STATE');
        expect(await write({ version: 11 })).toBe('TRANSACTION_ABORTABLE');
        expect(await write({ transactionalId: null })).toBe(
          'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
        );
        await tx.add(producer, name, 0);
        expect(await write()).toBe('NONE');
        expect(await write({ partition: 1 })).toBe('INVALID_TXN_STATE');
        expect((await tx.send(old, name, ['x'])).error).toBe('INVALID_PRODUCER_EPOCH');
        expect(
          (await tx.send({ ...producer, producerId: producer.producerId + 1000n }, name, ['x']))
            .error,
        ).toBe('INVALID_PRODUCER_ID_MAPPING');
        expect(
          (
            await tx.send({ ...producer, transactionalId: unique('unknown') }, name, ['x'], {
              partition: 1,
            })
          ).error,
        ).toBe('INVALID_PRODUCER_ID_MAPPING');
        // A batch outside of its own open transaction, in a partition of it and in another one.
        expect(await write({ isTransactional: false })).toBe('INVALID_TXN_STATE');
        expect(await write({ isTransactional: false, partition: 1 })).toBe('NONE');
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.latest(name, 1)) === 2n);
        expect(await write()).toBe('INVALID_TXN_STATE');
      });
    });

    describe('its batches', () => {
      it('are known again, in order, and counted anew in each epoch', async () => {
        const name = await topic();
        const first = await tx.init(unique('sequences'));
        await tx.add(first, name, 0);
        expect(await tx.send(first, name, ['a', 'b'])).toEqual({ error: 'NONE', baseOffset: 0n });
        expect(await tx.send(first, name, ['c'])).toEqual({ error: 'NONE', baseOffset: 2n });
        const again = { baseSequence: 0 };
        expect(await tx.send(first, name, ['a', 'b'], again)).toEqual({
          error: 'NONE',
          baseOffset: 0n,
        });
        expect((await tx.send(first, name, ['e'], { baseSequence: 4 })).error).toBe(
          'OUT_OF_ORDER_SEQUENCE_NUMBER',
        );
        expect(await tx.end(first, true)).toBe('NONE');
        await until(async () => (await tx.latest(name, 1)) === 4n);
        // They go on over the end of a transaction, whose last ones are known in the next.
        await tx.add(first, name, 0);
        expect(await tx.send(first, name, ['d'], { baseSequence: 3 })).toEqual({
          error: 'NONE',
          baseOffset: 4n,
        });
        expect(await tx.send(first, name, ['c'], { baseSequence: 2 })).toEqual({
          error: 'NONE',
          baseOffset: 2n,
        });
        expect(await tx.end(first, false)).toBe('NONE');
        const second = await tx.init(first.transactionalId);
        await tx.add(second, name, 0);
        expect((await tx.send(second, name, ['e'], { baseSequence: 4 })).error).toBe(
          'OUT_OF_ORDER_SEQUENCE_NUMBER',
        );
        expect(await tx.send(second, name, ['e'])).toEqual({ error: 'NONE', baseOffset: 6n });
        expect(await tx.end(second, true)).toBe('NONE');
        await until(async () => (await tx.latest(name, 1)) === 8n);
        expect(await tx.read(name, 1)).toEqual(['a', 'b', 'c', 'e']);
      });

      it('have sequences that go round (KAFKA-5793)', async () => {
        const name = await topic();
        const producer = await tx.init(unique('round'));
        await tx.add(producer, name, 0);
        const at = async (baseSequence: number, ...values: string[]) =>
          tx.send(producer, name, values, { baseSequence });
        // Nothing is known yet, so that any sequence may come first.
        expect(await at(2_147_483_645, 'a', 'b')).toMatchObject({ error: 'NONE', baseOffset: 0n });
        expect(await at(2_147_483_647, 'c', 'd')).toMatchObject({ error: 'NONE', baseOffset: 2n });
        expect(await at(1, 'e')).toMatchObject({ error: 'NONE', baseOffset: 4n });
        expect(await at(2_147_483_647, 'c', 'd')).toMatchObject({ error: 'NONE', baseOffset: 2n });
        expect((await at(0, 'x')).error).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER');
        expect(await tx.end(producer, true)).toBe('NONE');
      });
    });

    describe('its end', () => {
      it('may be repeated, but not be changed', async () => {
        const name = await topic();
        const producer = await tx.init(unique('end'));
        for (const committed of [true, false]) {
          await tx.add(producer, name, 0);
          expect(await tx.end(producer, committed)).toBe('NONE');
          await until(async () => (await tx.end(producer, committed)) === 'NONE');
          expect(await tx.end(producer, !committed)).toBe('INVALID_TXN_STATE');
        }
      });

      it('without a transaction is refused, with one that is empty not (kafkajs 1388)', async () => {
        const producer = await tx.init(unique('end'));
        for (const committed of [true, false]) {
          expect(await tx.end(producer, committed, 3)).toBe('INVALID_TXN_STATE');
          expect(await tx.end(producer, committed, 4)).toBe('INVALID_TXN_STATE');
        }
        const name = await topic();
        await tx.add(producer, name, 0);
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.latest(name, 0)) === 1n);
        expect(await tx.latest(name, 1)).toBe(1n);
        expect(await tx.read(name, 1)).toEqual([]);
      });

      it('decides what is seen, in every partition and not before (streamnative/kop 1283, redpanda 6630)', async () => {
        const name = await topic(2);
        const producer = await tx.init(unique('visible'));
        for (const committed of [true, false, true]) {
          const before = [await tx.read(name, 1, 0), await tx.read(name, 1, 1)];
          await tx.add(producer, name, 0, 1);
          const value = `${committed}`;
          await tx.send(producer, name, [value, value]);
          await tx.send(producer, name, [value], { partition: 1 });
          expect([await tx.read(name, 1, 0), await tx.read(name, 1, 1)]).toEqual(before);
          expect((await tx.read(name, 0, 0)).slice(-2)).toEqual([value, value]);
          const stable = await tx.latest(name, 1);
          expect(await tx.latest(name, 0)).toBe(stable + 2n);
          expect(await tx.fetch(name, 1)).toMatchObject({
            highWatermark: stable + 2n,
            lastStableOffset: stable,
          });
          expect(await tx.end(producer, committed)).toBe('NONE');
          for (const partition of [0, 1]) {
            await until(
              async () =>
                (await tx.latest(name, 1, partition)) === (await tx.latest(name, 0, partition)),
            );
          }
        }
        expect(await tx.read(name, 1, 0)).toEqual(['true', 'true', 'true', 'true']);
        expect(await tx.read(name, 1, 1)).toEqual(['true', 'true']);
        expect(await tx.read(name, 0, 1)).toEqual(['true', 'false', 'true']);
        expect((await tx.fetch(name, 1)).abortedTransactions).toEqual([
          { producerId: producer.producerId, firstOffset: 3n },
        ]);
        expect((await tx.fetch(name, 0)).abortedTransactions).toBeNull();
      });

      it('leaves markers at offsets of their own (librdkafka 3918)', async () => {
        const name = await topic();
        const producer = await tx.init(unique('markers'));
        for (const committed of [true, false, true]) {
          await tx.add(producer, name, 0);
          await tx.send(producer, name, ['a', 'b']);
          expect(await tx.end(producer, committed)).toBe('NONE');
        }
        await until(async () => (await tx.latest(name, 1)) === 9n);
        expect(await tx.latest(name, 0)).toBe(9n);
        expect(await tx.read(name, 1)).toEqual(['a', 'b', 'a', 'b']);
      });

      it('lets a waiting fetch go that asks for more than a marker has bytes', async () => {
        const name = await topic();
        const producer = await tx.init(unique('waiting'));
        await tx.add(producer, name, 0);
        const waiting = await RawClient.connect(broker().bootstrapServers);
        try {
          const before = Date.now();
          const answer = waiting.send(Fetch, 12, {
            maxWaitMs: 15_000,
            minBytes: 1_000,
            maxBytes: 1 << 20,
            isolationLevel: 1,
            sessionId: 0,
            sessionEpoch: -1,
            topics: [
              {
                topic: name,
                partitions: [{ partition: 0, fetchOffset: 0n, partitionMaxBytes: 1e6 }],
              },
            ],
          });
          await tx.send(producer, name, ['x'.repeat(2_000)]);
          await tx.send(producer, name, ['y']);
          expect(await tx.end(producer, true)).toBe('NONE');
          const { responses } = await answer;
          expect(responses[0]?.partitions[0]?.records?.length).toBeGreaterThan(2_000);
          expect(Date.now() - before).toBeLessThan(10_000);
        } finally {
          waiting.close();
        }
      });

      it('bounds what is found by time, too', async () => {
        const name = await topic();
        const producer = await tx.init(unique('times'));
        await tx.add(producer, name, 0);
        await tx.send(producer, name, ['a']);
        expect(await tx.offsetAt(name, 0, 1n)).toBe(0n);
        expect(await tx.offsetAt(name, 1, 1n)).toBe(-1n);
        expect(await tx.offsetAt(name, 1, -3n)).toBe(-1n);
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.latest(name, 1)) === 2n);
        expect(await tx.offsetAt(name, 1, 1n)).toBe(0n);
      });

      it('of one holds back what others have written behind it', async () => {
        const name = await topic();
        const [slow, fast] = [await tx.init(unique('slow')), await tx.init(unique('fast'))];
        await tx.add(slow, name, 0);
        await tx.send(slow, name, ['slow']);
        await tx.add(fast, name, 0);
        await tx.send(fast, name, ['fast']);
        expect(await tx.end(fast, true)).toBe('NONE');
        await until(async () => (await tx.latest(name, 0)) === 3n);
        expect(await tx.latest(name, 1)).toBe(0n);
        expect(await tx.read(name, 1)).toEqual([]);
        expect(await tx.end(slow, false)).toBe('NONE');
        await until(async () => (await tx.latest(name, 1)) === 4n);
        expect(await tx.read(name, 1)).toEqual(['fast']);
      });
    });

    describe('that is fenced', () => {
      it('by a newer producer of the same id is aborted', async () => {
        const name = await topic();
        const zombie = await tx.init(unique('fenced'));
        await tx.add(zombie, name, 0);
        await tx.send(zombie, name, ['lost']);
        expect(await tx.tryInit(zombie.transactionalId)).toMatchObject({
          error: 'CONCURRENT_TRANSACTIONS',
          producerId: -1n,
          producerEpoch: -1,
        });
        const producer = await tx.init(zombie.transactionalId);
        expect(producer.producerId).toBe(zombie.producerId);
        // At least one epoch lies between: that of the fence.
        expect(producer.producerEpoch).toBeGreaterThan(zombie.producerEpoch + 1);
        expect((await tx.send(zombie, name, ['zombie'])).error).toBe('INVALID_PRODUCER_EPOCH');
        expect(await tx.tryAdd(zombie, { [name]: [0] })).toEqual(['PRODUCER_FENCED']);
        expect(await tx.end(zombie, true)).toBe('PRODUCER_FENCED');
        expect(await tx.end(zombie, true, 1)).toBe('INVALID_PRODUCER_EPOCH');
        await tx.add(producer, name, 0);
        await tx.send(producer, name, ['kept']);
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.read(name, 1)).length > 0);
        expect(await tx.read(name, 1)).toEqual(['kept']);
      });

      it('by its timeout is aborted', async () => {
        const name = await topic();
        const slow = await tx.init(unique('timeout'), 500);
        await tx.add(slow, name, 0);
        await tx.send(slow, name, ['late']);
        await until(async () => (await tx.latest(name, 1)) === 2n);
        expect(await tx.read(name, 1)).toEqual([]);
        await until(async () => (await tx.end(slow, true)) !== 'CONCURRENT_TRANSACTIONS');
        expect(await tx.end(slow, true)).toBe('PRODUCER_FENCED');
        expect((await tx.send(slow, name, ['later'])).error).toBe('INVALID_PRODUCER_EPOCH');
        // Nobody goes on with the epoch of before.
        const again = await tx.tryInit(slow.transactionalId, {
          producerId: slow.producerId,
          producerEpoch: slow.producerEpoch,
        });
        expect(again.error).toBe('PRODUCER_FENCED');
        const producer = await tx.init(slow.transactionalId);
        await tx.add(producer, name, 0);
        await tx.send(producer, name, ['on time']);
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.read(name, 1)).length === 1);
      });
    });

    describe('its offsets', () => {
      let name: string;
      beforeAll(async () => {
        name = await topic(2);
      });

      async function begin(groupId: string) {
        const producer = await tx.init(unique('offsets'));
        await tx.addOffsets(producer, groupId);
        return producer;
      }

      it('are pending until the end, and gone if it is an abort', async () => {
        const groupId = unique('group');
        const first = await begin(groupId);
        expect(await tx.tryCommitOffset(first, groupId, name, 5n, { metadata: 'note' })).toBe(
          'NONE',
        );
        expect(await tx.committed(groupId, name)).toBe(-1n);
        expect(await tx.committed(groupId, name, true)).toBe('UNSTABLE_OFFSET_COMMIT');
        expect(await tx.committed(groupId, name, true, 1)).toBe(-1n);
        expect(await tx.end(first, true)).toBe('NONE');
        await until(async () => (await tx.committed(groupId, name, true)) === 5n);
        await tx.addOffsets(first, groupId);
        expect(await tx.tryCommitOffset(first, groupId, name, 9n)).toBe('NONE');
        expect(await tx.committed(groupId, name)).toBe(5n);
        expect(await tx.end(first, false)).toBe('NONE');
        await until(async () => (await tx.committed(groupId, name, true)) === 5n);
        // A second one in the same transaction takes the first one's place.
        await tx.addOffsets(first, groupId);
        await tx.tryCommitOffset(first, groupId, name, 10n);
        await tx.tryCommitOffset(first, groupId, name, 8n);
        expect(await tx.end(first, true)).toBe('NONE');
        await until(async () => (await tx.committed(groupId, name, true)) === 8n);
      });

      it('are refused outside of a transaction that holds the group', async () => {
        const groupId = unique('group');
        const producer = await tx.init(unique('offsets'));
        const tried = (version: number, overrides = {}, group = groupId, partition = 0) =>
          tx.tryCommitOffset({ ...producer, ...overrides }, group, name, 1n, {
            version,
            partition,
          });
        expect(await tried(0)).toBe('INVALID_TXN_STATE');
        expect(await tried(3)).toBe('INVALID_TXN_STATE');
        expect(await tried(4)).toBe('TRANSACTION_ABORTABLE');
        expect(await tried(3, { producerEpoch: 5 })).toBe('INVALID_PRODUCER_EPOCH');
        expect(await tried(3, { producerId: 12345n })).toBe('INVALID_PRODUCER_ID_MAPPING');
        expect(await tried(3, { transactionalId: unique('unknown') })).toBe(
          'INVALID_PRODUCER_ID_MAPPING',
        );
        expect(await tried(3, {}, '')).toBe('INVALID_GROUP_ID');
        expect(await tried(3, {}, groupId, 9)).toBe('UNKNOWN_TOPIC_OR_PARTITION');
        await tx.addOffsets(producer, groupId);
        expect(await tried(3)).toBe('NONE');
        expect(await tried(3, {}, groupId, 9)).toBe('UNKNOWN_TOPIC_OR_PARTITION');
        expect(
          await tx.tryCommitOffset(producer, groupId, name, 1n, { metadata: 'x'.repeat(5000) }),
        ).toBe('OFFSET_METADATA_TOO_LARGE');
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.committed(groupId, name, true)) === 1n);
        // Kafka's coordinator may still be waiting for the last marker: CONCURRENT_TRANSACTIONS.
        await until(async () => (await tried(3)) === 'INVALID_TXN_STATE');
      });

      it('are refused to members of other generations (KIP-447)', async () => {
        const groupId = unique('group');
        const member = await RawClient.connect(broker().bootstrapServers);
        try {
          const join = (memberId: string) =>
            member.send(JoinGroup, 9, {
              groupId,
              sessionTimeoutMs: 10_000,
              rebalanceTimeoutMs: 10_000,
              memberId,
              groupInstanceId: 'instance',
              protocolType: 'consumer',
              protocols: [{ name: 'range', metadata: Buffer.from('m') }],
              reason: null,
            });
          const producer = await begin(groupId);
          const tried = (generation: number, memberId: string, rest = {}) =>
            tx.tryCommitOffset(producer, groupId, name, 3n, { generation, memberId, ...rest });
          // No group yet.
          expect(await tried(1, 'somebody')).toBe('ILLEGAL_GENERATION');
          const { memberId, generationId } = await join('');
          // The assignment is not known yet, which holds up a plain commit only.
          expect(await tried(generationId, memberId)).toBe('NONE');
          await member.send(SyncGroup, 5, {
            groupId,
            generationId,
            memberId,
            groupInstanceId: 'instance',
            protocolType: 'consumer',
            protocolName: 'range',
            assignments: [{ memberId, assignment: Buffer.from('a') }],
          });
          expect(await tried(generationId + 1, memberId)).toBe('ILLEGAL_GENERATION');
          expect(await tried(generationId - 1, memberId)).toBe('ILLEGAL_GENERATION');
          expect(await tried(generationId, 'stranger')).toBe('UNKNOWN_MEMBER_ID');
          expect(await tried(-1, 'stranger')).toBe('UNKNOWN_MEMBER_ID');
          expect(await tried(generationId, 'stranger', { groupInstanceId: 'instance' })).toBe(
            'FENCED_INSTANCE_ID',
          );
          expect(await tried(generationId, memberId, { groupInstanceId: 'other' })).toBe(
            'UNKNOWN_MEMBER_ID',
          );
          expect(await tried(generationId, memberId, { groupInstanceId: 'instance' })).toBe('NONE');
          // Older producers say nothing of the member.
          expect(await tried(-1, '')).toBe('NONE');
          expect(await tried(-1, '', { version: 2 })).toBe('NONE');
          expect(await tx.end(producer, true)).toBe('NONE');
          await until(async () => (await tx.committed(groupId, name, true)) === 3n);
        } finally {
          member.close();
        }
      });

      it('are overtaken by a later plain commit', async () => {
        const groupId = unique('group');
        const producer = await begin(groupId);
        await tx.tryCommitOffset(producer, groupId, name, 5n);
        const { topics } = await client.send(OffsetCommit, 7, {
          groupId,
          generationIdOrMemberEpoch: -1,
          memberId: '',
          topics: [{ name, partitions: [{ partitionIndex: 0, committedOffset: 7n }] }],
        });
        expect(topics[0]?.partitions[0]?.errorCode).toBe(0);
        expect(await tx.committed(groupId, name)).toBe(7n);
        expect(await tx.committed(groupId, name, true)).toBe('UNSTABLE_OFFSET_COMMIT');
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.committed(groupId, name, true)) === 7n);
      });

      it('that are pending go with OffsetDelete and with the group', async () => {
        const groupId = unique('group');
        const producer = await begin(groupId);
        await tx.tryCommitOffset(producer, groupId, name, 5n);
        const deleted = await client.send(OffsetDelete, 0, {
          groupId,
          topics: [{ name, partitions: [{ partitionIndex: 0 }] }],
        });
        expect(deleted).toMatchObject({ errorCode: 0 });
        expect(deleted.topics[0]?.partitions[0]?.errorCode).toBe(0);
        expect(await tx.committed(groupId, name, true)).toBe(-1n);
        await tx.tryCommitOffset(producer, groupId, name, 6n);
        expect(await tx.committed(groupId, name, true)).toBe('UNSTABLE_OFFSET_COMMIT');
        const { results } = await client.send(DeleteGroups, 2, { groupsNames: [groupId] });
        expect(results[0]?.errorCode).toBe(0);
        expect(await tx.committed(groupId, name, true)).toBe(-1n);
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(async () => (await tx.end(producer, true)) === 'NONE');
        expect(await tx.committed(groupId, name, true)).toBe(-1n);
      });
    });

    describe('administration', () => {
      it('shows it by id, by state, by producer and by age', async () => {
        const name = await topic(2);
        const producer = await tx.init(unique('shown'));
        const { transactionalId, producerId } = producer;
        const describeIt = async (...transactionalIds: string[]) => {
          const { transactionStates } = await client.send(DescribeTransactions, 0, {
            transactionalIds,
          });
          return transactionStates;
        };
        expect(await describeIt(transactionalId, unique('nobody'), '')).toMatchObject([
          {
            errorCode: 0,
            transactionState: 'Empty',
            transactionTimeoutMs: 60_000,
            transactionStartTimeMs: -1n,
            producerId,
            producerEpoch: 0,
            topics: [],
          },
          { errorCode: errorCodes.TRANSACTIONAL_ID_NOT_FOUND },
          { errorCode: errorCodes.INVALID_REQUEST },
        ]);
        const before = BigInt(Date.now());
        await tx.add(producer, name, 1, 0);
        const [ongoing] = await describeIt(transactionalId);
        expect(ongoing).toMatchObject({ transactionState: 'Ongoing', topics: [{ topic: name }] });
        expect([...(ongoing?.topics[0]?.partitions ?? [])].sort()).toEqual([0, 1]);
        expect(ongoing?.transactionStartTimeMs).toBeGreaterThanOrEqual(before);
        const list = async (filter: object) => {
          const answer = await client.send(ListTransactions, 1, {
            stateFilters: [],
            producerIdFilters: [],
            durationFilter: -1n,
            ...filter,
          });
          expect(answer.errorCode).toBe(0);
          const ids = answer.transactionStates.map((one) => one.transactionalId);
          return { ...answer, isListed: ids.includes(transactionalId), count: ids.length };
        };
        expect(await list({})).toMatchObject({ isListed: true });
        expect(await list({ producerIdFilters: [producerId] })).toMatchObject({ count: 1 });
        expect(await list({ producerIdFilters: [-5n] })).toMatchObject({ count: 0 });
        expect(await list({ stateFilters: ['Ongoing'] })).toMatchObject({ isListed: true });
        expect(await list({ stateFilters: ['Empty', 'PrepareCommit'] })).toMatchObject({
          isListed: false,
        });
        expect(await list({ stateFilters: ['Odd'] })).toMatchObject({
          count: 0,
          unknownStateFilters: ['Odd'],
        });
        expect(await list({ durationFilter: 60_000n, stateFilters: ['Ongoing'] })).toMatchObject({
          isListed: false,
        });
        await until(
          async () =>
            (await list({ durationFilter: 10n, producerIdFilters: [producerId] })).isListed,
        );
        expect(await tx.end(producer, true)).toBe('NONE');
        await until(
          async () => (await describeIt(transactionalId))[0]?.transactionState === 'CompleteCommit',
        );
        expect((await describeIt(transactionalId))[0]?.topics).toEqual([]);
      });

      it('shows the producers of a partition, and ends a transaction from outside (KIP-664)', async () => {
        const name = await topic();
        const old = await tx.init(unique('hanging'));
        const producer = await tx.init(old.transactionalId);
        const { producerId, producerEpoch } = producer;
        await tx.add(producer, name, 0);
        await tx.send(producer, name, ['a', 'b']);
        const producers = async (topicName: string, ...partitionIndexes: number[]) => {
          const { topics } = await client.send(DescribeProducers, 0, {
            topics: [{ name: topicName, partitionIndexes }],
          });
          return topics[0]?.partitions ?? [];
        };
        const [found, missing] = await producers(name, 0, 7);
        expect(missing?.errorCode).toBe(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
        expect((await producers('not legal!', 0))[0]?.errorCode).toBe(
          errorCodes.INVALID_TOPIC_EXCEPTION,
        );
        expect(found?.activeProducers).toMatchObject([
          {
            producerId,
            producerEpoch,
            lastSequence: 1,
            coordinatorEpoch: -1,
            currentTxnStartOffset: 0n,
          },
        ]);
        const mark = async (partition: number, epoch = producerEpoch) => {
          const { markers } = await client.send(WriteTxnMarkers, 1, {
            markers: [
              {
                producerId,
                producerEpoch: epoch,
                transactionResult: false,
                topics: [{ name, partitionIndexes: [partition] }],
                coordinatorEpoch: 0,
              },
            ],
          });
          return named(markers[0]?.topics[0]?.partitions[0]?.errorCode ?? -1);
        };
        expect(await mark(9)).toBe('UNKNOWN_TOPIC_OR_PARTITION');
        expect(await mark(0, old.producerEpoch)).toBe('INVALID_PRODUCER_EPOCH');
        expect(await mark(0)).toBe('NONE');
        expect(await tx.latest(name, 1)).toBe(3n);
        expect(await tx.read(name, 1)).toEqual([]);
        expect((await producers(name, 0))[0]?.activeProducers).toMatchObject([
          { producerId, coordinatorEpoch: 0, currentTxnStartOffset: -1n },
        ]);
        expect(await tx.end(producer, false)).toBe('NONE');
      });
    });

    it("leaves its steps in __transaction_state, in Kafka's schemas", async () => {
      const name = await topic(2);
      const groupId = unique('group');
      const producer = await tx.init(unique('logged'), 70_000);
      await tx.add(producer, name, 0);
      await tx.add(producer, name, 1);
      await tx.addOffsets(producer, groupId);
      expect(await tx.end(producer, true)).toBe('NONE');
      await until(async () => (await steps()).at(-1)?.state === 4);
      const found = await steps();
      expect(found.map(({ state, partitions }) => [state, partitions])).toEqual([
        [0, null],
        [1, [`${name} 0`]],
        [1, [`${name} 0,1`]],
        [1, ['__consumer_offsets', `${name} 0,1`]],
        [2, ['__consumer_offsets', `${name} 0,1`]],
        [4, []],
      ]);
      for (const { value } of found) {
        expect(value).toMatchObject({
          producerId: producer.producerId,
          producerEpoch: 0,
          transactionTimeoutMs: 70_000,
        });
      }
      const previous = found.map(({ value }) => value.previousProducerId);
      expect(new Set(previous)).toEqual(new Set([producer.producerId]));
      expect(found[0]?.value.transactionStartTimestampMs).toBe(-1n);
      const starts = found.slice(1).map(({ value }) => value.transactionStartTimestampMs);
      expect(new Set(starts).size).toBe(1);

      async function steps() {
        const all: { state: number; partitions: string[] | null; value: TransactionLogValue }[] =
          [];
        for (let partition = 0; partition < 64; partition++) {
          const answer = await client.send(Fetch, 12, {
            maxWaitMs: 0,
            minBytes: 1,
            maxBytes: 1 << 24,
            sessionId: 0,
            sessionEpoch: -1,
            topics: [
              {
                topic: '__transaction_state',
                partitions: [{ partition, fetchOffset: 0n, partitionMaxBytes: 1 << 24 }],
              },
            ],
          });
          const found = answer.responses[0]?.partitions[0];
          if (found === undefined || found.errorCode !== 0) break;
          const batches = new BatchIterator(found.records ?? Buffer.alloc(0));
          const cursor = new RecordCursor();
          for (let batch = batches.next(); batch !== null; batch = batches.next()) {
            cursor.open(batch);
            while (cursor.next()) {
              const [key, bytes] = [cursor.key(), cursor.value()];
              if (key === null || bytes === null) continue;
              const id = decodeVersioned(TransactionLogKey, key).body.transactionalId;
              if (id !== producer.transactionalId) continue;
              const { version, body } = decodeVersioned(TransactionLogValue, bytes);
              expect(version).toBe(1);
              const partitions = body.transactionPartitions?.map(
                ({ topic: topicName, partitionIds }) =>
                  topicName === name
                    ? `${topicName} ${[...partitionIds].sort().join(',')}`
                    : topicName,
              );
              all.push({
                state: body.transactionStatus,
                partitions: partitions?.sort() ?? null,
                value: body,
              });
            }
          }
        }
        return all;
      }
    });
  },
  config,
  classicFlow,
);
