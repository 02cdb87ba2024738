import { join } from 'node:path';
import type { Logger } from 'pino';
import { readSmallFile, replaceFile } from '../../platform/directories.ts';
import type { Random } from '../../platform/random.ts';
import { uuidFrom } from '../../platform/uuid.ts';
import { storageError } from '../storage-error.ts';

/** As Kafka Streams calls it; JSON with a `processId`. */
const IDENTITY_FILE = 'kafka-streams-process-metadata';
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Who an instance is, over restarts: kept in its state directory, which one process at a time has. A
 * restarted instance gets back the tasks whose state it has, and, exactly once, ends at once the
 * transaction that a kill has left open, instead of waiting until it times out.
 *
 * @param path the application's state directory, which is locked
 * @throws StorageError when the file cannot be read or written
 */
export function processIdentity(path: string, random: Random, logger: Logger): string {
  const file = join(path, IDENTITY_FILE);
  try {
    const content = readSmallFile(file);
    const known = content === null ? null : processIdOf(content);
    if (known !== null) return known;
    if (content !== null) {
      logger.warn({ file }, 'the identity of this instance cannot be read; it gets a new one');
    }
    const processId = uuidFrom(random);
    replaceFile(file, `{"processId":"${processId}"}\n`);
    return processId;
  } catch (error) {
    throw storageError(error, path, null);
  }
}

/** null: it was not written by us, or not to its end. */
function processIdOf(content: string): string | null {
  try {
    const parsed: unknown = JSON.parse(content);
    if (typeof parsed !== 'object' || parsed === null || !('processId' in parsed)) return null;
    const { processId } = parsed;
    return typeof processId === 'string' && UUID.test(processId) ? processId : null;
  } catch {
    return null;
  }
}
