import { readFileSync } from 'node:fs';
import {
  APPLICATION_ID,
  createTopics,
  FLIGHTS_TOPIC,
  flightSerde,
  flightsTopology,
  iataSerde,
  jsonFlights,
  loadAirports,
  loadFlights,
  processFlights,
  readAirports,
  readResults,
  renderReport,
  REPARTITION_TOPIC,
  vegaDataFile,
  type Cluster,
  type Flight,
  type FlightSource,
} from '@millrace/examples';
import { GroupProgress, readTopic } from '@millrace/runtime';
import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { describeOnBothBrokers } from '../support/brokers.ts';
import { clusterAt, logger } from './cluster.ts';
import { allFlights, expectedDelays } from './expected-delays.ts';

const FILE = 'flights-20k.json';
const never = new AbortController().signal;

/** From the file itself, with none of the example's code. */
function departuresOfFile(): { date: number; delay: number; origin: string }[] {
  const rows = JSON.parse(readFileSync(vegaDataFile(FILE), 'utf8')) as Record<string, unknown>[];
  return rows.map(({ date, delay, origin }) => ({
    date: Date.parse(`${String(date).replaceAll('/', '-').replace(' ', 'T')}:00Z`),
    delay: delay as number,
    origin: origin as string,
  }));
}

function load(
  cluster: Cluster,
  source: FlightSource,
): Promise<{ written: number; skipped: number }> {
  return loadFlights(cluster.client, source, never, () => undefined);
}

async function flightsOfTopic(cluster: Cluster): Promise<Flight[]> {
  const flights: Flight[] = [];
  const topic = { topic: FLIGHTS_TOPIC, key: iataSerde, value: flightSerde };
  for await (const records of readTopic(cluster.client, topic)) {
    for (const { key, value, timestamp } of records) {
      expect(key).toBe(value?.origin);
      expect(timestamp).toBe(value?.date);
      flights.push(value as Flight);
    }
  }
  return flights.sort((a, b) => a.row - b.row);
}

function firstRows(source: FlightSource, rowCount: number): FlightSource {
  return {
    rowCount,
    async *chunks() {
      for await (const chunk of source.chunks()) yield chunk.slice(0, rowCount);
    },
  };
}

describeOnBothBrokers('flights', (broker) => {
  it(
    'computes what the file says, from topic to topic, and finds nothing to do again',
    { timeout: 120_000 },
    async () => {
      const cluster = await clusterAt(broker().bootstrapServers);
      const { client } = cluster;
      const stateDir = temporaryDirectory();
      const process = () =>
        processFlights({
          cluster,
          stateDir,
          logger,
          signal: never,
          onProgress: () => undefined,
        });
      await createTopics(client, 4, 4);
      const airports = readAirports();
      const source = jsonFlights(FILE);
      expect(await loadAirports(client, airports)).toEqual({ written: 3_376, skipped: 0 });
      expect(await load(cluster, source)).toEqual({ written: 20_000, skipped: 0 });

      expect(await process()).toEqual({ joined: 20_000, flights: 20_000, counted: 20_000 });
      const results = await readResults(client);
      expect(results).toEqual(expectedDelays(departuresOfFile()));
      expect(renderReport(results)).toMatch(/│ all +│ +90 │ +20,000 │/);

      expect(await loadAirports(client, airports)).toEqual({ written: 0, skipped: 3_376 });
      expect(await load(cluster, source)).toEqual({ written: 0, skipped: 20_000 });
      expect(await process()).toEqual({ joined: 20_000, flights: 20_000, counted: 20_000 });
      expect(await readResults(client)).toEqual(results);

      // Once more, and counts would double: nothing of what was read is read again.
      const group = new GroupProgress(client, APPLICATION_ID);
      const repartition = (await group.of(REPARTITION_TOPIC)) ?? [];
      await group.close();
      expect(repartition.reduce((sum, { endOffset }) => sum + endOffset, 0n)).toBe(20_000n);
    },
  );
});

describeOnBothBrokers('loading flights', (broker) => {
  it('goes on where it stopped, also behind what is no record', { timeout: 60_000 }, async () => {
    const cluster = await clusterAt(broker().bootstrapServers);
    await createTopics(cluster.client, 3, 4);
    const source = jsonFlights(FILE);
    expect(await load(cluster, firstRows(source, 7_000))).toEqual({ written: 7_000, skipped: 0 });
    // Transactions leave markers, and what was aborted, at the end of each log.
    await abortTransaction(broker().bootstrapServers);
    expect(await load(cluster, source)).toEqual({ written: 13_000, skipped: 7_000 });
    expect(await flightsOfTopic(cluster)).toEqual(await allFlights(source));
  });

  it('refuses another number of partitions than the topics have', async () => {
    const cluster = await clusterAt(broker().bootstrapServers);
    await expect(createTopics(cluster.client, 8, 4)).rejects.toThrow(
      '--partitions is 8, but the topic flights exists with 3',
    );
  });
});

async function abortTransaction(bootstrapServers: string): Promise<void> {
  const kafka = new Kafka({ brokers: bootstrapServers.split(','), logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ transactionalId: 'aborts', maxInFlightRequests: 1 });
  await producer.connect();
  try {
    const transaction = await producer.transaction();
    for (const partition of [0, 1, 2]) {
      await transaction.send({ topic: FLIGHTS_TOPIC, messages: [{ partition, value: 'aborted' }] });
    }
    await transaction.abort();
  } finally {
    await producer.disconnect();
  }
}

describe('the topology of flights', () => {
  it('is what its description says', () => {
    expect(APPLICATION_ID).toBe('flight-delays-by-state');
    expect(flightsTopology().describe().toString()).toMatchInlineSnapshot(`
      "Topologies:
         Sub-topology: 0
          Source: KSTREAM-SOURCE-0000000000 (topics: [flights])
            --> KSTREAM-JOIN-0000000003
          Processor: KSTREAM-JOIN-0000000003 (stores: [airports])
            --> KSTREAM-KEY-SELECT-0000000004
            <-- KSTREAM-SOURCE-0000000000
          Processor: KSTREAM-KEY-SELECT-0000000004 (stores: [])
            --> KSTREAM-MAPVALUES-0000000005
            <-- KSTREAM-JOIN-0000000003
          Processor: KSTREAM-MAPVALUES-0000000005 (stores: [])
            --> by-state-repartition-filter
            <-- KSTREAM-KEY-SELECT-0000000004
          Source: KSTREAM-SOURCE-0000000001 (topics: [airports])
            --> KTABLE-SOURCE-0000000002
          Processor: by-state-repartition-filter (stores: [])
            --> by-state-repartition-sink
            <-- KSTREAM-MAPVALUES-0000000005
          Processor: KTABLE-SOURCE-0000000002 (stores: [airports])
            --> none
            <-- KSTREAM-SOURCE-0000000001
          Sink: by-state-repartition-sink (topic: by-state-repartition)
            <-- by-state-repartition-filter

        Sub-topology: 1
          Source: by-state-repartition-source (topics: [by-state-repartition])
            --> KSTREAM-AGGREGATE-0000000006
          Processor: KSTREAM-AGGREGATE-0000000006 (stores: [delays-by-state-and-day])
            --> KTABLE-TOSTREAM-0000000010
            <-- by-state-repartition-source
          Processor: KTABLE-TOSTREAM-0000000010 (stores: [])
            --> KSTREAM-MAPVALUES-0000000011
            <-- KSTREAM-AGGREGATE-0000000006
          Processor: KSTREAM-MAPVALUES-0000000011 (stores: [])
            --> KSTREAM-SINK-0000000012
            <-- KTABLE-TOSTREAM-0000000010
          Sink: KSTREAM-SINK-0000000012 (topic: flight-delays)
            <-- KSTREAM-MAPVALUES-0000000011

      "
    `);
  });
});
