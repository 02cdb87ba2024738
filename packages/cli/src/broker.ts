import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import type { Command } from 'commander';
import { pino } from 'pino';
import { collectConfig, parsePort } from './config-option.ts';
import { ExitCode } from './exit-codes.ts';
import { STOP_DEADLINE_MS } from './limits.ts';
import { listenForSignals } from './signals.ts';
import type { Terminal } from './terminal.ts';

interface BrokerOptions {
  readonly port: number;
  readonly host: string;
  readonly dataDir?: string;
  readonly config?: Record<string, string>;
  readonly logLevel: string;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const STDERR = 2;

/** `millrace broker`: runs a broker until it is told to stop. */
export function addBrokerCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('broker')
    .description('run a broker on loopback until SIGTERM, SIGINT or `millrace stop`')
    .option('-p, --port <number>', 'port to listen on; 0 takes a free one', parsePort, 9092)
    .option('--host <address>', 'loopback address to listen on', '127.0.0.1')
    .option('-d, --data-dir <path>', 'directory of the logs; kept. Default: a temporary one')
    .option(
      '-c, --config <key=value>',
      "broker configuration under Kafka's names; may be repeated",
      collectConfig,
    )
    .addOption(
      program
        .createOption('--log-level <level>', 'log lines on stderr from this level on')
        .choices(LOG_LEVELS)
        .default('info'),
    );
  command.action(async (options: BrokerOptions) => {
    await runBroker(options, terminal);
  });
}

async function runBroker(options: BrokerOptions, terminal: Terminal): Promise<void> {
  const { port, host, dataDir, config = {}, logLevel } = options;
  const signals = listenForSignals();
  const broker = await startBroker({
    port,
    host,
    config,
    inProcess: true,
    logger: pino({ level: logLevel }, pino.destination({ fd: STDERR, sync: true })),
    ...(dataDir === undefined ? {} : { dataDir }),
  });
  terminal.out(`millrace broker listening on ${broker.bootstrapServers}`);
  try {
    await Promise.race([signals.received, broker.closed]);
    await stop(broker, terminal);
  } finally {
    signals.end();
  }
}

/** A stop that takes too long ends the process: the next start recovers the logs. */
async function stop(broker: EmbeddedBroker, terminal: Terminal): Promise<void> {
  const deadline = setTimeout(() => {
    terminal.err(
      `The broker did not stop within ${STOP_DEADLINE_MS / 1000} s and is ended; the next start recovers its logs.`,
    );
    process.exit(ExitCode.failure);
  }, STOP_DEADLINE_MS);
  try {
    await broker.close();
  } finally {
    clearTimeout(deadline);
  }
}
