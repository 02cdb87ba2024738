import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker } from '@millrace/broker';
import {
  APPLICATION_ID,
  FLIGHTS_TOPIC,
  parquetFlights,
  REPARTITION_TOPIC,
  type StateDay,
} from '@millrace/examples';
import { connect, GroupProgress, serdes, silentLogger, TopicWriter } from '@millrace/runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { allFlights, expectedDelays } from '../examples/expected-delays.ts';
import { finishedOf, runFlights } from './flights-process.ts';
import { inspectCopy } from './inspect.ts';

/** So many take several commit intervals, on a fast machine, too: a stop must come half-way. */
const STOPPED_ROWS = 500_000;
/** So many take longer than a commit interval. */
const ROWS = 250_000;
const LOADED_ROWS = 60_000;
const TEST_TIMEOUT_MS = 240_000;
const CHANGELOG_TOPIC = `${APPLICATION_ID}-delays-by-state-and-day-changelog`;

let root: string;
let dataDir: string;
let stateDir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-crash-'));
  dataDir = join(root, 'data');
  stateDir = join(root, 'state');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function args(rows: number): string[] {
  return ['--rows', String(rows), '--data-dir', dataDir, '--state-dir', stateDir];
}

async function truth(rows: number): Promise<StateDay[]> {
  return expectedDelays(await allFlights(await parquetFlights(rows)));
}

function sum(results: readonly StateDay[]): number {
  return results.reduce((total, { flights }) => total + flights, 0);
}

/**
 * Lets a broker run on the directory until a retention pass has taken all records of 2001 from a topic
 * with the usual retention.
 */
async function passRetention(): Promise<void> {
  const broker = await startBroker({
    dataDir,
    config: { 'log.retention.check.interval.ms': 100, 'log.initial.task.delay.ms': 0 },
  });
  const logger = silentLogger();
  const client = connect({ 'bootstrap.servers': broker.bootstrapServers }, { logger });
  const progress = new GroupProgress(client, 'nobody');
  try {
    await client
      .admin()
      .createTopics([
        { topic: 'of-2001', partitionCount: 1, replicationFactor: -1, config: new Map() },
      ]);
    const topic = { topic: 'of-2001', key: serdes.string(), value: serdes.string() };
    const writer = await TopicWriter.open(client, topic);
    writer.send('key', 'value', { timestamp: Date.UTC(2001, 0, 1) });
    await writer.close();
    for (;;) {
      const [partition] = (await progress.of('of-2001')) ?? [];
      if (partition !== undefined && partition.beginOffset === partition.endOffset) break;
      await sleep(50);
    }
  } finally {
    await progress.close();
    await client.close(10_000);
    await broker.close();
  }
}

it(
  'has the exact table after a clean stop half-way, a retention pass, and the loss of its state',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const stopped = await runFlights(args(STOPPED_ROWS), (event) =>
      event.event === 'processing' && event.counted > 0 ? 'SIGTERM' : null,
    );
    expect(stopped.standardError).toBe('');
    expect(stopped.events.at(-1)).toEqual({ event: 'stopped', signal: 'SIGTERM' });
    expect(stopped.exitCode).toBe(143);

    await passRetention();
    rmSync(stateDir, { recursive: true, force: true });

    const finished = finishedOf(await runFlights(args(STOPPED_ROWS)));
    expect(finished.records).toBeGreaterThan(0);
    expect(finished.records).toBeLessThan(2 * STOPPED_ROWS);
    expect(finished.results).toEqual(await truth(STOPPED_ROWS));

    // Everything is there now: nothing is loaded, nothing processed, the table is the same.
    await passRetention();
    const again = await runFlights(args(STOPPED_ROWS));
    expect(again.events).toContainEqual(
      expect.objectContaining({ event: 'loaded', written: 0, skipped: STOPPED_ROWS }),
    );
    expect(finishedOf(again)).toMatchObject({ joined: 0, records: 0, results: finished.results });
  },
);

it(
  'loads every flight once when it is killed while loading, more than once',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    for (const killAt of [10_000, 35_000]) {
      const killed = await runFlights(args(LOADED_ROWS), (event) =>
        event.event === 'loading' && event.rows >= killAt ? 'SIGKILL' : null,
      );
      expect(killed.signal).toBe('SIGKILL');
      expect(killed.events.at(-1)?.event).toBe('loading');
    }
    const rest = await inspectCopy(dataDir, APPLICATION_ID, ({ rows }) => rows());
    expect(rest.length).toBeLessThan(LOADED_ROWS);

    const finished = finishedOf(await runFlights(args(LOADED_ROWS)), { afterKill: true });
    expect(finished.results).toEqual(await truth(LOADED_ROWS));
    const rows = await inspectCopy(dataDir, APPLICATION_ID, (inspection) => inspection.rows());
    expect(rows).toEqual(Array.from({ length: LOADED_ROWS }, (_, row) => row));
  },
);

it(
  'misses no flight when it is killed together with its broker, and counts twice only what it replays',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    // Once before the first commit, once after one.
    let replayed = 0;
    for (const isTime of [
      (_joined: number, eventIndex: number) => eventIndex >= 2,
      (joined: number) => joined > 0,
    ]) {
      let eventIndex = 0;
      const killed = await runFlights(args(ROWS), (event) =>
        event.event === 'processing' && isTime(event.joined, eventIndex++) ? 'SIGKILL' : null,
      );
      expect(killed.signal).toBe('SIGKILL');
      // A flight makes one record in the repartition topic, and each of these one in the changelog. What
      // was written there for more than what is committed is written once more in the next run.
      replayed = await inspectCopy(dataDir, APPLICATION_ID, async ({ offsets }) => {
        const flights = await offsets(FLIGHTS_TOPIC);
        const repartition = await offsets(REPARTITION_TOPIC);
        const changelog = await offsets(CHANGELOG_TOPIC);
        expect(flights.end).toBe(ROWS);
        return repartition.end - flights.committed + changelog.end - repartition.committed;
      });
    }

    const { results } = finishedOf(await runFlights(args(ROWS)), { afterKill: true });
    expect(sum(results)).toBe(ROWS + replayed);
    const expected = await truth(ROWS);
    expect(results.map(({ state, day }) => `${state} ${day}`)).toEqual(
      expected.map(({ state, day }) => `${state} ${day}`),
    );
    for (const [index, { flights }] of expected.entries()) {
      expect(results[index]?.flights).toBeGreaterThanOrEqual(flights);
    }
    if (replayed === 0) expect(results).toEqual(expected);
  },
);

it('says what is wrong with its options', async () => {
  const wrong = await runFlights(['--rows', 'many']);
  expect(wrong.exitCode).toBe(2);
  expect(wrong.standardError).toContain('It must be a whole number, 1 or more.');
  const both = await runFlights(['--data-dir', dataDir, '--bootstrap-servers', '127.0.0.1:9092']);
  expect(both.exitCode).toBe(2);
  expect(both.standardError).toContain('cannot be used with option');
  const tooMany = await runFlights(['--rows', '3000001']);
  expect(tooMany.exitCode).toBe(2);
  expect(tooMany.standardError).toContain('there are only 3000000 flights');
});
