import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedBroker } from '@millrace/broker';
import { firstValueFrom, filter, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kafkaJsClient } from './client/kafkajs/kafkajs-client.ts';
import type { StreamsClient } from './client/ports.ts';
import { StreamsBuilder } from './dsl/streams-builder.ts';
import type { EmbeddedApplication } from './embedded.ts';
import { startBroker, startEmbedded } from './embedded.ts';
import type { KafkaStreams } from './kafka-streams.ts';
import { silentLogger } from './logging/logger.ts';
import { serdes } from './serdes/serdes.ts';
import { readTopic } from './topics/topic-reader.ts';
import { TopicWriter } from './topics/topic-writer.ts';
import type { Topology } from './topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const counted = { key: serdes.string(), value: serdes.long() };
const config = {
  'application.id': 'words-app',
  'commit.interval.ms': 100,
  'delete.interval.ms': 200,
  'producer.linger.ms': 5,
  // Every change is in the changelog.
  'statestore.cache.max.bytes': 0,
} as const;

function wordCount(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('lines', strings)
    .flatMapValues((line) => line.split(' '))
    .groupBy((_, word) => word, strings)
    .count({ store: 'counts' })
    .toStream()
    .to('words', counted);
  return builder.build();
}

const open: (() => Promise<unknown>)[] = [];
let stateDir: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-embedded-'));
});

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  rmSync(stateDir, { recursive: true, force: true });
});

function clientOf(broker: EmbeddedBroker): StreamsClient {
  const client = kafkaJsClient({
    clientId: 'test',
    logger: silentLogger(),
    config: { brokers: [broker.bootstrapServers] },
  });
  open.push(() => client.close(5_000));
  return client;
}

async function writeLines(client: StreamsClient, lines: readonly string[]): Promise<void> {
  const writer = await TopicWriter.open(client, { topic: 'lines', ...strings });
  lines.forEach((line, i) => {
    writer.send(`line-${String(i)}`, line, { timestamp: 1_700_000_000_000 + i });
  });
  await writer.flush();
}

async function latestCounts(client: StreamsClient): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for await (const records of readTopic(client, { topic: 'words', ...counted })) {
    for (const { key, value } of records) counts[String(key)] = value ?? 0;
  }
  return counts;
}

async function eventually(check: () => Promise<boolean>): Promise<void> {
  for (;;) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function running(streams: KafkaStreams): Promise<void> {
  await firstValueFrom(streams.state$.pipe(filter(({ state }) => state === 'RUNNING')));
}

async function start(broker: EmbeddedBroker, storeType: string): Promise<EmbeddedApplication> {
  const stores = { 'state.dir': stateDir, 'dsl.store.suppliers.class': storeType };
  const application = await startEmbedded(
    wordCount(),
    { ...config, ...stores },
    {
      broker,
      topics: { lines: 2, words: 1 },
      streamsOptions: { logger: silentLogger() },
    },
  );
  open.push(() => application.close({ timeoutMs: 5_000 }));
  return application;
}

describe('an application on the embedded broker', () => {
  it.each([
    ['inMemory', 4_000],
    ['persistent', 0],
  ])(
    'counts, purges its repartition topic, stops cleanly and goes on where it stopped: %s',
    async (storeType, restoredCount) => {
      const broker = await startBroker({ inProcess: true });
      open.push(() => broker.close());
      const client = clientOf(broker);
      const first = await start(broker, storeType);
      await running(first.streams);
      await writeLines(
        client,
        Array.from({ length: 1_000 }, () => 'a b a c'),
      );
      await eventually(async () => (await latestCounts(client))['a'] === 2_000);
      expect(await latestCounts(client)).toEqual({ a: 2_000, b: 1_000, c: 1_000 });

      const fetcher = client.fetcher({
        isolationLevel: 'read_uncommitted',
        maxWaitMs: 100,
        minBytes: 1,
        maxBytes: 1_000_000,
        maxPartitionBytes: 1_000_000,
        onReady: () => undefined,
      });
      const repartition = [0, 1].map((partition) => ({
        topic: 'words-app-counts-repartition',
        partition,
      }));
      const startOf = async (): Promise<bigint> =>
        [...(await fetcher.beginningOffsets(repartition)).values()].reduce((a, b) => a + b, 0n);
      // No input comes any more; what is committed is purged all the same.
      await eventually(async () => (await startOf()) === 4_000n);

      expect(await first.close({ timeoutMs: 5_000 })).toBe(true);
      expect(first.streams.state).toBe('NOT_RUNNING');

      await writeLines(client, ['a d']);
      const second = await start(broker, storeType);
      const restored = firstValueFrom(
        second.streams.restore$.pipe(
          filter(({ kind }) => kind === 'end'),
          toArray(),
        ),
      );
      await eventually(async () => (await latestCounts(client))['d'] === 1);
      expect(await latestCounts(client)).toEqual({ a: 2_001, b: 1_000, c: 1_000, d: 1 });
      await second.close({ timeoutMs: 5_000 });
      const restoredRecords = (await restored).reduce((sum, p) => sum + p.restoredRecords, 0);
      // What is on disk need not be restored.
      expect(restoredRecords).toBe(restoredCount);
    },
  );
});
