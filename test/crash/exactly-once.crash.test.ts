import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import {
  connect,
  GroupProgress,
  readTopic,
  serdes,
  silentLogger,
  TopicWriter,
  type StreamsClient,
} from '@millrace/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CountingProcess } from './counting-process.ts';

const APPLICATION_ID = 'counting-once';
const TOPIC = 'clicks';
const KEYS = 5_000;
/** Written before each start, so that there is something to do however fast the last one was. */
const RECORDS = 60_000;
/** Less than the `transaction.timeout.ms` of 10 s: a transaction that a kill left open is ended at the start. */
const STARTED_MAX_MS = 8_000;
/** After it says that it is running, ms: while it processes, commits, or both. */
const KILLS_MS = [40, 310, 620, 150];
const TEST_TIMEOUT_MS = 240_000;

let root: string;
let broker: EmbeddedBroker;
let client: StreamsClient;
const running: CountingProcess[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'millrace-once-'));
  // Every record of the changelogs is looked at: none may be compacted away.
  const config = { 'log.cleaner.enable': 'false' };
  broker = await startBroker({ dataDir: join(root, 'data'), config });
  client = connect({ 'bootstrap.servers': broker.bootstrapServers }, { logger: silentLogger() });
  await client
    .admin()
    .createTopics([{ topic: TOPIC, partitionCount: 1, replicationFactor: -1, config: new Map() }]);
});

afterEach(async () => {
  for (const process of running.splice(0)) {
    process.signal('SIGKILL');
    await process.ended();
  }
  await client.close(10_000);
  await broker.close();
  rmSync(root, { recursive: true, force: true });
});

function start(): CountingProcess {
  const { bootstrapServers } = broker;
  const stateDir = join(root, 'state');
  const process = new CountingProcess([
    bootstrapServers,
    stateDir,
    APPLICATION_ID,
    TOPIC,
    'exactly_once_v2',
  ]);
  running.push(process);
  return process;
}

async function writeRound(): Promise<void> {
  const text = serdes.string();
  const timestamp = Date.now();
  const writer = await TopicWriter.open(client, { topic: TOPIC, key: text, value: text });
  for (let i = 0; i < RECORDS; i++) {
    writer.send(`user-${String((i * 7_919) % KEYS)}`, '', { timestamp });
    if (writer.isFull) await writer.drained();
  }
  await writer.close();
}

async function committed(): Promise<number> {
  const group = new GroupProgress(client, APPLICATION_ID);
  try {
    const [input] = (await group.of(TOPIC)) ?? [];
    return Number(input?.committedOffset ?? 0n);
  } finally {
    await group.close();
  }
}

it(
  'counts each record once in everything that is committed, however often it is killed',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const reached: number[] = [];
    const behind: number[] = [];
    for (const delayMs of KILLS_MS) {
      await writeRound();
      const process = start();
      await process.said('running');
      await sleep(delayMs);
      process.signal('SIGKILL');
      await process.ended();
      expect(process.standardError).toBe('');
      reached.push(await committed());
      behind.push(reached.length * RECORDS - (reached.at(-1) ?? 0));
    }
    // Kills came while there was something to do.
    expect(Math.max(...behind)).toBeGreaterThan(0);
    await writeRound();
    const written = (KILLS_MS.length + 1) * RECORDS;
    const startedAt = performance.now();
    const last = start();
    await last.said('running');
    while ((await committed()) === reached.at(-1)) await sleep(50);
    expect(performance.now() - startedAt).toBeLessThan(STARTED_MAX_MS);
    while ((await committed()) < written) await sleep(50);
    last.signal('SIGTERM');
    await last.said('stopped');
    await last.ended();
    expect(last.standardError).toBe('');

    for (const store of ['total', 'daily']) {
      const topic = `${APPLICATION_ID}-${store}-changelog`;
      const counts = new Map<string, number>();
      const broken: string[] = [];
      const records = readTopic(client, { topic, key: serdes.bytes(), value: serdes.long() });
      for await (const some of records) {
        for (const { key, value, offset } of some) {
          const row = Buffer.from(key ?? []).toString('latin1');
          const expected = (counts.get(row) ?? 0) + 1;
          if (value !== expected && broken.length < 5) {
            broken.push(`${topic} at ${String(offset)}: ${String(value)}, not ${String(expected)}`);
          }
          counts.set(row, value ?? 0);
        }
      }
      expect(broken).toEqual([]);
      expect(counts.size).toBe(KEYS);
      expect(new Set(counts.values())).toEqual(new Set([written / KEYS]));
    }
  },
);
