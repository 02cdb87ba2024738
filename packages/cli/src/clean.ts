import {
  openForLooking,
  openForCleaning,
  type Log,
  type LogDir,
  type LookedAtLogDir,
  type OfflineOptions,
} from '@millrace/compaction';
import { InvalidArgumentError, type Command } from 'commander';
import { CleanOutput } from './clean-output.ts';
import {
  cleanPartition,
  PassTools,
  rehearsePartition,
  type CleanedPartition,
} from './clean-partition.ts';
import { CleanProgress } from './clean-progress.ts';
import { cleanSettingsOf } from './clean-settings.ts';
import { collectConfig } from './config-option.ts';
import { CommandError, messageOf } from './errors.ts';
import { didYouMean } from './nearest.ts';
import { counted } from './table.ts';
import { terminalLogger } from './terminal-logger.ts';
import type { Terminal } from './terminal.ts';
import { parseTimeMs } from './times.ts';

interface Options {
  readonly dir: string;
  readonly dryRun?: boolean;
  readonly at?: number;
  readonly config?: Readonly<Record<string, string>>;
  readonly json?: boolean;
}

const EXAMPLES = `
Nobody may use the directory meanwhile: a broker that runs cleans its logs itself. With --dry-run or
--at not a byte of it is changed; what a pass would remove is found out by running one whose output
is counted and let go. Without them, all that is eligible is cleaned, as often as there is something
to clean, and cleaner-offset-checkpoint is written. Retention is left to brokers.

What topics are configured to comes from topics.json, which Millrace's broker keeps in the directory.
Kafka keeps none there: then every topic but the internal ones has Kafka's defaults, which is not to
be compacted, and --config says what is different. --config is for all topics of the call, and goes
before topics.json. It takes topics' keys, such as min.compaction.lag.ms, and brokers', such as
log.cleaner.dedupe.buffer.size.

Examples:
  millrace clean --dir data --dry-run
  millrace clean --dir data --at 2026-12-01T08:00 orders payments-3
  millrace clean --dir /var/lib/kafka --config cleanup.policy=compact orders`;

/** `millrace clean` */
export function addCleanCommand(program: Command, terminal: Terminal): void {
  program
    .command('clean')
    .description('compact the logs of a directory that no broker uses, or show what would be')
    .argument('[topic[-partition]...]', 'only these; else all logs')
    .requiredOption('-d, --dir <path>', 'log directory, of Millrace or of Kafka')
    .option('--dry-run', 'change nothing: show regions, ratios and what a pass would remove')
    .option('--at <time>', 'change nothing, and see it as at this time', parseAt)
    .option(
      '-c, --config <key=value>',
      "configuration of topics or of the cleaner under Kafka's names; may be repeated",
      collectConfig,
    )
    .option('--json', 'as JSON, an object a line')
    .addHelpText('after', EXAMPLES)
    .action(async (names: string[], options: Options) => {
      await clean(names, options, terminal);
    });
}

async function clean(names: string[], options: Options, terminal: Terminal): Promise<void> {
  const { dir, at, config = {}, json } = options;
  const settings = await cleanSettingsOf(dir, config);
  const progress = new CleanProgress(terminal);
  const output = new CleanOutput(json === true, terminal);
  const tools = new PassTools(settings, (log) => progress.of(log));
  const isDryRun = options.dryRun === true || at !== undefined;
  const open: OfflineOptions = {
    configOf: settings.configOf,
    logger: terminalLogger(terminal),
    highWatermarks: settings.hasTopicsFile ? 'log-end' : 'checkpoint',
    check: (opened) => chosenLogs(names, opened),
  };
  const failures = isDryRun
    ? await rehearseAll(names, await openForLooking(dir, open), tools, output, at)
    : await cleanAll(names, await openForCleaning(dir, open), tools, output);
  output.end(isDryRun);
  if (!settings.hasTopicsFile && config['cleanup.policy'] === undefined) {
    terminal.err(
      `There is no topics.json in ${dir}: only internal topics are taken to be compacted. ` +
        '--config says what is different, such as cleanup.policy=compact.',
    );
  }
  if (failures.length === 0) return;
  throw new CommandError(
    'LOG_NOT_CLEANED',
    `${counted(failures.length, 'log')} could not be cleaned; the segments in question are as before:\n` +
      failures.map((line) => `- ${line}`).join('\n'),
  );
}

/** Resolves with what went wrong, a line per log. */
async function rehearseAll(
  names: readonly string[],
  looked: LookedAtLogDir,
  tools: PassTools,
  output: CleanOutput,
  at: number | undefined,
): Promise<string[]> {
  try {
    return await eachLog(names, looked.dir, output, (log) =>
      rehearsePartition(log, looked, tools, at),
    );
  } finally {
    await looked.dir.close();
  }
}

async function cleanAll(
  names: readonly string[],
  dir: LogDir,
  tools: PassTools,
  output: CleanOutput,
): Promise<string[]> {
  try {
    return await eachLog(names, dir, output, (log) => cleanPartition(log, dir, tools));
  } finally {
    await dir.close();
  }
}

/** One log's failure keeps no other from its turn. */
async function eachLog(
  names: readonly string[],
  dir: LogDir,
  output: CleanOutput,
  work: (log: Log) => Promise<CleanedPartition> | CleanedPartition,
): Promise<string[]> {
  const failures: string[] = [];
  for (const log of chosenLogs(names, dir)) {
    if (output.isClosed) break;
    const result = await work(log);
    output.partition(log, result);
    if (result.error !== null) failures.push(`${log.name}: ${messageOf(result.error)}`);
  }
  return failures;
}

/** By topic and partition. @throws CommandError `TOPIC_UNKNOWN` */
function chosenLogs(names: readonly string[], dir: LogDir): Log[] {
  const logs = [...dir.logs()].sort(
    (a, b) => (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0) || a.partition - b.partition,
  );
  if (names.length === 0) return logs;
  const isMeant = (log: Log, name: string): boolean => log.topic === name || log.name === name;
  for (const name of names) {
    if (logs.some((log) => isMeant(log, name))) continue;
    const known = logs.flatMap((log) => [log.topic, log.name]);
    throw new CommandError(
      'TOPIC_UNKNOWN',
      `There is no log of ${name} in ${dir.path}.${didYouMean(name, known)}`,
    );
  }
  return logs.filter((log) => names.some((name) => isMeant(log, name)));
}

function parseAt(text: string): number {
  const ms = parseTimeMs(text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError(
    `'${text}' is no time such as 2026-11-30T08:15 or @1764490500000.`,
  );
}
