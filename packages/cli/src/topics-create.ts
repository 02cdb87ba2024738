import { BrokerError } from '@millrace/runtime/cluster';
import { InvalidArgumentError, type Command } from 'commander';
import { collectConfig } from './config-option.ts';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { CommandError } from './errors.ts';
import { toJsonLine } from './json-lines.ts';
import { findTopic } from './find-topic.ts';
import { counted } from './table.ts';
import type { Terminal } from './terminal.ts';
import { refusedConfigs } from './topic-config-hints.ts';

interface Options extends ConnectionOptions {
  readonly partitions?: number;
  readonly replicationFactor?: number;
  readonly config?: Readonly<Record<string, string>>;
  readonly ifNotExists?: boolean;
  readonly dryRun?: boolean;
}

/** `millrace topics create` */
export function addTopicsCreateCommand(topics: Command, terminal: Terminal): void {
  addConnectionOptions(
    topics
      .command('create')
      .description('create a topic')
      .argument('<topic>', 'its name')
      .option('-p, --partitions <count>', "default: the broker's num.partitions", parseCount)
      .option('-r, --replication-factor <count>', "default: the broker's", parseCount)
      .option(
        '-c, --config <key=value>',
        "configuration under Kafka's names, such as cleanup.policy=compact; may be repeated",
        collectConfig,
      )
      .option('--if-not-exists', 'an existing topic is no error')
      .option('--dry-run', 'only ask the brokers whether they would'),
  ).action(async (topic: string, options: Options) => {
    await withCluster(options, terminal, async ({ cluster }) => {
      const config = new Map(Object.entries(options.config ?? {}));
      const partitionCount = options.partitions ?? -1;
      const replicationFactor = options.replicationFactor ?? -1;
      const outcomes = await cluster.topics.create(
        [{ topic, partitionCount, replicationFactor, config }],
        { validateOnly: options.dryRun === true },
      );
      const error = outcomes.get(topic) ?? null;
      const exists = error instanceof BrokerError && error.kafkaName === 'TOPIC_ALREADY_EXISTS';
      if (exists && options.ifNotExists !== true) {
        throw new CommandError(
          'TOPIC_EXISTS',
          `Topic ${topic} exists already; with --if-not-exists that is no error.`,
        );
      }
      if (error !== null && !exists) {
        throw refusedConfigs(error, config);
      }
      const isCreated = !exists && options.dryRun !== true;
      const described = isCreated || exists ? await findTopic(cluster, topic) : null;
      if (options.json === true) {
        terminal.out(
          toJsonLine({
            topic,
            topicId: described?.topicId ?? null,
            partitions: described?.partitions.length ?? null,
            isCreated,
          }),
        );
      } else if (described === null) {
        terminal.out(`topic ${topic} could be created`);
      } else {
        const count = counted(described.partitions.length, 'partition');
        terminal.out(
          exists
            ? `topic ${topic} exists already, with ${count}`
            : `created topic ${topic} with ${count}`,
        );
      }
    });
  });
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,9}$/.test(text) && count > 0) return count;
  throw new InvalidArgumentError(`'${text}' is not a count from 1 on.`);
}
