import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { vegaDataFile } from '../support/vega-data.ts';

export interface Airport {
  readonly iata: string;
  readonly name: string;
  readonly city: string;
  /** As the file has it: `NA` is a state of its own. */
  readonly state: string;
}

/** All airports of airports.csv, in file order. */
export function readAirports(): Airport[] {
  const rows = parse<Record<string, string>>(readFileSync(vegaDataFile('airports.csv')), {
    columns: true,
    skip_empty_lines: true,
  });
  return rows.map((row) => ({
    iata: field(row, 'iata'),
    name: field(row, 'name'),
    city: field(row, 'city'),
    state: field(row, 'state'),
  }));
}

function field(row: Record<string, string>, name: string): string {
  const value = row[name];
  if (value === undefined) throw new Error(`airports.csv: no column ${name}`);
  return value;
}
