#!/usr/bin/env node
import { createLogger, GroupProgress, StreamsError, type StreamsClient } from '@millrace/runtime';
import { CommanderError } from 'commander';
import { pino } from 'pino';
import { openCluster, stateDirectory } from '../support/cluster.ts';
import { InterruptedError, UsageError } from '../support/errors.ts';
import { listenForInterruption } from '../support/interruption.ts';
import { topicProgress } from '../support/topic-progress.ts';
import { readAirports } from './airports.ts';
import { loadAirports, loadFlights } from './load.ts';
import { DEFAULT_PARTITIONS, parseOptions, type FlightsOptions } from './options.ts';
import { JsonOutput, TextOutput, type Output } from './output.ts';
import { parquetFlights } from './parquet-flights.ts';
import { readResults } from './results.ts';
import { APPLICATION_ID, processFlights, REPARTITION_TOPIC } from './run.ts';
import { createTopics, FLIGHTS_TOPIC } from './topics.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** As a shell counts a program that a signal ended. */
const EXIT_SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;
const STDERR = 2;

async function run(options: FlightsOptions, output: Output, signal: AbortSignal): Promise<void> {
  const source = await parquetFlights(options.rows);
  if (options.rows !== null && source.rowCount < options.rows) {
    throw new UsageError(
      `--rows is ${options.rows}, but there are only ${source.rowCount} flights.`,
    );
  }
  const logger = createLogger(
    { level: options.logLevel },
    pino.destination({ dest: STDERR, sync: true }),
  );
  const cluster = await openCluster({ ...options, logger });
  const stateDir = await stateDirectory(options.stateDir);
  try {
    const { client, bootstrapServers, isEmbedded } = cluster;
    output.started(bootstrapServers, isEmbedded);
    await createTopics(client, options.partitions, DEFAULT_PARTITIONS);

    const loadingSince = performance.now();
    await loadAirports(client, readAirports());
    const loaded = await loadFlights(client, source, signal, (rows) =>
      output.loading(rows, source.rowCount),
    );
    output.loaded(loaded, secondsSince(loadingSince));
    signal.throwIfAborted();

    const before = await committed(client);
    const processingSince = performance.now();
    const after = await processFlights({
      cluster,
      stateDir: stateDir.path,
      logger,
      signal,
      onProgress: (progress) => output.processing(progress),
    });
    const seconds = secondsSince(processingSince);
    const joined = after.joined - before.joined;
    const records = joined + after.counted - before.counted;
    const results = await readResults(client);
    output.finished({ results, flights: after.flights, joined, records, seconds });
  } finally {
    await cluster.close();
    await stateDir.remove();
  }
}

async function committed(client: StreamsClient): Promise<{ joined: number; counted: number }> {
  const group = new GroupProgress(client, APPLICATION_ID);
  try {
    const flights = await topicProgress(group, FLIGHTS_TOPIC);
    const repartition = await topicProgress(group, REPARTITION_TOPIC);
    return { joined: flights.committed, counted: repartition.committed };
  } finally {
    await group.close();
  }
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1_000;
}

async function main(argv: readonly string[]): Promise<number> {
  let options: FlightsOptions;
  try {
    options = parseOptions(argv);
  } catch (error) {
    // Commander has printed what there is to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    throw error;
  }
  const output = options.json ? new JsonOutput(process.stdout) : new TextOutput(process.stdout);
  const interruption = listenForInterruption();
  try {
    await run(options, output, interruption.signal);
    return 0;
  } catch (error) {
    if (error instanceof InterruptedError) {
      output.stopped(error.signal);
      return EXIT_SIGNALS[error.signal];
    }
    if (error instanceof UsageError) {
      console.error(`error: ${error.message}`);
      return EXIT_USAGE;
    }
    // These say what to do; where they come from helps nobody who runs an example.
    if (error instanceof StreamsError) console.error(`error: ${error.message}`);
    else console.error(error);
    return EXIT_FAILED;
  } finally {
    interruption.stop();
  }
}

process.exitCode = await main(process.argv.slice(2));
