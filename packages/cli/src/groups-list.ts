import type { Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { toJsonLine } from './json-lines.ts';
import { renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** `millrace groups list` */
export function addGroupsListCommand(groups: Command, terminal: Terminal): void {
  addConnectionOptions(groups.command('list').description('list the groups')).action(
    async (options: ConnectionOptions) => {
      const found = await withCluster(options, terminal, ({ cluster }) => cluster.groups.list());
      if (options.json === true) {
        terminal.out(
          toJsonLine(
            found.map(({ groupId, state, type, protocolType }) => ({
              group: groupId,
              state,
              type,
              protocolType,
            })),
          ),
        );
      } else if (found.length === 0) {
        terminal.err('There are no groups; one appears when its first member joins or commits.');
      } else {
        terminal.out(
          renderTable(
            ['GROUP', 'STATE', 'TYPE', 'PROTOCOL'],
            found.map((group) => [
              group.groupId,
              group.state,
              group.type,
              group.protocolType === '' ? null : group.protocolType,
            ]),
          ),
        );
      }
    },
  );
}
