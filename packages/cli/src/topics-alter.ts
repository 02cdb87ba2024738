import { BrokerError, type ClusterTopic, type TopicConfigChange } from '@millrace/runtime/cluster';
import type { Command } from 'commander';
import { collectConfig } from './config-option.ts';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { CommandError, invalidCommand } from './errors.ts';
import { findTopic } from './find-topic.ts';
import { toJsonLine } from './json-lines.ts';
import { didYouMean } from './nearest.ts';
import { counted } from './table.ts';
import type { Terminal } from './terminal.ts';
import { refusedConfigs } from './topic-config-hints.ts';
import { parseCount } from './topics-create.ts';

interface Options extends ConnectionOptions {
  readonly partitions?: number;
  readonly config?: Readonly<Record<string, string>>;
  readonly deleteConfig?: readonly string[];
  readonly dryRun?: boolean;
}

/** `millrace topics alter` */
export function addTopicsAlterCommand(topics: Command, terminal: Terminal): void {
  addConnectionOptions(
    topics
      .command('alter')
      .description("change a topic's configuration, or add partitions")
      .argument('<topic>', 'its name')
      .option(
        '-p, --partitions <count>',
        'as many partitions; never fewer than there are',
        parseCount,
      )
      .option('-c, --config <key=value>', 'set this; may be repeated', collectConfig)
      .option(
        '--delete-config <key>',
        'back to what is inherited or default; may be repeated',
        collectKey,
      )
      .option('--dry-run', 'only ask the brokers whether they would'),
  ).action(async (topic: string, options: Options) => {
    const changes = changesOf(options);
    if (changes.length === 0 && options.partitions === undefined) {
      throw invalidCommand('Nothing to change: give --config, --delete-config or --partitions.');
    }
    await withCluster(options, terminal, async ({ cluster }) => {
      const described = await findTopic(cluster, topic);
      // Both are asked about before one of them is done.
      const isDry = options.dryRun === true;
      for (const validateOnly of isDry ? [true] : [true, false]) {
        if (changes.length > 0) {
          const configs = await cluster.configs.describeTopic(topic);
          const known = new Set(configs.map(({ name }) => name));
          checkNames(changes, known);
          const error = await cluster.configs.alterTopic(topic, changes, { validateOnly });
          const given = new Map(changes.map(({ name, value }) => [name, value]));
          if (error !== null) {
            throw refusedConfigs(error, given, known);
          }
        }
        if (options.partitions !== undefined) {
          const error = await cluster.topics.extend(topic, options.partitions, { validateOnly });
          if (error !== null) throw refused(explainPartitions(error, described), error);
        }
      }
      report(topic, options, changes, terminal);
    });
  });
}

function collectKey(key: string, before: readonly string[] = []): string[] {
  return [...before, key];
}

function changesOf({ config = {}, deleteConfig = [] }: Options): TopicConfigChange[] {
  const both = deleteConfig.filter((name) => name in config);
  if (both.length > 0) {
    throw invalidCommand(`${both.join(', ')} cannot be set and deleted at the same time.`);
  }
  return [
    ...Object.entries(config).map(([name, value]) => ({ name, value })),
    ...deleteConfig.map((name) => ({ name, value: null })),
  ];
}

/** Deleting a key that does not exist is no error for Kafka, but most probably a slip. */
function checkNames(changes: readonly TopicConfigChange[], known: ReadonlySet<string>): void {
  const unknown = changes.filter(({ name }) => !known.has(name));
  if (unknown.length === 0) return;
  const lines = unknown.map(({ name }) => `- ${name} is not known.${didYouMean(name, known)}`);
  throw new CommandError('CONFIG_INVALID', `Wrong configuration:\n${lines.join('\n')}`);
}

function explainPartitions(error: Error, { topic, partitions }: ClusterTopic): string {
  const isCount = error instanceof BrokerError && error.kafkaName === 'INVALID_PARTITIONS';
  if (!isCount) return error.message;
  const count = counted(partitions.length, 'partition');
  return (
    `Topic ${topic} has ${count}, and they can only become more; ` +
    'for fewer, copy the records to a new topic.'
  );
}

function refused(message: string, cause: Error): CommandError {
  return new CommandError('COMMAND_REFUSED', message, { cause });
}

function report(
  topic: string,
  { json, dryRun, partitions }: Options,
  changes: readonly TopicConfigChange[],
  terminal: Terminal,
): void {
  const isDry = dryRun === true;
  if (json === true) {
    const configs = Object.fromEntries(changes.map(({ name, value }) => [name, value]));
    terminal.out(toJsonLine({ topic, configs, partitions: partitions ?? null, isAltered: !isDry }));
    return;
  }
  const parts = changes.map(({ name, value }) =>
    value === null ? `${name} deleted` : `${name}=${value}`,
  );
  if (partitions !== undefined) parts.push(counted(partitions, 'partition'));
  terminal.out(`topic ${topic} ${isDry ? 'could be altered' : 'altered'}: ${parts.join(', ')}`);
}
