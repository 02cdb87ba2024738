import {
  StreamsError,
  topicPartitionKey,
  type ClusterAdmin,
  type TopicPartition,
} from '@millrace/runtime/cluster';
import { InvalidArgumentError, type Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { CommandError, invalidCommand } from './errors.ts';
import { findTopic } from './find-topic.ts';
import { toJsonLine } from './json-lines.ts';
import { parsePartitions, partitionsOf } from './partition-list.ts';
import { renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { parseTimeMs } from './times.ts';

/** A time is that of the first record that stays. */
type Before = 'end' | { readonly offset: bigint } | { readonly timestampMs: number };

interface Options extends ConnectionOptions {
  readonly before?: Before;
  readonly partitions?: readonly number[];
  readonly offsets?: ReadonlyMap<number, bigint>;
  readonly dryRun?: boolean;
}

type Deletion = TopicPartition & { readonly offset: bigint };

const EXAMPLES = `
Deleted records are gone for every reader, at once and for good. --dry-run shows what would go.

Examples:
  millrace delete-records orders --before 2026-11-01
  millrace delete-records orders --before 1000 --partitions 0-2
  millrace delete-records orders --offsets 0=1000,1=870
  millrace delete-records orders --before end                    (all there are)`;

/** `millrace delete-records` */
export function addDeleteRecordsCommand(program: Command, terminal: Terminal): void {
  addConnectionOptions(
    program
      .command('delete-records')
      .description('delete the oldest records of a topic')
      .argument('<topic>', 'its name')
      .option('--before <place>', 'an offset, a time, or end: what lies there stays', parseBefore)
      .option('-p, --partitions <list>', 'with --before: only these, such as 0,2', parsePartitions)
      .option('--offsets <partition=offset,...>', 'instead: an offset per partition', parseOffsets)
      .option('--dry-run', 'only show what would be deleted')
      .addHelpText('after', EXAMPLES),
  ).action(async (topic: string, options: Options) => {
    if ((options.before === undefined) === (options.offsets === undefined)) {
      throw invalidCommand('Give either --before or --offsets.');
    }
    if (options.offsets !== undefined && options.partitions !== undefined) {
      throw invalidCommand('--offsets names its partitions itself: leave --partitions out.');
    }
    await withCluster(options, terminal, ({ cluster }) =>
      deleteRecords(cluster, topic, options, terminal),
    );
  });
}

async function deleteRecords(
  cluster: ClusterAdmin,
  topic: string,
  options: Options,
  terminal: Terminal,
): Promise<void> {
  const described = await findTopic(cluster, topic);
  const wanted = options.offsets === undefined ? options.partitions : [...options.offsets.keys()];
  const partitions = partitionsOf(described, wanted).map((partition) => ({ topic, partition }));
  const starts = await offsetsOf(cluster, partitions, 'earliest');
  const ends = await offsetsOf(cluster, partitions, 'latest');
  const plan = await planOf(cluster, partitions, options, ends);
  const late = plan.filter((each) => each.offset > offsetIn(ends, each));
  if (late.length > 0) {
    const lines = late.map(
      (each) =>
        `- partition ${each.partition} ends at ${offsetIn(ends, each).toString()}, before ${each.offset.toString()}`,
    );
    throw new CommandError(
      'OFFSET_BEYOND_END',
      `Nothing was deleted, since some offsets lie beyond the end:\n${lines.join('\n')}`,
    );
  }
  // What is deleted already stays so: asking for it is no error, and changes nothing.
  const open = plan.filter((each) => each.offset > offsetIn(starts, each));
  const results =
    options.dryRun === true || open.length === 0
      ? new Map<string, bigint | Error>()
      : await cluster.offsets.deleteRecords(open);
  const rows = plan.map((each) => {
    const before = offsetIn(starts, each);
    const result = results.get(topicPartitionKey(topic, each.partition));
    const planned = each.offset > before ? each.offset : before;
    const failed = result instanceof Error;
    const after = failed ? before : (result ?? planned);
    return {
      partition: each.partition,
      logStartOffset: after,
      previousLogStartOffset: before,
      endOffset: offsetIn(ends, each),
      error: failed ? result.message : null,
    };
  });
  const isDeleted = options.dryRun !== true;
  if (options.json === true) {
    terminal.out(toJsonLine({ topic, isDeleted, partitions: rows }));
  } else {
    terminal.out(
      renderTable(
        ['PARTITION', 'START WAS', isDeleted ? 'START IS' : 'START WOULD BE', 'END'],
        rows.map((row) => [
          row.partition,
          row.previousLogStartOffset,
          row.logStartOffset,
          row.endOffset,
        ]),
      ),
    );
    if (!isDeleted) terminal.err('Nothing was deleted: leave out --dry-run to do it.');
  }
  const failures = rows.flatMap(({ error }) => (error === null ? [] : [error]));
  if (failures.length > 0) throw new CommandError('COMMAND_REFUSED', failures.join('\n'));
}

async function planOf(
  cluster: ClusterAdmin,
  partitions: readonly TopicPartition[],
  { before, offsets }: Options,
  ends: ReadonlyMap<string, bigint>,
): Promise<Deletion[]> {
  if (before !== undefined && before !== 'end' && 'timestampMs' in before) {
    const found = await offsetsOf(cluster, partitions, before.timestampMs);
    return partitions.map((each) => {
      const offset = offsetIn(found, each);
      return { ...each, offset: offset < 0n ? offsetIn(ends, each) : offset };
    });
  }
  return partitions.map((each) => {
    const own = offsets?.get(each.partition);
    const given = before === undefined || before === 'end' ? undefined : before.offset;
    return { ...each, offset: own ?? given ?? offsetIn(ends, each) };
  });
}

async function offsetsOf(
  cluster: ClusterAdmin,
  partitions: readonly TopicPartition[],
  at: 'earliest' | 'latest' | number,
): Promise<ReadonlyMap<string, bigint>> {
  const found = await cluster.offsets.list(partitions.map((each) => ({ ...each, at })));
  const offsets = new Map<string, bigint>();
  for (const [key, offset] of found) {
    if (offset instanceof StreamsError) throw offset;
    offsets.set(key, offset);
  }
  return offsets;
}

function offsetIn(
  offsets: ReadonlyMap<string, bigint>,
  { topic, partition }: TopicPartition,
): bigint {
  return offsets.get(topicPartitionKey(topic, partition)) ?? 0n;
}

function parseBefore(text: string): Before {
  if (text === 'end') return text;
  if (/^\d+$/.test(text)) return { offset: BigInt(text) };
  const timestampMs = parseTimeMs(text);
  if (timestampMs !== null) return { timestampMs };
  throw new InvalidArgumentError(
    `'${text}' is none of: an offset such as 42, a time such as 2026-11-30T08:15 or @1764490500000, end.`,
  );
}

function parseOffsets(text: string): ReadonlyMap<number, bigint> {
  const offsets = new Map<number, bigint>();
  for (const part of text.split(',')) {
    const match = /^(\d{1,9})[=:](\d+)$/.exec(part.trim());
    if (match === null) {
      throw new InvalidArgumentError(`'${text}' is no list such as 0=1000,1=870.`);
    }
    offsets.set(Number(match[1]), BigInt(match[2] as string));
  }
  return offsets;
}
