import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { toJsonLine } from './json-lines.ts';
import { renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface Options extends ConnectionOptions {
  readonly internal?: boolean;
}

/** `millrace topics list` */
export function addTopicsListCommand(topics: Command, terminal: Terminal): void {
  addConnectionOptions(
    topics
      .command('list')
      .description('list the topics')
      .option('--internal', "the cluster's internal topics, too"),
  ).action(async (options: Options) => {
    const found = await withCluster(options, terminal, ({ cluster }) => cluster.topics.list());
    const shown = found
      .filter((topic) => options.internal === true || !topic.isInternal)
      .map(({ topic, topicId, isInternal, partitions }) => ({
        topic,
        topicId,
        isInternal,
        partitions: partitions.length,
        replicationFactor: Math.max(0, ...partitions.map(({ replicas }) => replicas.length)),
      }));
    if (options.json === true) {
      terminal.out(toJsonLine(shown));
    } else if (shown.length === 0) {
      terminal.err('There are no topics yet; `millrace topics create` makes one.');
    } else {
      terminal.out(
        renderTable(
          ['TOPIC', 'PARTITIONS', 'REPLICAS'],
          shown.map((each) => [each.topic, each.partitions, each.replicationFactor]),
        ),
      );
    }
  });
}
