import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import {
  connect,
  GroupProgress,
  KafkaStreams,
  readTopic,
  serdes,
  silentLogger,
  StreamsBuilder,
  TopicWriter,
  type StreamsClient,
} from '@millrace/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CountingProcess } from './counting-process.ts';

const APPLICATION_ID = 'counting';
const TOPIC = 'clicks';
const CHANGELOGS = ['total', 'daily'].map((store) => `${APPLICATION_ID}-${store}-changelog`);
const NOTHING = { total: 0, daily: 0 };
/** So many rows with keys so long are more than what is gathered before it is written to disk. */
const KEYS = 90_000;
const KEY_LENGTH = 100;
const RECORDS = 270_000;
const TEST_TIMEOUT_MS = 240_000;

let root: string;
let stateDir: string;
let broker: EmbeddedBroker;
let client: StreamsClient;
const running: CountingProcess[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'millrace-crash-'));
  stateDir = join(root, 'state');
  broker = await startBroker({ dataDir: join(root, 'data') });
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
  const args = [broker.bootstrapServers, stateDir, APPLICATION_ID, TOPIC];
  const process = new CountingProcess(args);
  running.push(process);
  return process;
}

const START = Date.now();

/** Every key once in a while, in an order that is not that of the keys. */
async function write(from: number, to: number): Promise<void> {
  const text = serdes.string();
  const writer = await TopicWriter.open(client, { topic: TOPIC, key: text, value: text });
  for (let i = from; i < to; i++) {
    const key = `user-${String((i * 7_919) % KEYS)}`.padEnd(KEY_LENGTH, '.');
    writer.send(key, '', { timestamp: START });
    if (writer.isFull) await writer.drained();
  }
  await writer.close();
}

interface Offsets {
  readonly committed: number;
  readonly ends: readonly number[];
}

/** Once nothing more arrives of what a killed process had sent. */
async function offsets(): Promise<Offsets> {
  const group = new GroupProgress(client, APPLICATION_ID);
  try {
    let last = '';
    for (;;) {
      const [input] = (await group.of(TOPIC)) ?? [];
      const ends: number[] = [];
      for (const topic of CHANGELOGS) {
        const [partition] = (await group.of(topic)) ?? [];
        ends.push(Number(partition?.endOffset ?? 0n));
      }
      const found = { committed: Number(input?.committedOffset ?? 0n), ends };
      const text = JSON.stringify(found);
      if (text === last) return found;
      last = text;
      await sleep(50);
    }
  } finally {
    await group.close();
  }
}

/** What was processed more than once so far, by either store. */
function surplus({ committed, ends }: Offsets): number[] {
  return ends.map((end) => end - committed);
}

/** Each change of a key must go on from the one before: the state was never behind, and never ahead. */
async function expectUnbrokenCounts(topic: string): Promise<void> {
  const counts = new Map<string, number>();
  const broken: string[] = [];
  const key = serdes.bytes();
  for await (const records of readTopic(client, { topic, key, value: serdes.long() })) {
    for (const { key: bytes, value, offset } of records) {
      const row = Buffer.from(bytes ?? []).toString('latin1');
      const expected = (counts.get(row) ?? 0) + 1;
      if (value !== expected && broken.length < 5) {
        broken.push(`${topic} at ${offset.toString()}: ${String(value)}, not ${String(expected)}`);
      }
      counts.set(row, value ?? 0);
    }
  }
  expect(broken).toEqual([]);
  expect(counts.size).toBe(KEYS);
}

function spillTime(): number {
  return (
    statSync(join(stateDir, APPLICATION_ID, '0_0', 'data.mdb'), { throwIfNoEntry: false })
      ?.mtimeMs ?? 0
  );
}

/** It is killed so long after the first rows of a spill have reached the file, ms: between two slices of them. */
const SPILL_KILLS_MS = [5, 25] as const;
const SPILL_DEADLINE_MS = 30_000;

async function killInSpill(process: CountingProcess, delayMs: number): Promise<void> {
  await process.said('running');
  const before = spillTime();
  const deadline = performance.now() + SPILL_DEADLINE_MS;
  while (spillTime() === before) {
    if (performance.now() > deadline) throw new Error('nothing was written to disk');
    await sleep(1);
  }
  await sleep(delayMs);
  process.signal('SIGKILL');
  await process.ended();
  expect(process.standardError).toBe('');
}

async function cleanStop(process: CountingProcess): Promise<void> {
  process.signal('SIGTERM');
  await process.said('stopped');
  await process.ended();
  expect(process.standardError).toBe('');
}

async function processed(count: number): Promise<void> {
  const group = new GroupProgress(client, APPLICATION_ID);
  try {
    for (;;) {
      const [input] = (await group.of(TOPIC)) ?? [];
      if (input?.committedOffset === BigInt(count)) return;
      await sleep(50);
    }
  } finally {
    await group.close();
  }
}

// The flights job, which is killed at all other moments, has too few rows for this.
it(
  'keeps its state when it is killed while it writes many rows to disk',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    await write(0, RECORDS);
    let before = surplus(await offsets());
    const kills: string[] = [];
    for (const delayMs of SPILL_KILLS_MS) {
      await killInSpill(start(), delayMs);
      const now = await offsets();
      kills.push(`after ${String(delayMs)} ms: ${JSON.stringify(now)}`);
      // Whatever was processed after the last commit is in the changelogs, and comes once more.
      for (const [store, count] of surplus(now).entries()) {
        expect(count, kills.join('\n')).toBeGreaterThanOrEqual(before[store] ?? 0);
      }
      before = surplus(now);
    }

    // A clean stop half-way adds nothing, and nothing is left to be restored after it.
    const stopped = start();
    await stopped.said('running');
    await cleanStop(stopped);
    expect(surplus(await offsets()), kills.join('\n')).toEqual(before);
    const last = start();
    expect(await last.said('running')).toMatchObject({ restored: NOTHING });
    await processed(RECORDS);
    await cleanStop(last);
    const done = await offsets();
    expect(done.committed).toBe(RECORDS);
    expect(surplus(done), kills.join('\n')).toEqual(before);

    // What is on disk of each key goes on with the next record of that key.
    await write(RECORDS, RECORDS + KEYS);
    const more = start();
    expect(await more.said('running')).toMatchObject({ restored: NOTHING });
    await processed(RECORDS + KEYS);
    await cleanStop(more);
    for (const topic of CHANGELOGS) await expectUnbrokenCounts(topic);
  },
);

it('tells another process who has the state directory', { timeout: TEST_TIMEOUT_MS }, async () => {
  await write(0, 10);
  const first = start();
  await first.said('running');
  const text = serdes.string();
  const builder = new StreamsBuilder();
  builder.stream(TOPIC, { key: text, value: text }).groupByKey().count({ store: 'total' });
  const second = new KafkaStreams(
    builder.build(),
    {
      'application.id': APPLICATION_ID,
      'bootstrap.servers': broker.bootstrapServers,
      'state.dir': stateDir,
    },
    { logger: silentLogger() },
  );
  await expect(second.start()).rejects.toMatchObject({
    code: 'STATE_DIR_LOCKED',
    message: expect.stringContaining(`process ${String(first.pid)}`) as string,
  });
  await processed(10);
  await cleanStop(first);
});
