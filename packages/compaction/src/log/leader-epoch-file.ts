import path from 'node:path';
import { MalformedFileError } from '../errors.ts';
import { MAX_TEXT_FILE_BYTES } from '../limits.ts';
import type { Disk } from '../platform/disk.ts';
import type { LeaderEpochEntry } from './leader-epochs.ts';

const FILE_NAME = 'leader-epoch-checkpoint';
const VERSION = '0';

export function leaderEpochPath(directory: string): string {
  return path.join(directory, FILE_NAME);
}

/** Version, count, then `epoch startOffset` lines. */
export function encodeLeaderEpochs(entries: readonly LeaderEpochEntry[]): Buffer {
  const lines = entries.map((one) => `${String(one.epoch)} ${String(one.startOffset)}`);
  return Buffer.from([VERSION, String(entries.length), ...lines, ''].join('\n'));
}

/** No file, or an empty one: no entries. Anything else that is not whole: MalformedFileError. */
export function readLeaderEpochs(disk: Disk, directory: string): LeaderEpochEntry[] {
  const file = leaderEpochPath(directory);
  const stat = disk.stat(file);
  if (!stat || stat.sizeBytes === 0) return [];
  if (stat.sizeBytes > MAX_TEXT_FILE_BYTES) throw new MalformedFileError(`${file}: too large`);
  const lines = disk.readFile(file).toString('utf8').split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (lines[0] !== VERSION) {
    throw new MalformedFileError(`${file}: version ${String(lines[0])} is not known`);
  }
  const entries = lines.slice(2).map((line, index) => {
    const match = /^(\d{1,10}) (\d{1,19})$/.exec(line);
    if (!match) throw new MalformedFileError(`${file} line ${String(index + 3)}: "${line}"`);
    return { epoch: Number(match[1]), startOffset: BigInt(match[2] ?? '') };
  });
  if (lines[1] !== String(entries.length)) {
    throw new MalformedFileError(
      `${file}: ${String(entries.length)} entries where ${String(lines[1])} are announced`,
    );
  }
  for (const [index, entry] of entries.entries()) {
    const previous = entries[index - 1];
    if (!previous) continue;
    if (entry.epoch <= previous.epoch || entry.startOffset <= previous.startOffset) {
      throw new MalformedFileError(`${file} line ${String(index + 3)}: entries must rise`);
    }
  }
  return entries;
}
