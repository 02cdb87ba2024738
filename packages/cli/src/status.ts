import { adminRequest } from '@millrace/broker';
import type { Command } from 'commander';
import { toJsonLine } from './json-lines.ts';
import { renderFields, type Cell } from './table.ts';
import type { Terminal } from './terminal.ts';

/** `millrace status`: what the broker on a data directory says of itself. */
export function addStatusCommand(program: Command, terminal: Terminal): void {
  program
    .command('status')
    .description('show what the broker on a data directory says of itself')
    .requiredOption('-d, --data-dir <path>', 'data directory of the running broker')
    .option('--json', 'as JSON')
    .action(async (options: { dataDir: string; json?: boolean }) => {
      const status = (await adminRequest(options.dataDir, 'status')) as Record<string, Cell>;
      if (options.json === true) {
        terminal.out(toJsonLine(status));
        return;
      }
      terminal.out(renderFields(Object.entries(status)));
    });
}
