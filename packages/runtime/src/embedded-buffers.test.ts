import type { EmbeddedBroker } from '@millrace/broker';
import { filter, firstValueFrom } from 'rxjs';
import { afterEach, expect, it } from 'vitest';
import { kafkaJsClient } from './client/kafkajs/kafkajs-client.ts';
import type { StreamsClient } from './client/ports.ts';
import { StreamsBuilder } from './dsl/streams-builder.ts';
import { untilTimeLimit, untilWindowCloses } from './dsl/suppressed.ts';
import { timeWindows } from './dsl/time-windows.ts';
import type { EmbeddedApplication } from './embedded.ts';
import { startBroker, startEmbedded } from './embedded.ts';
import { silentLogger } from './logging/logger.ts';
import { serdes } from './serdes/serdes.ts';
import { storeSuppliers } from './state/store-suppliers.ts';
import { readTopic } from './topics/topic-reader.ts';
import { TopicWriter } from './topics/topic-writer.ts';
import type { Topology } from './topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const START = 1_700_000_000_000;

/** Final counts of hopping windows, a table that changes at most every 20 ms, and a join with grace. */
function topology(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .groupByKey()
    .windowedBy(timeWindows({ size: 10, advance: 5 }))
    .count({ store: 'n', caching: false })
    .suppress(untilWindowCloses({ name: 'closed' }))
    .toStream((key) => `${key.key}@${String(key.start - START)}`)
    .to('counts', { key: serdes.string(), value: serdes.long() });
  const table = builder.table('rows', {
    ...strings,
    store: 'rows',
    supplier: storeSuppliers.versioned({ historyRetention: 1_000 }),
  });
  builder
    .stream('left', strings)
    .join(table, (left, right) => `${left}+${right}`, { grace: 10, name: 'joined' })
    .to('joined', strings);
  builder
    .table('quotes', strings)
    .suppress(untilTimeLimit(20, { name: 'calm' }))
    .toStream()
    .to('calm', strings);
  return builder.build();
}

const open: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function start(broker: EmbeddedBroker): Promise<EmbeddedApplication> {
  const config = {
    'application.id': 'buffers',
    'commit.interval.ms': 100,
    'dsl.store.suppliers.class': 'inMemory',
  } as const;
  const application = await startEmbedded(topology(), config, {
    broker,
    topics: { in: 1, counts: 1, rows: 1, left: 1, joined: 1, quotes: 1, calm: 1 },
    streamsOptions: { logger: silentLogger() },
  });
  open.push(() => application.close({ timeoutMs: 5_000 }));
  const { state$ } = application.streams;
  await firstValueFrom(state$.pipe(filter(({ state }) => state === 'RUNNING')));
  return application;
}

async function write(
  client: StreamsClient,
  topic: string,
  records: readonly (readonly [string, string, number])[],
): Promise<void> {
  const writer = await TopicWriter.open(client, { topic, ...strings });
  for (const [key, value, time] of records) writer.send(key, value, { timestamp: START + time });
  await writer.flush();
}

async function read(client: StreamsClient, topic: string): Promise<string[]> {
  const value = topic === 'counts' ? serdes.long() : serdes.string();
  const texts: string[] = [];
  for await (const records of readTopic<string, unknown>(client, {
    topic,
    key: serdes.string(),
    value: value,
  })) {
    for (const r of records) {
      texts.push(`${String(r.key)}=${String(r.value)} ${String(r.timestamp - START)}`);
    }
  }
  return texts;
}

async function eventually(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 50));
}

it('what suppress and a join with grace keep is there again after a restart, and comes out once', async () => {
  const broker = await startBroker({ inProcess: true });
  open.push(() => broker.close());
  const client = kafkaJsClient({
    clientId: 'test',
    logger: silentLogger(),
    config: { brokers: [broker.bootstrapServers] },
  });
  open.push(() => client.close(5_000));
  const first = await start(broker);
  await write(client, 'rows', [['a', 'R1', 0]]);
  await write(client, 'in', [
    ['a', '1', 1],
    ['a', '2', 6],
    ['b', '3', 7],
    ['a', '4', 12],
  ]);
  await write(client, 'left', [
    ['a', 'L1', 5],
    ['a', 'L2', 30],
    ['a', 'L3', 25],
  ]);
  await write(client, 'quotes', [
    ['x', '1', 0],
    ['x', '2', 10],
    ['y', '1', 15],
  ]);
  await eventually(async () => (await read(client, 'counts')).length === 3);
  await eventually(async () => (await read(client, 'joined')).length === 1);
  await eventually(async () => (await read(client, 'buffers-calm-store-changelog')).length > 0);
  expect(await first.close({ timeoutMs: 5_000 })).toBe(true);
  expect(await read(client, 'calm')).toEqual([]);

  const before = Date.now();
  for await (const records of readTopic(client, {
    topic: 'buffers-closed-store-changelog',
    key: serdes.bytes(),
    value: serdes.bytes(),
  })) {
    for (const { timestamp, value, headers } of records) {
      // Left to the producer: about now, not the records' own time.
      expect(before - timestamp).toBeLessThan(60_000);
      expect(headers?.last('v')?.value).toEqual(value === null ? undefined : Buffer.from([3]));
    }
  }

  const second = await start(broker);
  await write(client, 'rows', [['a', 'R2', 26]]);
  await write(client, 'in', [['z', '5', 100]]);
  await write(client, 'left', [['a', 'L4', 100]]);
  await write(client, 'quotes', [['z', '1', 100]]);
  await eventually(async () => (await read(client, 'calm')).length === 2);
  await eventually(async () => (await read(client, 'joined')).length === 3);
  await eventually(async () => (await read(client, 'counts')).length === 6);
  expect(await second.close({ timeoutMs: 5_000 })).toBe(true);
  expect(await read(client, 'counts')).toEqual([
    'a@-5=1 1',
    'a@0=2 6',
    'b@0=1 7',
    'a@5=2 12',
    'b@5=1 7',
    'a@10=1 12',
  ]);
  expect(await read(client, 'joined')).toEqual(['a=L1+R1 5', 'a=L3+R1 25', 'a=L2+R2 30']);
  expect(await read(client, 'calm')).toEqual(['x=2 10', 'y=1 15']);
});
