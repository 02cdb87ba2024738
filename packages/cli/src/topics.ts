import type { Command } from 'commander';
import type { Terminal } from './terminal.ts';
import { addTopicsAlterCommand } from './topics-alter.ts';
import { addTopicsCreateCommand } from './topics-create.ts';
import { addTopicsDeleteCommand } from './topics-delete.ts';
import { addTopicsDescribeCommand } from './topics-describe.ts';
import { addTopicsListCommand } from './topics-list.ts';

export function addTopicsCommands(program: Command, terminal: Terminal): void {
  const topics = program
    .command('topics')
    .description('list, create, describe, alter and delete topics');
  addTopicsListCommand(topics, terminal);
  addTopicsCreateCommand(topics, terminal);
  addTopicsDescribeCommand(topics, terminal);
  addTopicsAlterCommand(topics, terminal);
  addTopicsDeleteCommand(topics, terminal);
}
