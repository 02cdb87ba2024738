/**
 * An application whose group rebalances again and again, because another instance comes and goes, and one
 * that just runs: what it holds must not grow. The long form is
 * `MILLRACE_REBALANCES=500 MILLRACE_MINUTES=30 pnpm exec vitest run --project crash test/chaos/endurance.test.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import {
  connect,
  KafkaStreams,
  serdes,
  silentLogger,
  StreamsBuilder,
  TopicWriter,
  type StreamsClient,
} from '@millrace/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const REBALANCES = Number(process.env['MILLRACE_REBALANCES'] ?? 20);
/** The first of them let caches, code and pools grow to what they need. */
const WARM_UP_REBALANCES = Math.ceil(REBALANCES / 2);
/** How long the other application runs; a third of it is for warming up. */
const MINUTES = Number(process.env['MILLRACE_MINUTES'] ?? 0.25);
const MINUTE_MS = 60_000;
const RECORDS_PER_TURN = 50;
const TURN_MS = 20;
const HEAP_GROWTH_MAX_BYTES = 6 * 1024 * 1024;
const PARTITIONS = 4;
const RECORDS_PER_REBALANCE = 200;
const KEYS = 100;
const RUNNING_MAX_MS = 30_000;
const POLL_MS = 5;
const TIMEOUT_MS = 60_000 + REBALANCES * 2_000;
const text = serdes.string();

let broker: EmbeddedBroker;
let client: StreamsClient;
let collectGarbage: () => void;

beforeEach(async () => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
  broker = await startBroker({ dataDir: temporaryDirectory() });
  client = connect({ 'bootstrap.servers': broker.bootstrapServers }, { logger: silentLogger() });
  await client
    .admin()
    .createTopics([
      { topic: 'in', partitionCount: PARTITIONS, replicationFactor: -1, config: new Map() },
    ]);
});

afterEach(async () => {
  await client.close(5_000);
  await broker.close();
});

function create(): KafkaStreams {
  const builder = new StreamsBuilder();
  builder
    .stream('in', { key: text, value: text })
    .selectKey((_key, value) => value)
    .groupByKey({ key: text, value: text })
    .count({ store: 'counts' });
  return new KafkaStreams(
    builder.build(),
    {
      'bootstrap.servers': broker.bootstrapServers,
      'application.id': 'app',
      'processing.guarantee': 'exactly_once_v2',
      // A member hears of a rebalance at its next heartbeat.
      'heartbeat.interval.ms': 200,
      'state.dir': temporaryDirectory(),
    },
    { logger: silentLogger() },
  );
}

async function isRunning(streams: KafkaStreams): Promise<void> {
  const untilMs = performance.now() + RUNNING_MAX_MS;
  while (streams.state !== 'RUNNING') {
    if (performance.now() > untilMs) throw new Error(`it is ${streams.state}`);
    await sleep(POLL_MS);
  }
}

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

it(
  `holds no more after ${String(REBALANCES)} rebalances than after ${String(WARM_UP_REBALANCES)}`,
  { timeout: TIMEOUT_MS },
  async () => {
    const streams = create();
    await streams.start();
    await isRunning(streams);
    const writer = await TopicWriter.open(client, { topic: 'in', key: text, value: text });
    let heapBefore = 0;
    let resourcesBefore = 0;
    // A visitor makes the group rebalance twice.
    for (let count = 0; count < REBALANCES; count += 2) {
      const visitor = create();
      await visitor.start();
      await isRunning(visitor);
      for (let i = 0; i < RECORDS_PER_REBALANCE; i++) {
        writer.send(`key-${String(i)}`, `word-${String(i % KEYS)}`, { timestamp: Date.now() });
      }
      await writer.flush();
      await visitor.close();
      await isRunning(streams);
      if (count < WARM_UP_REBALANCES) {
        heapBefore = heapBytes();
        resourcesBefore = process.getActiveResourcesInfo().length;
      }
    }
    expect(heapBytes() - heapBefore).toBeLessThan(HEAP_GROWTH_MAX_BYTES);
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(resourcesBefore + 2);
    await writer.close();
    await streams.close();
  },
);

it(
  `holds no more after ${String(MINUTES)} minutes of work than after a third of them`,
  { timeout: MINUTES * MINUTE_MS + 60_000 },
  async () => {
    const streams = create();
    await streams.start();
    await isRunning(streams);
    const writer = await TopicWriter.open(client, { topic: 'in', key: text, value: text });
    const beginMs = performance.now();
    const endMs = beginMs + MINUTES * MINUTE_MS;
    let heapBefore = 0;
    let resourcesBefore = 0;
    for (let turn = 0; performance.now() < endMs; turn++) {
      for (let i = 0; i < RECORDS_PER_TURN; i++) {
        const word = `word-${String((turn + i) % KEYS)}`;
        writer.send(`key-${String(i)}`, word, { timestamp: Date.now() });
      }
      if (writer.isFull) await writer.drained();
      await sleep(TURN_MS);
      if (heapBefore === 0 && performance.now() > beginMs + (endMs - beginMs) / 3) {
        heapBefore = heapBytes();
        resourcesBefore = process.getActiveResourcesInfo().length;
      }
    }
    expect(streams.state).toBe('RUNNING');
    expect(heapBytes() - heapBefore).toBeLessThan(HEAP_GROWTH_MAX_BYTES);
    expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(resourcesBefore + 2);
    await writer.close();
    await streams.close();
  },
);
