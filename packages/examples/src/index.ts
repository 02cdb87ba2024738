// The examples' parts, for their tests; the programs are `flights/main.ts`, `stocks/main.ts` and
// `word-count/main.ts`.
export { readAirports, type Airport } from './flights/airports.ts';
export { addFlight, LATE_MINUTES, NO_FLIGHTS, toDelays, type Delays } from './flights/delays.ts';
export type { Flight, FlightSource } from './flights/flight.ts';
export { jsonFlights } from './flights/json-flights.ts';
export { loadAirports, loadFlights } from './flights/load.ts';
export { parquetFlights } from './flights/parquet-flights.ts';
export { renderReport } from './flights/report.ts';
export { readResults, type StateDay } from './flights/results.ts';
export { APPLICATION_ID, processFlights, REPARTITION_TOPIC } from './flights/run.ts';
export { flightSerde, iataSerde } from './flights/serdes.ts';
export { flightsTopology } from './flights/topology.ts';
export { createTopics, FLIGHTS_TOPIC } from './flights/topics.ts';
export { readPrices } from './stocks/prices.ts';
export {
  latestPrices,
  loadPrices,
  STOCKS_APPLICATION_ID,
  STOCKS_TOPIC,
  stocksTopology,
} from './stocks/stocks.ts';
export {
  LINES_TOPIC,
  loadLines,
  readCounts,
  readLines,
  WORD_COUNT_APPLICATION_ID,
  WORD_REPARTITION_TOPIC,
  wordCountTopology,
} from './word-count/word-count.ts';
export { openCluster, type Cluster } from './support/cluster.ts';
export { vegaDataFile } from './support/vega-data.ts';
export { runToEnd } from './support/run-to-end.ts';
