import {
  StreamsError,
  topicPartitionKey,
  type ClusterAdmin,
  type ClusterTopic,
  type OffsetSpec,
  type TopicPartitionKey,
} from '@millrace/runtime/cluster';
import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { findTopics } from './find-topic.ts';
import { toJsonLine } from './json-lines.ts';
import { renderFields, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface Options extends ConnectionOptions {
  readonly allConfigs?: boolean;
}

interface Description {
  readonly topic: string;
  readonly topicId: string | null;
  readonly isInternal: boolean;
  readonly configs: Readonly<Record<string, string | null>>;
  readonly partitions: readonly {
    readonly partition: number;
    readonly leader: number | null;
    readonly replicas: readonly number[];
    readonly inSyncReplicas: readonly number[];
    /** First offset, and the one after the last; null while there is no leader to ask. */
    readonly logStartOffset: bigint | null;
    readonly endOffset: bigint | null;
  }[];
}

/** `millrace topics describe` */
export function addTopicsDescribeCommand(topics: Command, terminal: Terminal): void {
  addConnectionOptions(
    topics
      .command('describe')
      .description('show topics with their configuration, partitions and offsets')
      .argument('<topic...>', 'their names')
      .option('--all-configs', 'also what is not set on the topic, but inherited or default'),
  ).action(async (names: string[], options: Options) => {
    const described = await withCluster(options, terminal, async ({ cluster }) => {
      const found = await findTopics(cluster, names);
      const ends = await offsets(cluster, found, 'latest');
      const starts = await offsets(cluster, found, 'earliest');
      return Promise.all(
        found.map((topic) => describe(cluster, topic, starts, ends, options.allConfigs === true)),
      );
    });
    if (options.json === true) {
      terminal.out(toJsonLine(described));
      return;
    }
    for (const [i, topic] of described.entries()) {
      if (i > 0) terminal.out('');
      print(topic, terminal);
    }
  });
}

type Offsets = ReadonlyMap<TopicPartitionKey, bigint | StreamsError>;

/** Of partitions that have a leader: the others would only be waited for. */
function offsets(
  cluster: ClusterAdmin,
  topics: readonly ClusterTopic[],
  at: OffsetSpec,
): Promise<Offsets> {
  return cluster.offsets.list(
    topics.flatMap(({ topic, partitions }) =>
      partitions
        .filter(({ leader }) => leader >= 0)
        .map(({ partition }) => ({ topic, partition, at })),
    ),
  );
}

async function describe(
  cluster: ClusterAdmin,
  { topic, topicId, isInternal, partitions }: ClusterTopic,
  starts: Offsets,
  ends: Offsets,
  withAll: boolean,
): Promise<Description> {
  const configs = await cluster.configs.describeTopic(topic);
  return {
    topic,
    topicId,
    isInternal,
    configs: Object.fromEntries(
      configs.filter(({ isOwn }) => withAll || isOwn).map(({ name, value }) => [name, value]),
    ),
    partitions: partitions.map(({ partition, leader, replicas, inSyncReplicas }) => {
      const key = topicPartitionKey(topic, partition);
      return {
        partition,
        leader: leader < 0 ? null : leader,
        replicas,
        inSyncReplicas,
        logStartOffset: known(starts.get(key)),
        endOffset: known(ends.get(key)),
      };
    }),
  };
}

function known(offset: bigint | StreamsError | undefined): bigint | null {
  return typeof offset === 'bigint' ? offset : null;
}

function print({ topic, topicId, configs, partitions }: Description, terminal: Terminal): void {
  const settings = Object.entries(configs);
  terminal.out(
    renderFields([
      ['topic', topic],
      ['id', topicId],
      ['partitions', partitions.length],
      ...(settings.length === 0
        ? [['configs', null] as const]
        : settings.map(
            ([name, value], i) => [i === 0 ? 'configs' : '', `${name}=${value ?? ''}`] as const,
          )),
    ]),
  );
  terminal.out('');
  terminal.out(
    renderTable(
      ['PARTITION', 'LEADER', 'REPLICAS', 'IN SYNC', 'START', 'END'],
      partitions.map((each) => [
        each.partition,
        each.leader,
        each.replicas.join(','),
        each.inSyncReplicas.join(','),
        each.logStartOffset,
        each.endOffset,
      ]),
    ),
  );
}
