import { adminRequest } from '@millrace/broker';
import type { Command } from 'commander';
import type { Terminal } from './terminal.ts';

/** `millrace status`: what the broker on a data directory says of itself. */
export function addStatusCommand(program: Command, terminal: Terminal): void {
  program
    .command('status')
    .description('show what the broker on a data directory says of itself')
    .requiredOption('-d, --data-dir <path>', 'data directory of the running broker')
    .option('--json', 'as JSON')
    .action(async (options: { dataDir: string; json?: boolean }) => {
      const status = (await adminRequest(options.dataDir, 'status')) as Record<string, unknown>;
      if (options.json === true) {
        terminal.out(JSON.stringify(status));
        return;
      }
      const width = Math.max(...Object.keys(status).map((name) => name.length));
      for (const [name, value] of Object.entries(status)) {
        terminal.out(`${name.padEnd(width)}  ${String(value)}`);
      }
    });
}
