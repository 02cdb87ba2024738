import { setTimeout as sleep } from 'node:timers/promises';
import { adminRequest, AdminRequestError } from '@millrace/broker';
import type { Command } from 'commander';
import { STOP_POLL_MS, STOP_WAIT_MS } from './limits.ts';
import type { Terminal } from './terminal.ts';

/** `millrace stop`: stops the broker on a data directory and waits until it is gone. */
export function addStopCommand(program: Command, terminal: Terminal): void {
  program
    .command('stop')
    .description('stop the broker on a data directory and wait until it is gone')
    .requiredOption('-d, --data-dir <path>', 'data directory of the running broker')
    .action(async ({ dataDir }: { dataDir: string }) => {
      await adminRequest(dataDir, 'stop');
      const end = performance.now() + STOP_WAIT_MS;
      while (performance.now() < end) {
        if (await isGone(dataDir)) {
          terminal.out('stopped');
          return;
        }
        await sleep(STOP_POLL_MS);
      }
      throw new AdminRequestError(
        'ADMIN_NO_ANSWER',
        `The broker on ${dataDir} has not stopped within ${STOP_WAIT_MS / 1000} s.`,
      );
    });
}

async function isGone(dataDir: string): Promise<boolean> {
  try {
    await adminRequest(dataDir, 'status');
    return false;
  } catch (error) {
    // Hanging up in the middle means that it is about to go; asked again, it is gone.
    return error instanceof AdminRequestError && error.code === 'ADMIN_NOT_RUNNING';
  }
}
