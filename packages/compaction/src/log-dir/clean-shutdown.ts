import path from 'node:path';
import { writeAtomically } from '../platform/atomic-file.ts';
import type { Disk } from '../platform/disk.ts';

const FILE_NAME = '.kafka_cleanshutdown';
const CONTENT = JSON.stringify({ version: 0, brokerEpoch: -1 });

/**
 * Whether the last shutdown was clean. The mark is taken away, durably, before anything is opened: a
 * crash from now on must not pass for a clean shutdown.
 */
export async function takeCleanShutdownMark(disk: Disk, directory: string): Promise<boolean> {
  const file = path.join(directory, FILE_NAME);
  if (!disk.stat(file)) return false;
  disk.unlink(file);
  await disk.syncDirectory(directory);
  return true;
}

/** Says that everything is synced and every snapshot taken. */
export async function leaveCleanShutdownMark(disk: Disk, directory: string): Promise<void> {
  await writeAtomically(disk, path.join(directory, FILE_NAME), Buffer.from(CONTENT));
}
