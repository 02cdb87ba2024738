import path from 'node:path';
import type { Disk } from './disk.ts';

const TEMPORARY_SUFFIX = '.tmp';

/**
 * Replaces a small file so that every reader, also after a power loss, finds the old content or the
 * new one, and the new one once the promise has resolved.
 */
export async function writeAtomically(disk: Disk, target: string, content: Buffer): Promise<void> {
  const temporary = target + TEMPORARY_SUFFIX;
  disk.writeFile(temporary, content);
  const file = disk.open(temporary, 'readWrite');
  try {
    await file.sync();
  } finally {
    file.close();
  }
  disk.rename(temporary, target);
  await disk.syncDirectory(path.dirname(target));
}
