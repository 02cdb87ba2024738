import type { Command } from 'commander';
import { addGroupsDescribeCommand } from './groups-describe.ts';
import { addGroupsListCommand } from './groups-list.ts';
import { addGroupsResetCommand } from './groups-reset.ts';
import type { Terminal } from './terminal.ts';

export function addGroupsCommands(program: Command, terminal: Terminal): void {
  const groups = program
    .command('groups')
    .description('list and describe consumer groups, and reset their offsets');
  addGroupsListCommand(groups, terminal);
  addGroupsDescribeCommand(groups, terminal);
  addGroupsResetCommand(groups, terminal);
}
