import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import {
  APPLICATION_ID,
  createTopics,
  FLIGHTS_TOPIC,
  loadAirports,
  loadFlights,
  parquetFlights,
  readAirports,
  REPARTITION_TOPIC,
  type StateDay,
} from '@millrace/examples';
import {
  connect,
  GroupProgress,
  readTopic,
  serdes,
  silentLogger,
  type StreamsClient,
} from '@millrace/runtime';
import { allFlights, expectedDelays } from '../examples/expected-delays.ts';
import { FlightsProcess, type Finished, type FlightsListener } from './flights-process.ts';

const PARTITIONS = 4;
const CHANGELOG_TOPIC = `${APPLICATION_ID}-delays-by-state-and-day-changelog`;
const SETTLE_POLL_MS = 50;
const CLOSE_TIMEOUT_MS = 10_000;
const FAULTS_SHOWN = 5;

export type Guarantee = 'at_least_once' | 'exactly_once_v2';

const ENVIRONMENT = {
  // Its successor takes its partitions up at once, not when its session is over.
  MILLRACE_GROUP_INSTANCE_ID: 'flights',
  // Many commits in a short run.
  MILLRACE_COMMIT_INTERVAL_MS: '400',
};

export interface Progress {
  /**
   * Records that were written so far for what is not committed, so will be written once more: a flight
   * makes one record in the repartition topic, and each of these one in the changelog. It is what the
   * counts will be too high by.
   */
  readonly surplus: number;
  /** What is not processed yet, 0 to 1. */
  readonly left: number;
}

interface Sums {
  readonly flights: number;
  readonly delaySum: number;
}

/**
 * The flights job on a broker that survives it, with state on disk: started as often as need be until
 * all is processed, and then held against what must come out.
 */
export class FlightsRound {
  readonly #root: string;
  readonly #broker: EmbeddedBroker;
  readonly #client: StreamsClient;
  readonly #rows: number;
  readonly #guarantee: Guarantee;

  private constructor(root: string, broker: EmbeddedBroker, rows: number, guarantee: Guarantee) {
    this.#root = root;
    this.#broker = broker;
    this.#rows = rows;
    this.#guarantee = guarantee;
    const logger = silentLogger();
    this.#client = connect({ 'bootstrap.servers': broker.bootstrapServers }, { logger });
  }

  /** A broker with so many flights, and nothing processed yet. */
  static async open(rows: number, guarantee: Guarantee): Promise<FlightsRound> {
    const root = mkdtempSync(join(tmpdir(), 'millrace-crash-'));
    // What was counted twice or not at all shows in the changelog's every record: none may be compacted away.
    const config = { 'log.cleaner.enable': 'false' };
    const broker = await startBroker({ dataDir: join(root, 'data'), config });
    const round = new FlightsRound(root, broker, rows, guarantee);
    try {
      await createTopics(round.#client, null, PARTITIONS);
      await loadAirports(round.#client, readAirports());
      const { signal } = new AbortController();
      await loadFlights(round.#client, await parquetFlights(rows), signal, () => undefined);
    } catch (error) {
      await round.close();
      throw error;
    }
    return round;
  }

  start(listener: FlightsListener): FlightsProcess {
    const args = [
      ['--rows', String(this.#rows)],
      ['--bootstrap-servers', this.#broker.bootstrapServers],
      ['--state-dir', join(this.#root, 'state')],
      ['--log-level', 'debug'],
    ].flat();
    return new FlightsProcess(args, listener, {
      ...ENVIRONMENT,
      MILLRACE_PROCESSING_GUARANTEE: this.#guarantee,
    });
  }

  /** How far it is, once nothing more arrives of what a killed process had sent. */
  async progress(): Promise<Progress> {
    const group = new GroupProgress(this.#client, APPLICATION_ID);
    const total = async (topic: string): Promise<{ committed: number; end: number }> => {
      const partitions = (await group.of(topic)) ?? [];
      return {
        committed: partitions.reduce((sum, each) => sum + Number(each.committedOffset ?? 0n), 0),
        end: partitions.reduce((sum, each) => sum + Number(each.endOffset), 0),
      };
    };
    try {
      let last = '';
      for (;;) {
        const flights = await total(FLIGHTS_TOPIC);
        const repartition = await total(REPARTITION_TOPIC);
        const changelog = await total(CHANGELOG_TOPIC);
        const found = JSON.stringify([flights, repartition, changelog]);
        if (found === last) {
          return {
            // Exactly once nothing counts that is not committed; ends count aborted records and markers.
            surplus:
              this.#guarantee === 'exactly_once_v2'
                ? 0
                : repartition.end - flights.committed + changelog.end - repartition.committed,
            left: 1 - flights.committed / this.#rows,
          };
        }
        last = found;
        await sleep(SETTLE_POLL_MS);
      }
    } finally {
      await group.close();
    }
  }

  /** What is wrong with the result when so many records were processed twice. */
  async faults({ results }: Finished, surplus: number): Promise<string[]> {
    const faults: string[] = [];
    const counted = results.reduce((sum, { flights }) => sum + flights, 0);
    if (counted !== this.#rows + surplus) {
      faults.push(`${counted} flights are counted; ${this.#rows} are there, ${surplus} came twice`);
    }
    const found = new Map(results.map((result) => [nameOf(result), result]));
    const expected = expectedDelays(await allFlights(await parquetFlights(this.#rows)));
    for (const truth of expected) {
      const result = found.get(nameOf(truth));
      const isEnough =
        result !== undefined &&
        result.flights >= truth.flights &&
        result.lateFlights >= truth.lateFlights &&
        (result.flights > truth.flights || result.delaySum === truth.delaySum);
      if (!isEnough) {
        faults.push(`${JSON.stringify(result)} where it should be ${JSON.stringify(truth)}`);
      }
      found.delete(nameOf(truth));
    }
    for (const result of found.values()) faults.push(`unexpected: ${JSON.stringify(result)}`);
    faults.push(...(await this.#brokenCounts(results.length)));
    return faults.slice(0, FAULTS_SHOWN);
  }

  async close(): Promise<void> {
    await this.#client.close(CLOSE_TIMEOUT_MS);
    await this.#broker.close();
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** Each change of a row must go on from the one before: the state was never behind, and never ahead. */
  async #brokenCounts(rowCount: number): Promise<string[]> {
    const counts = new Map<string, number>();
    const faults: string[] = [];
    const options = { topic: CHANGELOG_TOPIC, key: serdes.bytes(), value: serdes.json<Sums>() };
    for await (const records of readTopic(this.#client, options)) {
      for (const { key, value, partition, offset } of records) {
        const row = Buffer.from(key ?? []).toString('latin1');
        const expected = (counts.get(row) ?? 0) + 1;
        if (value?.flights !== expected) {
          const where = `${CHANGELOG_TOPIC}-${String(partition)} at ${offset.toString()}`;
          faults.push(
            `${where}: ${JSON.stringify(value)} where flight ${expected} was to be counted`,
          );
        }
        counts.set(row, value?.flights ?? 0);
      }
    }
    if (counts.size !== rowCount) {
      faults.push(`${counts.size} rows in the changelog, ${rowCount} in the result`);
    }
    return faults;
  }
}

function nameOf({ state, day }: StateDay): string {
  return `${state} ${day}`;
}
