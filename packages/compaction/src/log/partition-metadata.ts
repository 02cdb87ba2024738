import path from 'node:path';
import { MalformedFileError } from '../errors.ts';
import type { Disk } from '../platform/disk.ts';

const FILE_NAME = 'partition.metadata';
const PATTERN = /^version: (\d+)\ntopic_id: ([A-Za-z0-9_-]{22})\s*$/;

export function partitionMetadataPath(directory: string): string {
  return path.join(directory, FILE_NAME);
}

/** The topic's id, 22 characters of base64url; null: no file. */
export function readTopicId(disk: Disk, directory: string): string | null {
  const file = partitionMetadataPath(directory);
  if (!disk.stat(file)) return null;
  const match = PATTERN.exec(disk.readFile(file).toString('utf8'));
  if (match?.[1] !== '0') {
    throw new MalformedFileError(`${file}: expected "version: 0" and a topic_id`);
  }
  return match[2] ?? null;
}

export function writeTopicId(disk: Disk, directory: string, topicId: string): void {
  const content = `version: 0\ntopic_id: ${topicId}`;
  disk.writeFile(partitionMetadataPath(directory), Buffer.from(content));
}
