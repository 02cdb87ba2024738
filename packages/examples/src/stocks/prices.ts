import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { vegaDataFile } from '../support/vega-data.ts';

/** One line of stocks.csv. */
export interface Price {
  readonly symbol: string;
  /** Epoch ms; the file's dates have no zone and are read as UTC. */
  readonly date: number;
  /** US dollars. */
  readonly price: number;
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** All prices of stocks.csv, in file order: symbol by symbol, month by month. */
export function readPrices(): Price[] {
  const rows = parse<Record<string, string>>(readFileSync(vegaDataFile('stocks.csv')), {
    columns: true,
    skip_empty_lines: true,
  });
  return rows.map(({ symbol, date, price }, index) => {
    const at = parseDate(date ?? '');
    const dollars = Number(price);
    if (symbol === undefined || at === null || !(dollars > 0)) {
      throw new Error(`stocks.csv: line ${index + 2} is no price`);
    }
    return { symbol, date: at, price: dollars };
  });
}

/** `Jan 1 2000` as UTC; Date.parse would take the machine's zone. */
function parseDate(text: string): number | null {
  const [, month = '', day, year] = /^([A-Z][a-z]{2}) (\d{1,2}) (\d{4})$/.exec(text) ?? [];
  const monthIndex = MONTHS.indexOf(month);
  return monthIndex < 0 ? null : Date.UTC(Number(year), monthIndex, Number(day));
}
