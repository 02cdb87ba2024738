/**
 * An embedded broker in a process of its own: `broker-app.js OPTIONS`, options of `startBroker` as JSON. Its
 * log goes to standard error. `look` on standard input is answered with what it takes; `stop` ends it.
 */
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { startBroker, type StartBrokerOptions } from '@millrace/broker';
import { pino } from 'pino';

export interface BrokerAppOptions extends Pick<StartBrokerOptions, 'dataDir' | 'port' | 'config'> {
  /** Costs a little processor time itself. */
  readonly watchesTurns?: boolean;
}

export interface Look {
  /** V8's heap and what hangs on it, after a full collection, bytes. */
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly openFiles: number;
  /** The most processor time that the process took between two turns of its timers, if that is watched, ms. */
  readonly longestTurnMs: number;
  /** Processor time since the start, microseconds. */
  readonly cpuMicros: number;
}

export type BrokerAppEvent =
  { readonly event: 'ready'; readonly port: number } | ({ readonly event: 'look' } & Look);

const TURN_WATCH_MS = 10;

const { watchesTurns = false, ...options } = JSON.parse(
  process.argv[2] ?? '{}',
) as BrokerAppOptions;
const logger = pino({ level: 'info' }, pino.destination({ dest: 2, sync: true }));
const broker = await startBroker({ ...options, inProcess: true, logger });

let longestTurnMs = 0;
let last = cpuMicros();
if (watchesTurns) {
  setInterval(() => {
    const now = cpuMicros();
    longestTurnMs = Math.max(longestTurnMs, (now - last) / 1_000);
    last = now;
  }, TURN_WATCH_MS).unref();
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function say(event: BrokerAppEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

function look(): Look {
  // What follows is no turn of the broker's.
  // Buffers of sockets that were closed are let go by the second one.
  gc?.();
  gc?.();
  last = cpuMicros();
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    heapBytes: heapUsed + external,
    rssBytes: rss,
    openFiles: readdirSync('/proc/self/fd').length,
    longestTurnMs,
    cpuMicros: cpuMicros(),
  };
}

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'look') setImmediate(() => say({ event: 'look', ...look() }));
  if (line === 'stop') void broker.close().then(() => process.exit(0));
});
say({ event: 'ready', port: broker.port });
