import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { CommandError } from './errors.ts';
import { findTopics } from './find-topic.ts';
import { toJsonLine } from './json-lines.ts';
import type { Terminal } from './terminal.ts';

interface Options extends ConnectionOptions {
  readonly ifExists?: boolean;
}

/** `millrace topics delete` */
export function addTopicsDeleteCommand(topics: Command, terminal: Terminal): void {
  addConnectionOptions(
    topics
      .command('delete')
      .description('delete topics with all their records, at once')
      .argument('<topic...>', 'their names')
      .option('--if-exists', 'missing topics are no error'),
  ).action(async (names: string[], options: Options) => {
    await withCluster(options, terminal, async ({ cluster }) => {
      const wanted =
        options.ifExists === true
          ? [...(await cluster.topics.describe(names)).keys()]
          : (await findTopics(cluster, names)).map(({ topic }) => topic);
      const outcomes = wanted.length === 0 ? new Map() : await cluster.topics.delete(wanted);
      const deleted = wanted.filter((topic) => (outcomes.get(topic) ?? null) === null);
      if (options.json === true) {
        terminal.out(toJsonLine({ deleted }));
      } else {
        for (const topic of deleted) terminal.out(`deleted topic ${topic}`);
        if (wanted.length === 0) terminal.out('none of these topics exists');
      }
      const failures = [...outcomes.values()].filter((error) => error !== null);
      if (failures.length > 0) {
        const lines = failures.map((error: Error) => error.message);
        throw new CommandError('COMMAND_REFUSED', lines.join('\n'));
      }
    });
  });
}
