import path from 'node:path';
import { MalformedFileError } from '../errors.ts';
import { MAX_TEXT_FILE_BYTES } from '../limits.ts';
import { writeAtomically } from '../platform/atomic-file.ts';
import type { Disk } from '../platform/disk.ts';

const VERSION = '0';

export const CHECKPOINT_KINDS = [
  'recovery-point-offset-checkpoint',
  'log-start-offset-checkpoint',
  'replication-offset-checkpoint',
  'cleaner-offset-checkpoint',
] as const;

export type CheckpointKind = (typeof CHECKPOINT_KINDS)[number];

/** Offsets by `topic-partition`. */
export type CheckpointEntries = Map<string, bigint>;

/** One of the log directory's `topic partition offset` files, replaced as a whole. */
export class OffsetCheckpoint {
  readonly path: string;
  readonly #disk: Disk;

  constructor(disk: Disk, directory: string, kind: CheckpointKind) {
    this.#disk = disk;
    this.path = path.join(directory, kind);
  }

  /** No file, or an empty one: no entries. Throws MalformedFileError on anything not whole. */
  read(): CheckpointEntries {
    const stat = this.#disk.stat(this.path);
    const entries: CheckpointEntries = new Map();
    if (!stat || stat.sizeBytes === 0) return entries;
    if (stat.sizeBytes > MAX_TEXT_FILE_BYTES) throw this.#malformed('too large');
    const lines = this.#disk.readFile(this.path).toString('utf8').split('\n');
    if (lines.at(-1) === '') lines.pop();
    if (lines[0] !== VERSION) throw this.#malformed(`version ${String(lines[0])} is not known`);
    for (const [index, line] of lines.slice(2).entries()) {
      const match = /^(\S+)\s+(\d{1,10})\s+(\d{1,19})$/.exec(line);
      if (!match) throw this.#malformed(`line ${String(index + 3)} is "${line}"`);
      entries.set(`${match[1] ?? ''}-${match[2] ?? ''}`, BigInt(match[3] ?? ''));
    }
    if (lines[1] !== String(lines.length - 2)) {
      throw this.#malformed(
        `${String(lines.length - 2)} entries where ${String(lines[1])} are announced`,
      );
    }
    return entries;
  }

  write(entries: CheckpointEntries): Promise<void> {
    return writeAtomically(this.#disk, this.path, encode(entries));
  }

  #malformed(what: string): MalformedFileError {
    return new MalformedFileError(`${this.path}: ${what}`);
  }
}

function encode(entries: CheckpointEntries): Buffer {
  const lines: string[] = [VERSION, String(entries.size)];
  for (const [name, offset] of entries) {
    const dash = name.lastIndexOf('-');
    lines.push(`${name.slice(0, dash)} ${name.slice(dash + 1)} ${String(offset)}`);
  }
  return Buffer.from([...lines, ''].join('\n'));
}
