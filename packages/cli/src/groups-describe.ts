import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { lookForGroup, stateOf, unknownGroup, type FoundGroup } from './find-group.ts';
import { groupPartitions, type GroupPartition } from './group-partitions.ts';
import { toJsonLine } from './json-lines.ts';
import { counted, renderFields, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

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
      return { found: group, rows: await groupPartitions(cluster, groupId, members) };
    });
    if (options.json === true) terminal.out(toJsonLine(toJson(found, rows)));
    else print(found, rows, terminal);
  });
}

function toJson(found: FoundGroup, rows: readonly GroupPartition[]): unknown {
  const { listing, description } = found;
  return {
    group: listing.groupId,
    state: stateOf(found),
    type: listing.type,
    protocolType: listing.protocolType,
    protocol: description?.protocol ?? null,
    members: description?.members.map(({ userData: _, ...shown }) => shown) ?? null,
    partitions: rows,
  };
}

function print(found: FoundGroup, rows: readonly GroupPartition[], terminal: Terminal): void {
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
