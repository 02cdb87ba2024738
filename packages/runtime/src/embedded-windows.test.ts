import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedBroker } from '@millrace/broker';
import { filter, firstValueFrom, toArray } from 'rxjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { kafkaJsClient } from './client/kafkajs/kafkajs-client.ts';
import type { StreamsClient } from './client/ports.ts';
import { StreamsBuilder } from './dsl/streams-builder.ts';
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
const START = 1_700_000_040_000;
const MINUTE_MS = 60_000;

/** Counts per minute, kept for eleven minutes, and a join with what a table held at a record's time. */
function topology(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .groupByKey()
    .windowedBy(timeWindows({ size: '1m', grace: '10m' }))
    .count({ store: 'n', caching: false, retention: '11m' })
    .toStream((key) => `${key.key}@${String((key.start - START) / MINUTE_MS)}`)
    .to('out', { key: serdes.string(), value: serdes.long() });
  const rates = builder.table('rates', {
    ...strings,
    store: 'rates',
    supplier: storeSuppliers.versioned({ historyRetention: '1h' }),
  });
  builder
    .stream('asked', strings)
    .join(rates, (_asked, rate) => rate)
    .to('answers', strings);
  return builder.build();
}

const open: (() => Promise<unknown>)[] = [];
let stateDir: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-windows-'));
});

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  rmSync(stateDir, { recursive: true, force: true });
});

async function start(broker: EmbeddedBroker): Promise<EmbeddedApplication> {
  const config = {
    'application.id': 'windows-app',
    'commit.interval.ms': 100,
    'state.dir': stateDir,
    // Record time lies far back.
    'windowstore.changelog.additional.retention.ms': 10 * 365 * 86_400_000,
  };
  const application = await startEmbedded(topology(), config, {
    broker,
    topics: { in: 1, out: 1, rates: 1, asked: 1, answers: 1 },
    streamsOptions: { logger: silentLogger() },
  });
  open.push(() => application.close({ timeoutMs: 5_000 }));
  return application;
}

async function write(
  client: StreamsClient,
  topic: string,
  records: readonly (readonly [key: string, value: string, minute: number])[],
): Promise<void> {
  const writer = await TopicWriter.open(client, { topic, ...strings });
  for (const [key, value, minute] of records) {
    writer.send(key, value, { timestamp: START + minute * MINUTE_MS });
  }
  await writer.flush();
}

async function read(client: StreamsClient, topic: string): Promise<string[]> {
  const found: string[] = [];
  const value = topic === 'out' ? serdes.long() : serdes.string();
  for await (const records of readTopic<string, unknown>(client, {
    topic,
    key: serdes.string(),
    value,
  })) {
    for (const record of records) found.push(`${String(record.key)}=${String(record.value)}`);
  }
  return found;
}

async function count(client: StreamsClient, topic: string, records: number): Promise<void> {
  while ((await read(client, topic)).length < records) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it('goes on with windows and histories on disk where it stopped, and with what had expired', async () => {
  const broker = await startBroker({ inProcess: true });
  const client = kafkaJsClient({
    clientId: 'test',
    logger: silentLogger(),
    config: { brokers: [broker.bootstrapServers] },
  });
  open.push(
    () => broker.close(),
    () => client.close(5_000),
  );
  const first = await start(broker);
  await write(client, 'rates', [
    ['e', '1', 0],
    ['e', '2', 10],
  ]);
  await write(
    client,
    'in',
    Array.from({ length: 60 }, (_, minute) => ['a', 'x', minute]),
  );
  await count(client, 'out', 60);
  await write(client, 'asked', [['e', '', 5]]);
  await count(client, 'answers', 1);
  expect(await first.close({ timeoutMs: 5_000 })).toBe(true);

  const second = await start(broker);
  const ends = firstValueFrom(
    second.streams.restore$.pipe(
      filter(({ kind }) => kind === 'end'),
      toArray(),
    ),
  );
  // The first one's window was let go before the stop: as in Kafka Streams it is counted anew, because
  // the aggregation's own stream time begins anew, but not kept.
  await write(client, 'in', [
    ['a', 'late', 40],
    ['a', 'late', 40],
    ['a', 'again', 55],
    ['a', 'new', 60],
  ]);
  await count(client, 'out', 64);
  const counts = ['a@40=1', 'a@40=1', 'a@55=2', 'a@60=1'];
  expect((await read(client, 'out')).slice(60)).toEqual(counts);
  await write(client, 'asked', [
    ['e', '', 9],
    ['e', '', 12],
  ]);
  await count(client, 'answers', 3);
  expect(await read(client, 'answers')).toEqual(['e=1', 'e=1', 'e=2']);
  await second.close({ timeoutMs: 5_000 });
  const restored = (await ends).reduce((sum, { restoredRecords }) => sum + restoredRecords, 0);
  expect(restored).toBe(0);
});
