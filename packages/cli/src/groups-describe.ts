import {
  topicPartitionKey,
  type ClusterAdmin,
  type GroupMemberDescription,
  type TopicPartition,
} from '@millrace/runtime/cluster';
import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { lookForGroup, stateOf, unknownGroup, type FoundGroup } from './find-group.ts';
import { toJsonLine } from './json-lines.ts';
import { counted, renderFields, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface PartitionRow extends TopicPartition {
  /** The next offset to read; null if none is committed. */
  readonly committedOffset: bigint | null;
  /** Null if the topic is gone or has no leader. */
  readonly logStartOffset: bigint | null;
  readonly endOffset: bigint | null;
  /** Records to go, those of open transactions included; null if one of the two is not known. */
  readonly lag: bigint | null;
  readonly metadata: string | null;
  readonly memberId: string | null;
}

/** `millrace groups describe` */
export function addGroupsDescribeCommand(groups: Command, terminal: Terminal): void {
  addConnectionOptions(
    groups
      .command('describe')
      .description('show a group with its members, offsets and lag')
      .argument('<group>', 'its id, for a stream application its application.id'),
  ).action(async (groupId: string, options: ConnectionOptions) => {
    const { found, rows } = await withCluster(options, terminal, async ({ cluster }) => {
      const group = await lookForGroup(cluster, groupId);
      if (group === null) throw await unknownGroup(cluster, groupId);
      const members = group.description?.members ?? [];
      return { found: group, rows: await partitionRows(cluster, groupId, members) };
    });
    if (options.json === true) terminal.out(toJsonLine(toJson(found, rows)));
    else print(found, rows, terminal);
  });
}

/** What is committed or assigned, by topic and partition. */
async function partitionRows(
  cluster: ClusterAdmin,
  groupId: string,
  members: readonly GroupMemberDescription[],
): Promise<PartitionRow[]> {
  const committed = await cluster.groups.offsets(groupId);
  const owners = new Map<string, string>();
  const partitions = new Map<string, TopicPartition>();
  for (const [key, { topic, partition }] of committed) partitions.set(key, { topic, partition });
  for (const { memberId, partitions: assigned } of members) {
    for (const each of assigned ?? []) {
      const key = topicPartitionKey(each.topic, each.partition);
      partitions.set(key, each);
      owners.set(key, memberId);
    }
  }
  const all = [...partitions.values()].sort(
    (a, b) => compare(a.topic, b.topic) || a.partition - b.partition,
  );
  const starts = await cluster.offsets.list(all.map((each) => ({ ...each, at: 'earliest' })));
  const ends = await cluster.offsets.list(all.map((each) => ({ ...each, at: 'latest' })));
  return all.map(({ topic, partition }) => {
    const key = topicPartitionKey(topic, partition);
    const start = starts.get(key);
    const end = ends.get(key);
    const own = committed.get(key);
    const committedOffset = own?.offset ?? null;
    const endOffset = typeof end === 'bigint' ? end : null;
    return {
      topic,
      partition,
      committedOffset,
      logStartOffset: typeof start === 'bigint' ? start : null,
      endOffset,
      lag: committedOffset === null || endOffset === null ? null : endOffset - committedOffset,
      metadata: own?.metadata ?? null,
      memberId: owners.get(key) ?? null,
    };
  });
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function toJson(found: FoundGroup, rows: readonly PartitionRow[]): unknown {
  const { listing, description } = found;
  return {
    group: listing.groupId,
    state: stateOf(found),
    type: listing.type,
    protocolType: listing.protocolType,
    protocol: description?.protocol ?? null,
    members: description?.members ?? null,
    partitions: rows,
  };
}

function print(found: FoundGroup, rows: readonly PartitionRow[], terminal: Terminal): void {
  const { listing, description } = found;
  const members = description?.members ?? [];
  terminal.out(
    renderFields([
      ['group', listing.groupId],
      ['state', stateOf(found)],
      ['type', listing.type],
      ['protocol', description?.protocol === '' ? null : (description?.protocol ?? null)],
      ['members', description === null ? null : members.length],
    ]),
  );
  if (members.length > 0) {
    terminal.out('');
    terminal.out(
      renderTable(
        ['MEMBER', 'CLIENT', 'HOST', 'ASSIGNED'],
        members.map((member) => [
          member.memberId,
          member.clientId,
          member.clientHost,
          member.partitions === null ? null : counted(member.partitions.length, 'partition'),
        ]),
      ),
    );
  }
  terminal.out('');
  if (rows.length === 0) {
    terminal.out('no offsets are committed');
    return;
  }
  terminal.out(
    renderTable(
      ['TOPIC', 'PARTITION', 'COMMITTED', 'END', 'LAG', 'MEMBER'],
      rows.map((row) => [
        row.topic,
        row.partition,
        row.committedOffset,
        row.endOffset,
        row.lag,
        row.memberId,
      ]),
    ),
  );
  if (description === null) {
    terminal.err(`Members of a group of type ${String(listing.type)} are not shown here.`);
  }
}
