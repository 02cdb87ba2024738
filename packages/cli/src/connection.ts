import {
  ConnectionError,
  connect,
  createLogger,
  TimeoutError,
  type ClusterAdmin,
  type KafkaClient,
} from '@millrace/runtime/cluster';
import { Option, type Command } from 'commander';
import { collectConfig } from './config-option.ts';
import { CommandError, messageOf } from './errors.ts';
import { CLOSE_TIMEOUT_MS, TIMEOUT_DEFAULT_MS } from './limits.ts';
import type { Terminal } from './terminal.ts';
import { parseTimeout } from './times.ts';

export interface ConnectionOptions {
  readonly bootstrapServers?: string;
  readonly dataDir?: string;
  readonly clientConfig?: Readonly<Record<string, string>>;
  readonly timeout: number;
  readonly json?: boolean;
}

/** A cluster that a command has reached. */
export interface Session {
  readonly client: KafkaClient;
  readonly cluster: ClusterAdmin;
  readonly timeoutMs: number;
}

/** Where `millrace broker` listens when it is told nothing else. */
const DEFAULT_SERVERS = '127.0.0.1:9092';
/** A request that takes longer is sent to another broker, if there is time. */
const REQUEST_TIMEOUT_MS = 30_000;

/** The options that every command over a connection has; to be added after its own. */
export function addConnectionOptions(command: Command, jsonText = 'as JSON'): Command {
  const add = (option: Option): Command => command.addOption(option.helpGroup('Connection:'));
  command.option('--json', jsonText);
  add(
    new Option(
      '-b, --bootstrap-servers <host:port,...>',
      'brokers to begin with; else $MILLRACE_BOOTSTRAP_SERVERS',
    ),
  );
  add(
    new Option(
      '-d, --data-dir <path>',
      'instead, the data directory of a running embedded broker; else $MILLRACE_DATA_DIR, ' +
        `else brokers at ${DEFAULT_SERVERS}`,
    ),
  );
  add(
    new Option(
      '--client-config <key=value>',
      'how brokers are reached, such as security.protocol=SASL_SSL; may be repeated',
    ).argParser(collectConfig),
  );
  return add(
    new Option('--timeout <duration>', 'longest wait for the brokers')
      .argParser(parseTimeout)
      .default(TIMEOUT_DEFAULT_MS, '30s'),
  );
}

/** Reaches the cluster, does `work` there, and ends the connections whatever came of it. */
export async function withCluster<T>(
  options: ConnectionOptions,
  terminal: Terminal,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const target = await findServers(options);
  const timeoutMs = options.timeout;
  const client = connect(
    {
      'bootstrap.servers': target.servers,
      'request.timeout.ms': Math.min(REQUEST_TIMEOUT_MS, timeoutMs),
      ...options.clientConfig,
    },
    { logger: loggerOf(terminal) },
  );
  try {
    const cluster = client.cluster(timeoutMs);
    await reach(cluster, target);
    return await work({ client, cluster, timeoutMs });
  } finally {
    await client.close(CLOSE_TIMEOUT_MS);
  }
}

interface Target {
  readonly servers: string;
  /** Why there, for whoever finds nobody. */
  readonly because: string;
}

async function findServers({ bootstrapServers, dataDir }: ConnectionOptions): Promise<Target> {
  const { MILLRACE_BOOTSTRAP_SERVERS, MILLRACE_DATA_DIR } = process.env;
  if (bootstrapServers !== undefined && dataDir !== undefined) {
    throw new CommandError(
      'COMMAND_INVALID',
      '--bootstrap-servers and --data-dir both say where the broker is: leave one of them out.',
    );
  }
  if (bootstrapServers !== undefined) {
    return { servers: bootstrapServers, because: 'as --bootstrap-servers says' };
  }
  if (dataDir !== undefined) return ofDataDir(dataDir, '--data-dir');
  if (MILLRACE_BOOTSTRAP_SERVERS) {
    return {
      servers: MILLRACE_BOOTSTRAP_SERVERS,
      because: 'as MILLRACE_BOOTSTRAP_SERVERS in the environment says',
    };
  }
  if (MILLRACE_DATA_DIR) return ofDataDir(MILLRACE_DATA_DIR, 'MILLRACE_DATA_DIR');
  return {
    servers: DEFAULT_SERVERS,
    because: 'where `millrace broker` listens when it is told nothing else',
  };
}

/** The broker on the data directory says itself where it listens. */
async function ofDataDir(dataDir: string, source: string): Promise<Target> {
  // Loaded when it is needed: a broker takes longer to load than a command to run.
  const { adminRequest, AdminRequestError } = await import('@millrace/broker');
  try {
    const status = (await adminRequest(dataDir, 'status')) as { bootstrapServers: string };
    return { servers: status.bootstrapServers, because: `as the broker on ${dataDir} says` };
  } catch (error) {
    if (!(error instanceof AdminRequestError) || error.code !== 'ADMIN_NOT_RUNNING') throw error;
    throw new CommandError(
      'BROKER_UNREACHABLE',
      `${error.message} Start it with \`millrace broker --data-dir ${dataDir}\`, or correct ${source}; ` +
        'a broker elsewhere is named by --bootstrap-servers.',
      { cause: error },
    );
  }
}

async function reach(cluster: ClusterAdmin, { servers, because }: Target): Promise<void> {
  try {
    await cluster.reach(servers.split(',').length);
  } catch (error) {
    if (!(error instanceof ConnectionError || error instanceof TimeoutError)) throw error;
    throw new CommandError(
      'BROKER_UNREACHABLE',
      `No broker answers at ${servers}, ${because}.\n` +
        `  ${error.message}\n` +
        'Start one with `millrace broker`, or say where yours is: --bootstrap-servers host:port, ' +
        'or --data-dir of an embedded broker.',
      { cause: error },
    );
  }
}

/** What the client has to say while it goes on, such as that a broker is away, in a line of text. */
function loggerOf(terminal: Terminal): ReturnType<typeof createLogger> {
  return createLogger(
    {
      level: 'warn',
      serializers: { err: (error: unknown) => messageOf(error) },
    },
    {
      write: (line) => {
        const { msg = line, err } = JSON.parse(line) as { msg?: string; err?: string };
        terminal.err(`millrace: ${msg}${err === undefined ? '' : `: ${err}`}`);
      },
    },
  );
}
