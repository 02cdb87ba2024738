/** What users of other stream processors saw of groups and transactions; the number is the report's. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type FixedKeyProcessorContext,
  GroupProgress,
  type PartitionAppender,
  type RecordCursor,
  serdes,
  type StateStore,
  type StoreBuilder,
  type StoreContext,
  StreamsBuilder,
  type StreamsClient,
} from '@millrace/runtime';
import { afterEach, expect, it } from 'vitest';
import { APPLICATION_ID, type Entry, eventually, Lab } from './lab.ts';
import { texts } from './topologies.ts';

let lab: Lab;
afterEach(() => lab.close());

const SESSION_MS = 6_000;
const RESTORED_COUNT = 750;
const ROW_MS = 10;
const never = new Int32Array(new SharedArrayBuffer(4));

/** A store of the user's own whose rows take long to be restored, and block the event loop meanwhile. */
class SlowStore implements StateStore {
  readonly name = 'slow';
  readonly isPersistent = false;
  isOpen = false;
  #size = 0;
  #changelog: PartitionAppender | null = null;

  open(_context: StoreContext, changelog: PartitionAppender | null): void {
    this.#changelog = changelog;
    this.isOpen = true;
  }

  restore(_cursor: RecordCursor): void {
    Atomics.wait(never, 0, 0, ROW_MS);
    this.#size++;
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(): void {}

  close(): void {
    this.isOpen = false;
  }

  add(key: string, timestamp: number): number {
    const bytes = Buffer.from(key);
    this.#changelog?.append(timestamp, bytes, 0, bytes.length, key, serdes.string(), null);
    return ++this.#size;
  }
}

it('152: heartbeats go on while a store is restored for longer than session.timeout.ms (kafkajs#387)', async () => {
  lab = await Lab.open({ in: 1, out: 1 });
  await lab.createTopic('app-slow-changelog', 1);
  const rows = Array.from({ length: RESTORED_COUNT }, (_, i): Entry => [`k${String(i)}`, 'v']);
  await lab.write('app-slow-changelog', rows);
  await lab.write('in', [['k', 'v']]);

  const slow: StoreBuilder<SlowStore> = {
    name: 'slow',
    isLogged: true,
    isPersistent: () => false,
    changelogConfig: () => new Map([['cleanup.policy', 'compact']]),
    bind: () => () => new SlowStore(),
  };
  const builder = new StreamsBuilder();
  builder
    .addStateStore(slow)
    .stream('in', texts)
    .processValues<string>(
      () => {
        let context: FixedKeyProcessorContext<string, string>;
        return {
          init(given) {
            context = given;
          },
          process(record) {
            const size = context.getStateStore(slow).add(record.key, record.timestamp);
            return context.forward(record.withValue(String(size)));
          },
        };
      },
      { stores: ['slow'] },
    )
    .to('out', texts);
  const app = lab.create(builder.build(), {
    'session.timeout.ms': SESSION_MS,
    'heartbeat.interval.ms': 2_000,
  });
  const states: string[] = [];
  app.streams.state$.subscribe(({ state }) => states.push(state));
  const startMs = performance.now();
  await app.streams.start();
  await eventually(() => app.streams.state === 'RUNNING');
  expect(performance.now() - startMs).toBeGreaterThan(SESSION_MS + 1_000);
  await eventually(async () => (await lab.read('out')).length > 0);
  // One generation, restored once.
  expect(states).toEqual(['CREATED', 'REBALANCING', 'RUNNING']);
  expect(app.progress.filter(({ kind }) => kind === 'start')).toHaveLength(1);
  expect((await lab.read('out')).map(({ value }) => value)).toEqual([String(RESTORED_COUNT + 1)]);
  expect(app.loud).toEqual([]);
}, 60_000);

type Producer = ReturnType<StreamsClient['transactionalProducer']>;

async function producerOf(client: StreamsClient): Promise<Producer> {
  const producer = client.transactionalProducer({
    transactionalId: 'writer',
    transactionTimeoutMs: 10_000,
    lingerMs: 1,
    batchBytes: 16_384,
    bufferBytes: 1 << 20,
    requestTimeoutMs: 10_000,
    deliveryTimeoutMs: 30_000,
    compression: 'none',
    onDrained: () => undefined,
  });
  await producer.initTransactions();
  return producer;
}

const nobody = { groupId: 'nobody', generation: -1, memberId: '', groupInstanceId: null };

it('91, 92: an application sees nothing of aborted transactions, and ends behind the last marker without lag (librdkafka#3918, streamnative/kop#1283)', async () => {
  lab = await Lab.open({ in: 1, out: 1 });
  const producer = await producerOf(lab.client);
  const send = async (...values: string[]): Promise<void> => {
    const partition = producer.partition('in', 0);
    const key = Buffer.from('k');
    for (const value of values)
      partition.append(1_000, key, 0, key.length, value, serdes.string(), null);
    await producer.flush();
  };
  const builder = new StreamsBuilder();
  builder.stream('in', texts).to('out', texts);
  const app = await lab.start(builder.build(), { 'processing.guarantee': 'exactly_once_v2' });
  await send('a', 'b');
  await producer.commitTransaction(new Map(), nobody);
  await send('x', 'y');
  // The abort is slow: what it will undo lies there meanwhile.
  await sleep(200);
  await producer.abortTransaction();
  await send('c', 'd');
  await producer.commitTransaction(new Map(), nobody);
  await producer.close(1_000);
  await eventually(async () => (await lab.committed('in')) === 9n);
  const group = new GroupProgress(lab.client, APPLICATION_ID);
  expect(await group.of('in')).toMatchObject([{ committedOffset: 9n, endOffset: 9n }]);
  await group.close();
  expect((await lab.read('out')).map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd']);
  expect(app.loud).toEqual([]);
});
