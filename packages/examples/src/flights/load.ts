import { setImmediate as nextTurn } from 'node:timers/promises';
import { lastRecords, readTopic, TopicWriter, type StreamsClient } from '@millrace/runtime';
import type { Airport } from './airports.ts';
import type { FlightSource } from './flight.ts';
import { airportSerde, flightSerde, iataSerde } from './serdes.ts';
import { AIRPORTS_TOPIC, FLIGHTS_TOPIC } from './topics.ts';

export interface LoadResult {
  readonly written: number;
  /** In the topic already, from an earlier run. */
  readonly skipped: number;
}

/** Before the first flight, so that the join finds every airport. */
const AIRPORT_TIMESTAMP = Date.UTC(2000, 0, 1);
/** So often does the loader let go, for the sockets to be served. */
const ROWS_PER_TURN = 4_096;

/** Writes the airports that are not in the topic as they are in the file. */
export async function loadAirports(
  client: StreamsClient,
  airports: readonly Airport[],
): Promise<LoadResult> {
  const known = new Map<string, string>();
  const topic = { topic: AIRPORTS_TOPIC, key: iataSerde, value: airportSerde };
  for await (const records of readTopic(client, topic)) {
    for (const { key, value } of records) if (key !== null) known.set(key, JSON.stringify(value));
  }
  const missing = airports.filter((each) => known.get(each.iata) !== JSON.stringify(each));
  const writer = await TopicWriter.open(client, topic);
  try {
    for (const airport of missing) {
      writer.send(airport.iata, airport, { timestamp: AIRPORT_TIMESTAMP });
    }
  } finally {
    await writer.close();
  }
  return { written: missing.length, skipped: airports.length - missing.length };
}

/**
 * Writes flights under their origin, in file order. It takes up where an earlier run ended, however
 * that ended: a partition gets its rows in order, each once (the producer is idempotent), and a flight
 * knows its row, so all rows of a partition up to that of its last record are there already.
 */
export async function loadFlights(
  client: StreamsClient,
  source: FlightSource,
  signal: AbortSignal,
  onProgress: (rows: number) => void,
): Promise<LoadResult> {
  const topic = { topic: FLIGHTS_TOPIC, key: iataSerde, value: flightSerde };
  const lastRows = new Map<number, number>();
  for (const [partition, record] of await lastRecords(client, topic)) {
    if (record.value !== null) lastRows.set(partition, record.value.row);
  }
  const writer = await TopicWriter.open(client, topic);
  const origins = new Map<string, number>();
  /** The last row that is there of the partition that this origin's flights are in. */
  const lastRowOf = (origin: string): number => {
    let row = origins.get(origin);
    if (row === undefined) {
      row = lastRows.get(writer.partitionOf(origin)) ?? -1;
      origins.set(origin, row);
    }
    return row;
  };

  let rows = 0;
  let written = 0;
  try {
    for await (const chunk of source.chunks()) {
      for (const flight of chunk) {
        if (flight.row > lastRowOf(flight.origin)) {
          writer.send(flight.origin, flight, { timestamp: flight.date });
          written++;
        }
        if (++rows % ROWS_PER_TURN === 0) {
          signal.throwIfAborted();
          await (writer.isFull ? writer.drained() : nextTurn());
          onProgress(rows);
        }
      }
    }
  } finally {
    await writer.close();
  }
  return { written, skipped: rows - written };
}
