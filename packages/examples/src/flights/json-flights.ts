import { readFileSync } from 'node:fs';
import { vegaDataFile } from '../support/vega-data.ts';
import type { Flight, FlightSource } from './flight.ts';

interface Row {
  readonly date: string;
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}

/** The flights of flights-20k.json and its like: small enough to be read at once. */
export function jsonFlights(file: string): FlightSource {
  const rows = JSON.parse(readFileSync(vegaDataFile(file), 'utf8')) as Row[];
  const flights: Flight[] = rows.map((row, index) => ({
    row: index,
    date: parseDate(row.date),
    delay: row.delay,
    distance: row.distance,
    origin: row.origin,
    destination: row.destination,
  }));
  return {
    rowCount: flights.length,
    async *chunks() {
      await Promise.resolve();
      yield flights;
    },
  };
}

/** `2001/01/01 00:47` as UTC; Date.parse would take the machine's zone. */
function parseDate(text: string): number {
  const match = /^(\d{4})\/(\d{2})\/(\d{2}) (\d{2}):(\d{2})$/.exec(text);
  if (match === null) throw new Error(`not a date: ${text}`);
  const [year, month, day, hour, minute] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ];
  return Date.UTC(year, month - 1, day, hour, minute);
}
