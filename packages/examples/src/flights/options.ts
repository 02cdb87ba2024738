import { Command, InvalidArgumentError, Option } from 'commander';

export interface FlightsOptions {
  /** null: all. */
  readonly rows: number | null;
  readonly dataDir: string | null;
  readonly stateDir: string | null;
  readonly bootstrapServers: string | null;
  /** null: as the topics have it, or the default where they don't exist. */
  readonly partitions: number | null;
  readonly json: boolean;
  readonly logLevel: string;
}

export const DEFAULT_PARTITIONS = 4;
const MAX_PARTITIONS = 1_000;
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'];

/** Prints what is wrong, or the help, and ends the process; `EXIT_USAGE` for what is wrong. */
export function parseOptions(argv: readonly string[]): FlightsOptions {
  const command = new Command('flights')
    .description(
      'Loads 3,000,000 US flights of 2001 into a topic, joins them with their airports, and computes ' +
        'the number of flights, the mean delay and the share of late flights per state and day.',
    )
    .addOption(
      new Option('--rows <n>', 'load only the first n flights').argParser(integer(1, null)),
    )
    .addOption(
      new Option(
        '--data-dir <dir>',
        "keep the embedded broker's data there, and go on with what is there",
      ).argParser(path),
    )
    .addOption(
      new Option(
        '--state-dir <dir>',
        "keep the application's state there; without it, state is restored from its changelog",
      ).argParser(path),
    )
    .addOption(
      new Option(
        '--bootstrap-servers <host:port,...>',
        'run on this cluster rather than on an embedded broker',
      )
        .argParser(servers)
        .conflicts('dataDir'),
    )
    .addOption(
      new Option(
        '--partitions <n>',
        `partitions of the topics that are created (default: ${DEFAULT_PARTITIONS})`,
      ).argParser(integer(1, MAX_PARTITIONS)),
    )
    .option('--json', 'print one JSON object a line instead of text', false)
    .addOption(
      new Option('--log-level <level>', 'least level of the log lines on standard error')
        .choices(LOG_LEVELS)
        .default('warn'),
    )
    .allowExcessArguments(false)
    .showHelpAfterError('(--help says what there is)')
    .exitOverride();
  command.parse(argv, { from: 'user' });
  const given = command.opts<Partial<FlightsOptions>>();
  return {
    rows: given.rows ?? null,
    dataDir: given.dataDir ?? null,
    stateDir: given.stateDir ?? null,
    bootstrapServers: given.bootstrapServers ?? null,
    partitions: given.partitions ?? null,
    json: given.json ?? false,
    logLevel: given.logLevel ?? 'warn',
  };
}

function integer(min: number, max: number | null): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) {
      if (max === null || value <= max) return value;
    }
    const range = max === null ? `${min} or more` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number, ${range}.`);
  };
}

function path(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must be the path of a directory.');
  return text;
}

function servers(text: string): string {
  if (text.split(',').every((server) => /^[^\s:]+:\d{1,5}$|^\[[^\]\s]+\]:\d{1,5}$/.test(server))) {
    return text;
  }
  throw new InvalidArgumentError('It must be host:port, or several of them with commas between.');
}
