/** Transactions on three nodes of Kafka that die one after the other: coordinators and leaders move. */
import { BatchIterator, RecordCursor } from '@millrace/protocol';
import { connect, silentLogger, type StreamsClient } from '@millrace/runtime';
import { describe, expect, it } from 'vitest';
import { missingForJava } from '../support/kafka/jars.ts';
import { startKafka } from '../support/kafka/start-kafka.ts';

type Producer = ReturnType<StreamsClient['transactionalProducer']>;

const missing = missingForJava();

const text = {
  name: 'text',
  serialize: (value: string) => Buffer.from(value),
  deserialize: (value: Uint8Array) => Buffer.from(value).toString(),
  write: (value: string, target: Buffer, position: number) =>
    position + value.length > target.length
      ? -1
      : position + target.write(value, position, 'latin1'),
  read: (source: Buffer, start: number, end: number) => source.toString('latin1', start, end),
};

const partitions = [0, 1, 2, 3, 4, 5];
const topic = 'transacted';
const source = 'source';
const nobody = { groupId: 'movers', generation: -1, memberId: '', groupInstanceId: null };

/** Values that a reader of committed records gets until each partition has so many. */
async function readCommitted(client: StreamsClient, count: number): Promise<Map<number, string[]>> {
  const values = new Map<number, string[]>(partitions.map((partition) => [partition, []]));
  let ready = (): void => undefined;
  const fetcher = client.fetcher({
    isolationLevel: 'read_committed',
    maxWaitMs: 100,
    minBytes: 1,
    maxBytes: 50 << 20,
    maxPartitionBytes: 1 << 20,
    onReady: () => {
      ready();
    },
  });
  fetcher.assign(partitions.map((partition) => ({ topic, partition, offset: 0n })));
  const cursor = new RecordCursor();
  const deadline = performance.now() + 30_000;
  while ([...values.values()].some(({ length }) => length < count)) {
    if (performance.now() > deadline) break;
    const woken = new Promise<void>((resolve) => {
      ready = resolve;
      setTimeout(resolve, 1_000);
    });
    for (const { partition, records, abortedTransactions, error } of fetcher.drain()) {
      if (error !== null) throw error;
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
        if (open.has(batch.producerId)) continue;
        cursor.open(batch);
        while (cursor.next()) values.get(partition)?.push(cursor.value()?.toString() ?? '');
      }
    }
    await woken;
  }
  return values;
}

describe.skipIf(missing !== null)(`three nodes${missing === null ? '' : ` (${missing})`}`, () => {
  it('commits each transaction once while coordinators and leaders move', async () => {
    const kafka = await startKafka({ nodes: 3 });
    const config = { 'bootstrap.servers': kafka.bootstrapServers };
    const client = connect(config, { logger: silentLogger() });
    try {
      await client.admin().createTopics(
        [topic, source].map((name) => ({
          topic: name,
          partitionCount: partitions.length,
          replicationFactor: 3,
          config: new Map([
            ['min.insync.replicas', '1'],
            ['retention.ms', '-1'],
          ]),
        })),
      );
      const group = client.group({
        groupId: nobody.groupId,
        groupInstanceId: null,
        sessionTimeoutMs: 30_000,
        heartbeatIntervalMs: 500,
        rebalanceTimeoutMs: 30_000,
        protocolName: 'test',
      });
      const open = async (): Promise<Producer> => {
        const opened = client.transactionalProducer({
          transactionalId: 'mover',
          lingerMs: 5,
          batchBytes: 16_384,
          bufferBytes: 16 << 20,
          requestTimeoutMs: 3_000,
          deliveryTimeoutMs: 20_000,
          maxBlockMs: 20_000,
          compression: 'lz4',
          onDrained: () => undefined,
        });
        await opened.initTransactions();
        return opened;
      };
      const committed = async (): Promise<number> => {
        const key = `${source}-0`;
        const found = await group.committed([{ topic: source, partition: 0 }], {
          requireStable: true,
        });
        return Number(found.get(key)?.offset ?? 0n);
      };

      let producer = await open();
      const failures: string[] = [];
      /** As a stream thread would: back to what is committed. */
      const recover = async (): Promise<number> => {
        for (;;) {
          try {
            if (producer.isFatal) {
              await producer.close(1_000);
              producer = await open();
            } else {
              await producer.abortTransaction();
            }
            return await committed();
          } catch (error) {
            failures.push(`recovering: ${String(error)}`);
          }
        }
      };
      const stopping = new AbortController();
      let count = 0;
      const working = (async () => {
        while (!stopping.signal.aborted) {
          try {
            for (const partition of partitions) {
              const buffer = producer.partition(topic, partition);
              for (let i = 0; i < 5; i++) {
                buffer.append(1_000, null, 0, 0, `${String(count)}-${String(i)}`, text, null);
              }
            }
            if (count % 10 === 3) await producer.flush();
            const offset = { topic: source, partition: 0, offset: BigInt(count + 1), metadata: '' };
            await producer.commitTransaction(new Map([[`${source}-0`, offset]]), nobody);
            count++;
          } catch (error) {
            failures.push(String(error));
            count = await recover();
          }
        }
      })();
      for (const node of [1, 2, 3]) {
        const before = count;
        await kafka.kill(node);
        await new Promise((resolve) => setTimeout(resolve, 4_000));
        await kafka.restart(node);
        await expect.poll(() => count, { timeout: 30_000 }).toBeGreaterThan(before + 100);
      }
      stopping.abort();
      await working;
      expect(await committed()).toBe(count);
      const values = await readCommitted(client, count * 5);
      const expected = Array.from(
        { length: count * 5 },
        (_, i) => `${String(Math.floor(i / 5))}-${String(i % 5)}`,
      );
      for (const partition of partitions) expect(values.get(partition)).toEqual(expected);
      expect(
        failures.filter((failure) => !/TaskCorrupted|TaskMigrated|Timeout/.test(failure)),
      ).toEqual([]);
    } finally {
      await client.close(5_000);
      await kafka.close();
    }
  }, 280_000);
});
