import { removeDirectory } from '../../platform/directories.ts';
import { STATE_TABLES_PER_STORE } from '../limits.ts';
import { StateEnvironment } from './environment.ts';
import { ownDirectory } from './own-directory.ts';

/**
 * Empties some stores of a task that is not open; the others keep what they have.
 *
 * @throws TaskCorruptedError when nothing of the task can be used
 */
export async function wipeStores(
  directory: string,
  taskId: string,
  stores: ReadonlySet<string>,
): Promise<void> {
  const tableCount = stores.size * STATE_TABLES_PER_STORE;
  const environment = StateEnvironment.open({ directory, taskId, tableCount });
  try {
    for (const store of stores) {
      // First: whatever comes in between, the store is restored from the start.
      await environment.forgetOffset(store);
      removeDirectory(ownDirectory(directory, store));
      for (const table of environment.tableNames(store)) {
        if (table === store || table.startsWith(`${store}/`)) await environment.dropTable(table);
      }
    }
  } finally {
    await environment.close();
  }
}
