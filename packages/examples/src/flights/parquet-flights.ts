import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { vegaDataFile } from '../support/vega-data.ts';
import type { Flight, FlightSource } from './flight.ts';

/** The 3,000,000 flights of flights-3m.parquet, one row group after the other. */
export async function parquetFlights(limit: number | null): Promise<FlightSource> {
  const file = await asyncBufferFromFile(vegaDataFile('flights-3m.parquet'));
  const metadata = await parquetMetadataAsync(file);
  const total = Number(metadata.num_rows);
  const rowCount = limit === null ? total : Math.min(limit, total);

  return {
    rowCount,
    async *chunks() {
      let rowStart = 0;
      for (const group of metadata.row_groups) {
        if (rowStart >= rowCount) return;
        const rowEnd = Math.min(rowStart + Number(group.num_rows), rowCount);
        const rows = await parquetReadObjects({ file, metadata, compressors, rowStart, rowEnd });
        const first = rowStart;
        yield rows.map((row, index) => toFlight(row, first + index));
        rowStart = rowEnd;
      }
    },
  };
}

/** int64 columns arrive as BigInt; minutes and miles are far below 2^53. */
function toFlight(row: Record<string, unknown>, index: number): Flight {
  const { date, delay, distance, origin, destination } = row;
  if (
    !(date instanceof Date) ||
    typeof delay !== 'bigint' ||
    typeof distance !== 'bigint' ||
    typeof origin !== 'string' ||
    typeof destination !== 'string'
  ) {
    throw new Error(`flights-3m.parquet: row ${index} has an unexpected shape`);
  }
  return {
    row: index,
    date: date.getTime(),
    delay: Number(delay),
    distance: Number(distance),
    origin,
    destination,
  };
}
