import path from 'node:path';
import { randomUuid } from '@millrace/protocol';
import { LogDirError, MalformedFileError } from '../errors.ts';
import { writeAtomically } from '../platform/atomic-file.ts';
import type { Disk } from '../platform/disk.ts';
import type { Random } from '../platform/random.ts';

const FILE_NAME = 'meta.properties';
const VERSION = '1';

export interface MetaProperties {
  /** 22 characters of base64url. */
  readonly clusterId: string;
  readonly nodeId: number;
  /** 22 characters of base64url. */
  readonly directoryId: string;
}

export interface MetaRequest {
  /** What the directory must belong to; default: whatever it says, or new ids. */
  readonly clusterId?: string | undefined;
  readonly nodeId?: number | undefined;
}

/**
 * Who a log directory belongs to. A new directory is given ids and keeps them.
 *
 * @throws LogDirError when it belongs to another cluster or node.
 */
export async function openMetaProperties(
  disk: Disk,
  directory: string,
  random: Random,
  request: MetaRequest,
): Promise<MetaProperties> {
  const file = path.join(directory, FILE_NAME);
  const found = disk.stat(file) ? parseProperties(disk.readFile(file).toString('utf8')) : null;
  const version = found?.get('version');
  if (found && version !== VERSION && version !== '0') {
    throw new MalformedFileError(`${file}: version ${String(version)} is not known`);
  }
  const nodeText = found?.get('node.id') ?? found?.get('broker.id');
  if (nodeText !== undefined && !/^\d{1,10}$/.test(nodeText)) {
    throw new MalformedFileError(`${file}: node.id=${nodeText}`);
  }
  const meta: MetaProperties = {
    clusterId: found?.get('cluster.id') ?? request.clusterId ?? newId(random),
    nodeId: nodeText === undefined ? (request.nodeId ?? 1) : Number(nodeText),
    directoryId: found?.get('directory.id') ?? newId(random),
  };
  if (request.clusterId !== undefined && request.clusterId !== meta.clusterId) {
    throw new LogDirError(
      `${file}: the directory belongs to cluster ${meta.clusterId}, not to ${request.clusterId}`,
    );
  }
  if (request.nodeId !== undefined && request.nodeId !== meta.nodeId) {
    throw new LogDirError(
      `${file}: the directory belongs to node ${String(meta.nodeId)}, not to ${String(request.nodeId)}`,
    );
  }
  const isComplete = version === VERSION && found?.has('directory.id') && found.has('cluster.id');
  if (!isComplete) await writeAtomically(disk, file, encode(meta));
  return meta;
}

function newId(random: Random): string {
  return randomUuid((target) => random.bytes(target.length).copy(target));
}

function encode(meta: MetaProperties): Buffer {
  return Buffer.from(
    [
      '#',
      `cluster.id=${meta.clusterId}`,
      `directory.id=${meta.directoryId}`,
      `node.id=${String(meta.nodeId)}`,
      `version=${VERSION}`,
      '',
    ].join('\n'),
  );
}

/** The part of Java's properties format that this file uses. */
function parseProperties(text: string): Map<string, string> {
  const entries = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*([^#!=:\s][^=:\s]*)\s*[=:]\s*(.*?)\s*$/.exec(line);
    if (match) entries.set(match[1] ?? '', (match[2] ?? '').replaceAll('\\', ''));
  }
  return entries;
}
