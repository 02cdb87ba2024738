import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';

/** Readable by the user and the group only: state may hold what the topics hold. */
const DIRECTORY_MODE = 0o750;

export function makeDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE });
}

/** A new directory among the system's temporary ones. */
export function makeTemporaryDirectory(prefix: string): string {
  return mkdtempSync(join(tmpdir(), prefix));
}

/** Whether the system may empty it, at a restart for example. */
export function isTemporary(path: string): boolean {
  return resolve(path).startsWith(resolve(tmpdir()) + sep);
}

export function removeDirectory(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

export function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

export interface FoundDirectory {
  readonly name: string;
  /** When it, or a file in it, was last changed, epoch ms. */
  readonly modifiedMs: number;
}

/** The directories in a directory; none if it is not there. */
export function listDirectories(path: string): FoundDirectory[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, modifiedMs: modifiedMs(join(path, name)) }));
}

function modifiedMs(directory: string): number {
  const files = readdirSync(directory).map((name) => join(directory, name));
  return Math.max(...[directory, ...files].map((path) => statSync(path).mtimeMs));
}

/** Counts as changed from now on; nothing is done if it is not there. */
export function touchDirectory(path: string, nowMs: number): void {
  if (existsSync(path)) utimesSync(path, nowMs / 1_000, nowMs / 1_000);
}

/** Bytes of all files in it and below; what goes away meanwhile does not count. */
export function directorySize(path: string): number {
  let bytes = 0;
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += fileSize(join(entry.parentPath, entry.name));
  }
  return bytes;
}

/** Bytes; 0 if it is not there. */
export function fileSize(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}

/** What the user may still write to the disk that the path is on, bytes. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Up to `bytes` of the file. */
export function readFileStart(path: string, bytes: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(bytes);
    return start.subarray(0, readSync(file, start, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}

/** null if it is not there. */
export function readSmallFile(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** Every reader finds the old content or the new one, also after a power loss. */
export function replaceFile(path: string, content: string): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w');
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** What was written to the file survives a power loss from here on. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
