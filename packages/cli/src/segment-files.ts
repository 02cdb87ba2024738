import { basename, dirname, join, resolve } from 'node:path';
import { nodeDisk, parseLogDirectoryName, parseSegmentFileName } from '@millrace/compaction';
import { CommandError } from './errors.ts';
import { NAMES_LISTED } from './limits.ts';

/** The segments that a path means: one file, or all of a partition's directory, in their order. */
export function segmentFiles(path: string): string[] {
  const stat = nodeDisk.stat(path);
  if (stat === null) {
    throw new CommandError('LOG_NOT_FOUND', `There is no file or directory ${path}.`);
  }
  if (!stat.isDirectory) return [path];
  const entries = nodeDisk.list(path);
  const logs = entries.filter(({ name }) => parseSegmentFileName(name)?.kind === '.log');
  if (logs.length > 0) return logs.map(({ name }) => join(path, name));
  const partitions = entries
    .filter(({ name, isDirectory }) => isDirectory && parseLogDirectoryName(name) !== null)
    .map(({ name }) => name);
  if (partitions.length === 0) {
    throw new CommandError('LOG_NOT_FOUND', `There is no log segment in ${path}.`);
  }
  const listed = partitions.slice(0, NAMES_LISTED).join(', ');
  const more = partitions.length > NAMES_LISTED ? ', ...' : '';
  throw new CommandError(
    'LOG_NOT_FOUND',
    `${path} holds the directories of partitions; name one of them: ${listed}${more}.`,
  );
}

/** The topic that a segment's directory names; null if it names none. */
export function topicOf(segment: string): string | null {
  return parseLogDirectoryName(basename(dirname(resolve(segment))))?.topic ?? null;
}
