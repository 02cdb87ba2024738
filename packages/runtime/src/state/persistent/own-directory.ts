import { join } from 'node:path';

/** Where a store of a task keeps files of its own, beside the task's environment. */
export function ownDirectory(taskDirectory: string, storeName: string): string {
  return join(taskDirectory, `store-${encodeURIComponent(storeName)}`);
}
