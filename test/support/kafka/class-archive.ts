import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, KAFKA_VERSION } from './jars.ts';

let found: string | undefined;

/**
 * File of the classes that a starting Kafka loads, as this Java stores them for its next runs, which then
 * start in half the time. `run` runs a Kafka, with the options that it is given, to its orderly end; that
 * is asked for once per checkout and Java.
 */
export async function classArchive(
  run: (java: readonly string[]) => Promise<void>,
): Promise<string> {
  found ??= archiveFile();
  if (existsSync(found)) return found;
  const made = `${found}.${String(process.pid)}`;
  await run([`-XX:ArchiveClassesAtExit=${made}`]);
  if (!existsSync(made)) throw new Error(`Java left no archive of Kafka's classes at ${made}`);
  // It appears at once or not at all: another process may be making the same.
  renameSync(made, found);
  return found;
}

function archiveFile(): string {
  const java = spawnSync('java', ['-version'], { encoding: 'utf8' }).stderr;
  const name = createHash('sha256').update(java).digest('hex').slice(0, 16);
  return join(cacheFolder(), `classes-${KAFKA_VERSION}-${name}.jsa`);
}
